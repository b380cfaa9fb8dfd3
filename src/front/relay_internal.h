/* relay_internal.h -- one relay, for the files that it is made of:
 *
 *     relay.c            bytes through
 *     model_lookup.c     GET /v1/models/{id} from the list, where the upstream has no such path */
#ifndef ANTIPHON_FRONT_RELAY_INTERNAL_H
#define ANTIPHON_FRONT_RELAY_INTERNAL_H

#include "flight/flight.h"
#include "flight/worker.h"
#include "front/relay.h"

struct relay {
    struct flight flight; /* first */
    struct buf body;      /* of the request, when it had to be rewritten; else empty */
    int status;           /* of the answer; 0: it has not begun */
    const char *phase;    /* in which the upstream's call failed, or NULL */

    str model;       /* of GET /v1/models/{id}: the id, plain; else STR_NONE */
    struct buf list; /* model_lookup.c: what the upstream has */
};

/* ---- relay.c */

/* End the answer, with an error or with an object. */
void relay_fail(struct relay *relay, const struct err *e);
void relay_respond(struct relay *relay, str json);

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
