/* store_idempotency_key.h -- the key of a response's request. Internal to the store; within a
 * transaction. */
#ifndef ANTIPHON_STORE_STORE_IDEMPOTENCY_KEY_H
#define ANTIPHON_STORE_STORE_IDEMPOTENCY_KEY_H

#include "store/store_session.h"

/* Lets the key of this lock answer with a response. */
int key_finish_with_response(struct store_session *s, str lock, str id, struct err *reterr);

#endif
