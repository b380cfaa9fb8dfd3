/* store_work_leave.h -- what work leaves behind. Internal to the store; within a transaction. */
#ifndef ANTIPHON_STORE_STORE_WORK_LEAVE_H
#define ANTIPHON_STORE_STORE_WORK_LEAVE_H

#include "store/store_session.h"

/* Writes the name under which work locks its conversation: no holder's, so no watch frees it. */
int work_conversation_name(str id, struct buf *out, struct err *reterr);

/* Removes what the work of a response leaves behind: its journal, and the lock of its
 * conversation. */
int work_leave(struct store_session *s, int64_t response, str id, struct err *reterr);

#endif
