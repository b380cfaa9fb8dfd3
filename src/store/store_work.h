/* store_work.h -- responses that are made in the background (CONTRACT 4.8).
 *
 *     accept --> queued --claim--> claimed --start--> running --finish--> (ended)
 *                  ^                  |                  |
 *                  +---(released, or holder dead)        +--(released, or holder dead)--> lost
 *                                                                lost --take_lost--> running
 *
 * An accepted response is in the store like any other from the start, with the
 * items of its request; its status is STORE_QUEUED, then STORE_IN_PROGRESS. Beside it
 * there is its *work*: the request to run, and who has it. Work goes away when the
 * response ends, is cancelled before it has started, or is deleted; until then
 * no limit removes the history that it belongs to. The lock of its conversation belongs
 * to the work from accept to end, whoever runs it, and also while nobody does.
 *
 * Work is claimed under a *lock*, a name that the store makes anew for each claim. All
 * that the worker writes goes with it: nothing is written by one that has lost its claim.
 * Locks of work are held like those of conversations: the store renews them while the
 * process lives, and whoever notices that the holder is dead frees them. What was not
 * started yet is then queued again, at its old place; what was started is *lost*, and
 * one gateway takes it to write down how it has ended, since its tools may have acted.
 * store_conf.work_ms is the lease of these locks, lock_ms that of conversations: the
 * store has a holder name for each, and renews both together, three times within
 * the shorter one. */
#ifndef ANTIPHON_STORE_STORE_WORK_H
#define ANTIPHON_STORE_STORE_WORK_H

#include "store/store.h"

/* ---- accepting */

/* Most responses that may be queued; 0: no bound. Gateways that share a store and accept at the same
 * moment may pass them by one each. */
struct store_work_limits {
    uint64_t most, most_of_owner;
};

/* What is needed to run it, opaque to the store. */
struct store_request {
    str body;
    int64_t flags;
};

/* Accepts a response: as store_save_response(), but it is under way, with status STORE_QUEUED. items
 * are those of its request; cuts is not looked at. Its conversation must be locked by r->lock: the work
 * has the lock from now on. The key of idempotency_lock answers with this response from now on.
 * ERR_RATE_LIMIT, with retry_after_s, when as much is queued as may be. */
int store_accept_work(struct store_session *s, str owner, const struct store_response *r,
                      const struct store_request *request, const struct store_work_limits *limits,
                      struct err *reterr);

/* ---- running */

struct store_work {
    str id, owner;
    str lock;                       /* of this claim */
    str parent_id, conversation_id; /* STR_NONE: none */
    int64_t created_at;
    struct store_request request;
    int64_t n_claims;  /* this one and those before it */
    bool is_cancelled; /* somebody wishes it to be cancelled */
};

/* Claims what is to be run next: that of the owner whose turn it is behind last_owner (STR_NONE: of any),
 * and of this owner the oldest. Only one gateway gets it. *ret_is_found false: nothing is queued. */
int store_claim_work(struct store_session *s, str last_owner, struct arena *a,
                     struct store_work *ret, bool *ret_is_found, struct err *reterr);

/* Claims lost work, the oldest first. Its response is running already: what is left to do is
 * store_finish_work(). */
int store_take_lost_work(struct store_session *s, struct arena *a, struct store_work *ret,
                         bool *ret_is_found, struct err *reterr);

/* What is wanted of the one who runs it. */
enum store_wish {
    STORE_GO_ON,
    STORE_CANCEL,  /* cancel it, and finish it so */
    STORE_TAKEN,   /* it is not the caller's any longer: another gateway has it, or it has ended */
    STORE_DELETED, /* nobody wants it any more */
};

/* Notes that claimed work has started: status STORE_IN_PROGRESS, with a new head and tail (STR_NONE:
 * as it was). To be called in one task with the first store_append_events(). With STORE_TAKEN or
 * STORE_DELETED nothing was written; also when it was cancelled since it was claimed. */
int store_start_work(struct store_session *s, str id, str lock, str head, str tail,
                     enum store_wish *ret, struct err *reterr);

/* Tells what is wanted of the work of these ids that this store has claimed, with one query. ret has
 * n places. */
int store_get_wishes(struct store_session *s, const str *ids, const str *locks, size_t n,
                     enum store_wish *ret, struct err *reterr);

/* Stores how work has ended, that is started, claimed or lost before: r->status is terminal, r->lock is the
 * lock of the claim, r->items are those of its output (what came with the request is stored: items
 * that are not is_output are left out), parent_id, conversation_id, created_at and
 * idempotency_lock are not looked at. Its journal becomes r->cuts; its conversation gets all items when
 * it is completed or incomplete and still there, and is unlocked. *ret STORE_GO_ON: it is stored;
 * STORE_TAKEN: another end is stored or will be, which store_get_response() tells; STORE_DELETED. */
int store_finish_work(struct store_session *s, str owner, const struct store_response *r,
                      enum store_wish *ret, struct err *reterr);

/* Gives up the work of a claim that is not going to be finished. Any thread, no waiting: soon, or as soon
 * as the store can, it is queued again if it has not started, else lost. */
void store_release_work(struct store *store, str lock);

/* ---- from outside */

enum store_cancelled {
    STORE_CANCEL_STORED, /* it was not started: it has ended as r says */
    STORE_CANCEL_WISHED, /* it runs, and whoever runs it will know */
    STORE_CANCEL_LATE,   /* it had ended before, and is as it was */
};

/* Counts the responses that are queued, of all owners. */
int store_count_queued(struct store_session *s, uint64_t *ret, struct err *reterr);

/* The same, claimed ones included, and those that run. */
int store_count_work(struct store_session *s, uint64_t *ret_queued, uint64_t *ret_running,
                     struct err *reterr);

/* Cancels a response under way. r: how it ends if it has not started; id, status, head, tail and cuts.
 * ERR_NOT_FOUND. */
int store_cancel_work(struct store_session *s, str owner, const struct store_response *r,
                      enum store_cancelled *ret, struct err *reterr);

#endif
