/* store_history.h -- histories: what holds a tree or a conversation together.
 * Internal to the store; within a transaction. */
#ifndef ANTIPHON_STORE_STORE_HISTORY_H
#define ANTIPHON_STORE_STORE_HISTORY_H

#include "store/store_session.h"

/* What a history holds, as the limits count it. */
struct amount {
    uint64_t n_responses, bytes, cuts_bytes;
};

struct history_new {
    str owner;
    str conversation_id, metadata; /* STR_NONE: a tree of responses */
    int64_t created_at;
    struct amount amount;
};

int history_add(struct store_session *s, const struct history_new *h, int64_t *ret_seq,
                struct err *reterr);

/* Continues a history: nobody else changes it until the transaction ends. *ret_is_there is false
 * when it has gone meanwhile. */
int history_use(struct store_session *s, int64_t seq, struct amount more, bool *ret_is_there,
                struct err *reterr);

/* A conversation by its id, used as history_use() does. */
struct conversation {
    bool is_there; /* else it is unknown */
    int64_t seq;
    uint64_t n_responses, metadata_bytes;
};

int conversation_use(struct store_session *s, str owner, str id, struct amount more,
                     struct conversation *ret, struct err *reterr);

/* Counts what was deleted. *ret_is_needed: something is left that can be found. */
int history_shrink(struct store_session *s, int64_t seq, struct amount less, bool *ret_is_needed,
                   struct err *reterr);

/* Removes a history with all that is in it. What others refer to is given to them. */
int history_remove(struct store_session *s, int64_t seq, struct err *reterr);

#endif
