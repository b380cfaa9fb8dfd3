/* flight_admission.h -- which upstream a flight asks, and its place there (OPERATIONS 4, 5.4).
 *
 *     flight_find_route()   the model is known: who may serve it
 *     flight_admit()        a round has been written: waits for a place
 *     the call
 *     flight_end_attempt()  it has ended: is it to be asked again? then flight_admit() once more
 *
 * On the worker's loop, but for flight_end_attempt(), which is for any thread that works on the flight. */
#ifndef ANTIPHON_FLIGHT_FLIGHT_ADMISSION_H
#define ANTIPHON_FLIGHT_FLIGHT_ADMISSION_H

#include "flight/flight.h"
#include "flight/turn_drive.h"

enum flight_lists { FLIGHT_LISTS_ALL, FLIGHT_LISTS_SERVED };

/* Waits for the lists of models of all upstreams, or of those that serve what they list. TURN_WAIT: the one of the
 * flight's upstream is missing; ask again when reach_must_be_known() says that nobody has to wait for it, or
 * on_upstream_known() was called. TURN_GO: all are there, or not to be had. TURN_FAIL: *reterr is filled. */
enum turn_next flight_await_lists(struct flight *f, enum flight_lists which, struct err *reterr);

/* What has been asked for was in no list: from now on lists are waited for that are not older than 5 s. */
void flight_want_new_lists(struct flight *f);

/* Finds who may serve a model, by the name that a client says, and takes the likely one for its upstream. TURN_WAIT: its
 * upstream is one whose list of models has to be known first (reach_must_be_known()); ask again then. TURN_FAIL:
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

/* What there is to know of a round. */
struct flight_round {
    str body;         /* of its request; lives until the attempt has ended */
    str session;      /* what names the conversation that it goes on with, or "" */
    str session_next; /* the same of what will go on with this; STR_NONE: the same */
    bool is_later;    /* there was one before in this turn */
    bool takes_slot;  /* flight_slot() may be told with it */
};

/* Asks for a place. TURN_GO: the upstream has been taken. TURN_WAIT: the flight is woken, by its front or by
 * on_admitted, and asks again. TURN_FAIL: *reterr is filled. */
enum turn_next flight_admit(struct flight *f, const struct flight_round *round, struct err *reterr);

/* The slot of its session at the upstream where it has a place, which no other round uses; -1: it is told none. */
int flight_slot(const struct flight *f);

/* How long it has waited for places, for all rounds together. */
uint64_t flight_waited_ms(const struct flight *f);

/* How many bytes of its prompts an upstream knew that was not asked, since it was busy or had failed. */
size_t flight_cache_lost(const struct flight *f);

/* Might an answer with this status be followed by another attempt, if it is a failure? Then it is not passed on before
 * it is judged. */
bool flight_could_retry(const struct flight *f, int status);

/* An attempt has failed. failure: of the call, or what its answer came to; NULL: the answer's status says it. is_shown:
 * something of the round was written for the client. Returns whether it is asked again, by flight_admit(). */
bool flight_may_retry(struct flight *f, const struct err *failure, bool is_shown);

/* The error that a round is given up with tells the client when to try again. */
void flight_tell_retry(const struct flight *f, struct err *e);

/* The same in the head of an answer that is passed on, if that has a Retry-After. */
void flight_tell_retry_in_head(struct flight *f, int status, struct http_header *headers, size_t n);

/* An attempt has ended, and the round is over: gives the place back. Does nothing when there is none. */
void flight_end_attempt(struct flight *f, const struct err *failure);

/* The names of models that are replaced in a request that is passed on, for model_alias_rewrite(): the one that the
 * upstream has for any, or aliases. */
struct name_list flight_names(struct flight *f);

/* What the upstream of the flight calls the model, if the table of upstreams says so: plain; else STR_NONE. */
str flight_sent_model(const struct flight *f);

#endif
