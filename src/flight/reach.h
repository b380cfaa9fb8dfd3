/* reach.h -- what a worker has of an upstream: the HTTP client of its calls, labels of what is counted, and
 * who waits until it is known what the upstream is. Made when a flight goes there first, on the worker's loop. */
#ifndef ANTIPHON_FLIGHT_REACH_H
#define ANTIPHON_FLIGHT_REACH_H

#include "http/http_call_conf.h"
#include "metrics/metrics.h"
#include "upstream/upstream_watch.h"
#include "wire/dialect/model_profile.h"

struct err;
struct flight;
struct http_client;
struct upstream_entry;
struct upstream_live;
struct worker;

/* The series of a model, for one operation. */
struct flight_series {
    struct flight_series *next;
    uint16_t model, operation;
    metric_cell *turn_duration, *first_token, *per_token; /* without an error */
    metric_cell *round_duration;                          /* the same */
    metric_cell *first_chunk, *per_chunk;
    metric_cell *usage[2]; /* by METRIC_TOKEN_TYPE */
    metric_cell *tokens[METRIC_TOKEN_KIND_REASONING + 1];
    metric_cell *usage_unknown, *rounds;
};

/* What a worker keeps of the series of an upstream: its labels, and what was used. */
struct flight_labels {
    uint16_t upstream, provider, address, port;
    struct flight_series *first;
};

/* What was found out last of a model there: most requests ask for the same ones. */
struct reach_profile {
    const struct config *config; /* by which it was found; NULL: nothing was */
    struct upstream_facts *facts;
    char model[64];
    size_t n_model;
    struct model_profile profile;
};

struct reach {
    struct worker *worker;
    struct upstream_live *live;    /* by which it is known again */
    struct http_client *client;    /* the worker's, or one of its own */
    bool is_awaited;               /* turns wait until it is known, and ... */
    struct upstream_waiter waiter; /* ... are told by this */
    bool is_list_awaited;          /* the same of its list of models */
    struct upstream_waiter list_waiter;
    struct flight_labels labels;              /* of what is counted */
    struct http_connection_count connections; /* those to it are counted by it */
    struct reach_profile last;
    struct reach *next; /* the worker's list */
};

/* What the worker has of this upstream; NULL when out of memory. */
struct reach *reach_find(struct worker *w, const struct upstream_entry *u);

/* The worker has ended. */
void reach_free_all(struct worker *w);

/* The worker has other settings: what was found out by those of before is not what is asked for. */
void reach_forget_profiles(struct worker *w);

/* ---- of a flight, whose upstream is chosen */

/* upstream_named_profile() of its upstream. Any thread that works on the flight. */
struct model_profile reach_profile(struct flight *f, struct upstream_facts *facts, str model);

/* What every call there has in common: the timeouts. */
struct http_call_conf reach_call_conf(const struct flight *f);

/* The Authorization of a call: the gateway's, or else the client's as it came, unless that is for the
 * gateway. STR_NONE: none. */
str reach_authorization(const struct flight *f);

/* True when the client's own key is passed on. */
bool reach_passes_key(const struct flight *f);

/* Takes the keys of the request out of what the upstream says of its failure: servers repeat what they were
 * sent. */
void reach_hide_keys(const struct flight *f, struct err *e);

/* Does the flight have to wait until it is known what its upstream is, or, when that is what it has come there for
 * (flight_await_lists()), until it has its list of models? Then its on_upstream_known() is called (flight.h). */
bool reach_must_be_known(const struct flight *f);

#endif
