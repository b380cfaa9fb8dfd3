/* relay_internal.h -- one relay, for the files that it is made of:
 *
 *     relay.c            bytes through
 *     relay_upstream.c   which upstream that is, and whether another is asked
 *     relay_limits.c     what its caller may ask for, and how often
 *     relay_metrics.c    its model and its tokens
 *     models_union.c     the models of several upstreams
 *     models_view.c      what is known of models beside what the upstream says of them
 *     model_lookup.c     GET /v1/models/{id} from the list, where the upstream has no such path */
#ifndef ANTIPHON_FRONT_RELAY_INTERNAL_H
#define ANTIPHON_FRONT_RELAY_INTERNAL_H

#include "flight/flight.h"
#include "flight/worker.h"
#include "front/relay.h"
#include "front/relay_limits.h"
#include "front/relay_path.h"

struct relay {
    struct flight flight; /* first */
    struct buf body;      /* of the request, when it had to be rewritten; then of the answer */
    int status;           /* of the answer; 0: it has not begun */
    struct relay_answer *answer; /* relay_metrics.c; NULL: its tokens are not counted */
    const char *phase;           /* in which the upstream's call failed, or NULL */

    str model;                /* of GET /v1/models/{id}: the id, plain; else STR_NONE */
    struct buf list;          /* model_lookup.c, models_view.c: what the upstream has */
    struct http_header *held; /* of an answer whose body is awaited; NULL: none is */
    size_t n_held;
    bool has_begun; /* a byte of the body was passed on */

    /* relay_upstream.c */
    str plain, asked_model;    /* of the request: its body without a coding, and the model in it */
    const struct err *retried; /* what the last attempt has failed with; or NULL */
    int held_status;
    const struct upstream_table *table; /* when it began */
    size_t n_unreached;                 /* of its upstreams, from the first on */
    bool is_judged;                     /* the held answer, before any of it is passed on */
    bool awaits_route;                  /* lists of models have to be known for it */
    bool awaits_upstream;               /* what it is, before it is asked for its models */
    struct relay_limits limits;

    /* models_union.c */
    const struct upstream_table *union_of; /* that it is written of */
    bool awaits_union;                     /* the lists of all upstreams */
};

/* ---- relay.c */

/* End the answer, with an error or with an object. */
void relay_fail(struct relay *relay, const struct err *e);
void relay_respond(struct relay *relay, str json);

/* The same with the held head of the upstream's answer. */
void relay_respond_held(struct relay *relay, str body);

/* Asks the upstream that has been chosen; the body is rewritten first where it has to be. */
void relay_begin_call(struct relay *relay);

/* Passes the head of an answer on, of the call at hand or one that was held. */
void relay_pass_head(struct relay *relay, int status, const struct http_header *headers,
                     size_t n_headers);

/* Keeps a head in the arena, without what is_left_out(name); NULL: nothing is. False when out of memory. */
bool relay_hold_head(struct relay *relay, const struct http_header *headers, size_t n_headers,
                     bool (*is_left_out)(str name));

/* The answer is complete: what was passed on is all. */
void relay_complete(struct relay *relay);

/* ---- relay_upstream.c */

/* Finds the upstream of what is posted, waits for a place there, and asks; that of others is asked at once. */
void relay_route(struct relay *relay);

/* A list of models that relay_route() waited for is there, or not to be had. */
void relay_route_on(struct relay *relay);

bool relay_only_reads(const struct relay *relay); /* GET, HEAD */
void relay_on_admitted(void *arg);

/* The head of an answer: is it held until it is known what comes of it? */
bool relay_upstream_holds(struct relay *relay, int status, const struct http_header *headers,
                          size_t n_headers);

/* The next bytes of a held answer; false when they are to be passed on, behind what is passed on now. */
bool relay_upstream_keeps(struct relay *relay, str bytes);

/* The call has ended. Returns whether another attempt is made, or all has been said. */
bool relay_upstream_ends(struct relay *relay, const struct err *failure);

/* ---- models_union.c */

/* Is it about models, and are there several upstreams that may have them? */
bool models_union_is_due(const struct relay *relay);

/* Answers, once what the upstreams list is known, or is not to be had: to be called again when awaits_union was set and
 * more is known. */
void models_union_go_on(struct relay *relay);

/* ---- models_view.c */

/* Does the client look for the catalogue of Codex as well? */
bool models_view_wants_catalogue(const struct relay *relay);

/* Is it about models, and more to be shown of them than the upstream says? */
bool models_view_is_wanted(const struct relay *relay);

/* Such an answer: is it to be held until it is there? */
bool models_view_is_due(const struct relay *relay, int status, const struct http_header *headers,
                        size_t n_headers);

/* Keeps the head; false when out of memory. Takes the next bytes of the body; false when they are too
 * many to be held. Answers, when they are all there. */
bool models_view_hold(struct relay *relay, const struct http_header *headers, size_t n_headers);
bool models_view_take(struct relay *relay, str bytes);
void models_view_answer(struct relay *relay);

/* What is answered in place of a list that cannot be shown in part. */
void models_view_refuse(struct err *ret);

/* Appends the entry of one model, with what is known of it. */
void models_view_write_entry(const struct relay *relay, str entry, struct buf *out);

/* ---- model_lookup.c */

/* The id in a path, plain, in the arena; STR_NONE when it is no path of a model's, or memory is
 * out. */
str model_lookup_id(const struct http_request *r, struct arena *a);

/* Is a model asked for that only the list can tell of: by an alias, or behind a server that has an
 * answer to every path? */
bool model_lookup_is_due(const struct relay *relay);

/* Does an upstream that answers so have no path for one model? */
bool model_lookup_is_needed(const struct relay *relay, int status,
                            const struct http_header *headers, size_t n_headers);

/* Asks for the list, and answers from it, also if that fails. */
void model_lookup_start(struct relay *relay);

#endif
