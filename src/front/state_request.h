/* state_request.h -- a request that the store alone can answer (CONTRACT 6).
 *
 *     read, on the worker's loop -> work, on a thread of the store -> the answer
 *     (or on the pool of threads, when there is much to read)
 *
 * What it asks is copied out of the HTTP request before the work begins: a client
 * may leave in the middle, which stops nothing. */
#ifndef ANTIPHON_FRONT_STATE_REQUEST_H
#define ANTIPHON_FRONT_STATE_REQUEST_H

#include "background/poll_cache.h"
#include "base/buf.h"
#include "front/path_pattern.h"
#include "http/http_server.h"
#include "http/query.h"
#include "store/store.h"

struct caller;
struct worker;

struct state_request {
    struct worker *worker; /* for read only: its ids and what is constant */
    str owner;             /* outlives the request */
    struct arena arena;    /* what follows points into it */
    str ids[PATH_MAX_IDS]; /* of the path, decoded; STR_NONE where there is none */
    struct query query;
    struct buf out; /* the answer: JSON */
    str poll_after; /* of one that shows a response under way (response/poll_after.h), set
                                   with it; else STR_NONE */
    struct poll_ticket ticket; /* for that answer to be kept, filled by answer */

    /* filled by read, where the work needs them */
    struct store_page page;
    struct store_conversation conversation;
    struct store_items items;
    bool *is_partial; /* for each of them, see struct kept_item */
};

struct state_call {
    enum store_access access;
    bool has_body;
    /* May be NULL. body: of the request, "" without has_body; dies when read returns.
     * Returns 0, or -1 with *reterr filled. */
    int (*read)(struct state_request *q, str body, struct err *reterr);
    /* Writes the answer to q->out, which is empty. See struct store_task. */
    int (*work)(struct store_session *s, struct state_request *q, struct err *reterr);
    /* May be NULL. Writes the answer if it is known without the store, between the two, on the worker's loop;
     * not with has_body. */
    bool (*answer)(struct state_request *q);
};

/* Begins it; it answers, and frees itself. ids: as in the path. */
void state_request_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                         const struct caller *caller, const struct path_ids *ids,
                         const struct state_call *call);

/* Starts a request that may have an Idempotency-Key: what was answered once is the answer again. */
void state_request_start_keyed(struct worker *w, struct http_exchange *x,
                               const struct http_request *r, const struct caller *caller,
                               const struct path_ids *ids, const struct state_call *call);

/* Starts a request that repeats another by its Idempotency-Key: the answer says so. The call has no
 * body, and of the request its query does not count. */
void state_request_replay(struct worker *w, struct http_exchange *x, const struct http_request *r,
                          const struct caller *caller, const struct path_ids *ids,
                          const struct state_call *call);

/* The answer to a DELETE: the first id of the path, and what it was. */
void state_write_deleted(struct state_request *q, str object);

#endif
