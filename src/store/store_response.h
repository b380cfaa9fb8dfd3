/* store_response.h -- responses as rows. Internal to the store; within a transaction. */
#ifndef ANTIPHON_STORE_STORE_RESPONSE_H
#define ANTIPHON_STORE_STORE_RESPONSE_H

#include "store/store_response_row.h"

/* Loads what store_get_response() tells. */
int response_load(struct store_session *s, str owner, str id, struct arena *a,
                  struct store_response *ret, struct err *reterr);

/* Adds a response that has ended or is under way, with the items it has, to where it belongs;
 * more_bytes are counted as well. */
int response_add(struct store_session *s, str owner, const struct store_response *r,
                 uint64_t more_bytes, struct response_row *ret, struct err *reterr);

#endif
