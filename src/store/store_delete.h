/* store_delete.h -- a response that cannot be found any more. Internal to the
 * store; within a transaction. */
#ifndef ANTIPHON_STORE_STORE_DELETE_H
#define ANTIPHON_STORE_STORE_DELETE_H

#include "store/store_session.h"

/* Removes a deleted response with its items when nothing continues it, holds it
 * in a conversation or refers to it; and then its parent, if the same is true
 * of that, and so on. */
int response_remove_upwards(struct store_session *s, int64_t seq, struct err *reterr);

#endif
