/* store_idempotency.h -- what a request with an Idempotency-Key has come to (CONTRACT 4.8).
 *
 *     (free) --begin--> running --finish, save_response, accept_work--> finished --age--> (free)
 *                          |
 *                          +--release, or holder dead--> (free)
 *
 * Keys belong to an owner and a path. While its request runs, a key is held under a lock like
 * that of a conversation, which store_release_lock() gives up. Age is measured in the
 * store's own time, since the key was begun. */
#ifndef ANTIPHON_STORE_STORE_IDEMPOTENCY_H
#define ANTIPHON_STORE_STORE_IDEMPOTENCY_H

#include "store/store.h"

struct store_key {
    str owner, path, key;
    str sha256; /* of the request's body */
    str lock;   /* a name that is new each time */
};

enum store_key_state {
    STORE_KEY_BEGUN,      /* it was free: the caller holds it, and runs the request */
    STORE_KEY_HERE,       /* a request of this store runs */
    STORE_KEY_ELSEWHERE,  /* one of another gateway runs */
    STORE_KEY_FINISHED,   /* answer as told */
    STORE_KEY_OTHER_BODY, /* it was used for another body, and is not free yet */
};

struct store_answer {
    enum store_key_state state;
    str lock;        /* of STORE_KEY_HERE: of the request that runs */
    str response_id; /* of STORE_KEY_FINISHED: the response, if it is one; it may have been deleted, or be
                        under way, since */
    int status; /* of STORE_KEY_FINISHED, else: of HTTP, with the body */
    str body;
};

/* Begins a request, or tells what its key stands for. */
int store_begin_key(struct store_session *s, const struct store_key *key, struct arena *a,
                    struct store_answer *ret, struct err *reterr);

/* Finishes the key of this lock with an answer that is no response. No error when it is held no more:
 * it has expired. */
int store_finish_key(struct store_session *s, str lock, int status, str body, struct err *reterr);

/* Frees the key of this lock at once, so the next request with it runs. No error when it is not held. */
int store_drop_key(struct store_session *s, str lock, struct err *reterr);

#endif
