/* flight_route.h -- which upstreams may serve the model of a flight (OPERATIONS 4.2, 4.3). On the worker's loop. */
#ifndef ANTIPHON_FLIGHT_FLIGHT_ROUTE_H
#define ANTIPHON_FLIGHT_FLIGHT_ROUTE_H

#include "flight/flight.h"
#include "flight/turn_drive.h"

enum flight_lists { FLIGHT_LISTS_ALL, FLIGHT_LISTS_SERVED };

/* Waits for the lists of models of all upstreams, or of those that serve what they list. TURN_WAIT: one is
 * missing; ask again when on_upstream_known() was called. TURN_GO: all are there, or not to be had. TURN_FAIL: *reterr is filled. */
enum turn_next flight_await_lists(struct flight *f, enum flight_lists which, struct err *reterr);

/* What has been asked for was in no list: from now on lists are waited for that are not older than 5 s. False: they
 * were. */
bool flight_want_new_lists(struct flight *f);

/* Finds who may serve a model, by the name that a client says, and takes the likely one for its upstream. TURN_WAIT:
 * lists of models have to be known first; ask again when on_upstream_known() was called. TURN_FAIL:
 * *reterr is filled. str_is_none(model): the request names none, which is somebody else's to judge. */
enum turn_next flight_find_route(struct flight *f, str model, struct err *reterr);

/* The upstreams that may serve it, the likely one among them; without a route, that alone. */
size_t flight_n_candidates(const struct flight *f);
const struct upstream_entry *flight_candidate(const struct flight *f, size_t i);

/* A route that is left for that of another model, and the upstream with it. The place of the round before is given
 * back when a route is exchanged for another. */
struct flight_route {
    struct upstream_table *table;
    struct upstream_route route;
    str model, sent;
    const struct upstream_entry *upstream;
};

struct flight_route flight_keep_route(const struct flight *f);

/* Goes back to a route that the same flight had: nothing can fail, since it has been there. */
void flight_return_to_route(struct flight *f, const struct flight_route *kept);

/* The names of models that are replaced in a request that is passed on, for model_alias_rewrite(): the one that the
 * upstream has for any, or aliases. */
struct name_list flight_names(struct flight *f);

/* What the upstream of the flight calls the model, if the table of upstreams says so: plain; else STR_NONE. */
str flight_sent_model(const struct flight *f);

/* ---- for flight_admission.c */

/* The next attempt goes to this candidate of the route. False: out of memory. */
bool flight_take_candidate(struct flight *f, size_t i);

/* The route to the only upstream, which serves every name; of a file the first, for what names none. */
void flight_take_only_route(struct flight *f);

/* If another table has taken the place of that of the route, a round that begins now goes by it (OPERATIONS 4.2).
 * What the new one does not know, or would have to wait for, goes on as it began. */
void flight_renew_route(struct flight *f);

/* Ends the call that still reads the end of the round before, and with it the place of that. */
void flight_end_lingering(struct flight *f);

#endif
