/* turn.h -- one client request to /v1/responses, from parse to last byte. */
#ifndef ANTIPHON_TURN_TURN_H
#define ANTIPHON_TURN_TURN_H

#include <stdint.h>

#include "base/err.h"
#include "flight/peer.h"

struct caller;
struct worker;

/* Begins the turn of a request; it answers, and frees itself when the last
 * thing it started has ended. */
void turn_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                const struct caller *caller);

/* Begins a turn for any client. r, which says what is asked and with which headers, lives as long as the
 * client. */
void turn_begin(struct worker *w, struct peer client, const struct http_request *r,
                const struct caller *caller);

/* Begins a turn that is only counted: POST /v1/responses/input_tokens. */
void turn_start_count(struct worker *w, struct http_exchange *x, const struct http_request *r,
                      const struct caller *caller);

/* Begin a turn for a request to /v1/responses/compact, whose answer is a summary (CONTRACT 13.3). */
void turn_start_compact(struct worker *w, struct http_exchange *x, const struct http_request *r,
                        const struct caller *caller);
void turn_begin_compact(struct worker *w, struct peer client, const struct http_request *r,
                        const struct caller *caller);

/* Begins a turn for a request whose Idempotency-Key the store holds by a lock (store_idempotency.h),
 * which is copied and given up unless the key comes to stand for the response; that has the lock's name
 * for its id. is_stream: who repeats the request may join the turn, which then goes on without its client. */
void turn_begin_keyed(struct worker *w, struct peer client, const struct http_request *r,
                      const struct caller *caller, str lock, bool is_stream);

/* ---- background work (CONTRACT 4.8)
 *
 * A request with `background` is answered when its response is in the store, queued; the turn ends with
 * that. Whoever claims it there runs it by another turn, for nobody. That one stores what is new of its
 * events as it goes, and how the response has ended, as the claim's. */

/* What has been claimed; texts are copied. */
struct turn_work {
    str id, owner;
    str lock; /* of the claim (store_work.h) */
    int64_t created_at;
    str request;       /* as it was accepted (turn/work_request.h), ... */
    bool is_cancelled; /* it is wished that it ends as cancelled, before it begins */

    /* Reported once, on the worker's loop, maybe before turn_begin_work() returns, and not when the worker
     * is freed. failure NULL: the claim is over, since the end is stored, or somebody else has it, or the
     * response was deleted. Else the response could not be made, or its end not be stored, and why: it is
     * still claimed, and has to be ended by what is in the store; ERR_RESPONSE_CANCELLED: as cancelled. With
     * ERR_OVERLOADED, ERR_STORE and ERR_STORE_AWAY it is to be given back (store_release_work()): another
     * time, or another gateway, may do. */
    void (*on_end)(void *arg, const struct err *failure);
    void *arg;
};

void turn_begin_work(struct worker *w, const struct turn_work *work);

#endif
