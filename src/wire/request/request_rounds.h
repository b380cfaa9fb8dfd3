/* request_rounds.h -- what the gateway ran before, for requests that do not bring it along
 * (CONTRACT 2.1, 2.5 rule 8).
 *
 * Clients that keep their own history drop calls that are not theirs, or send them with ids that
 * are not the upstream's. The memory knows them by the calls and items that do come. */
#ifndef ANTIPHON_WIRE_REQUEST_REQUEST_ROUNDS_H
#define ANTIPHON_WIRE_REQUEST_REQUEST_ROUNDS_H

#include "wire/request/call_cache.h"
#include "wire/request/responses_request.h"

/* The memory of rounds. find puts what is known under a key without a scope (call_rounds.h) into
 * the arena. */
struct rounds_source {
    bool (*find)(void *arg, struct call_key key, struct arena *a, str *ret);
    void *arg;
};

/* Completes the items of r, which needs no store any more: calls of the gateway's own read as the
 * upstream wrote them, and those that are missing before a call stand before it. Sets
 * r->n_put_back, the number of responses of which something was missing. Returns 0, or -1 with
 * *reterr filled. */
int request_put_back(struct responses_request *r, const struct rounds_source *source,
                     const struct input_options *o, const struct id_source *ids, struct arena *a,
                     struct err *reterr);

#endif
