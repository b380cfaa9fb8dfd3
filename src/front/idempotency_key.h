/* idempotency_key.h -- the header Idempotency-Key, and what answers say of it (CONTRACT 4.8). */
#ifndef ANTIPHON_FRONT_IDEMPOTENCY_KEY_H
#define ANTIPHON_FRONT_IDEMPOTENCY_KEY_H

#include "http/http_server.h"

/* The key of a request: a view into it, or STR_NONE when it has none. Returns 0, or -1 with *reterr filled
 * when it is not one that may be. */
int idempotency_key_read(const struct http_request *r, str *ret, struct err *reterr);

/* Another request has used the key. Returns -1. */
int idempotency_key_reject(struct err *reterr);

/* What an answer carries that was given before. */
struct http_header idempotency_key_replayed(void);

#endif
