/* store_conversation.h -- what other files need of conversations. Internal to the
 * store; within a transaction. */
#ifndef ANTIPHON_STORE_STORE_CONVERSATION_H
#define ANTIPHON_STORE_STORE_CONVERSATION_H

#include "store/store_session.h"

/* Items of a conversation that the model is to see, oldest first. */
int conversation_context(struct store_session *s, int64_t seq, struct arena *a,
                         struct store_items *ret, struct err *reterr);

#endif
