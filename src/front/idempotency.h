/* idempotency.h -- requests that come with an Idempotency-Key (CONTRACT 4.8).
 *
 * The first one with a key is answered as it would be without. Whoever repeats it, with the same body, gets
 * the same answer and the header idempotent-replayed:
 *
 *     what is kept          by whom               for
 *     a stored response     the store             requests that are to be stored
 *     the bytes answered    memory/answer_memory  others
 *     the bytes answered    the store             conversations and their items: state_request.c
 *
 * A key is free again when nothing came of its request that could be given to another one. */
#ifndef ANTIPHON_FRONT_IDEMPOTENCY_H
#define ANTIPHON_FRONT_IDEMPOTENCY_H

#include "http/http_server.h"

struct caller;
struct worker;

/* Begin a turn for a request with a key or without: they go where turn_start() and turn_start_compact()
 * lead, or answer what has been answered. */
void idempotency_start_turn(struct worker *w, struct http_exchange *x, const struct http_request *r,
                            const struct caller *caller);
void idempotency_start_compact(struct worker *w, struct http_exchange *x,
                               const struct http_request *r, const struct caller *caller);

#endif
