/* relay.h -- requests passed to the upstream, answers passed back, as they are
 * but for the alias of a model and an empty `reasoning` in a request: /v1/chat/completions,
 * /v1/models and what the key `relay` adds (CONTRACT 6). */
#ifndef ANTIPHON_FRONT_RELAY_H
#define ANTIPHON_FRONT_RELAY_H

#include "flight/peer.h"

struct caller;
struct worker;

/* Begins a relay; it answers, and frees itself at its end. */
void relay_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                 const struct caller *caller);

/* The same for a client that somebody else has listened to until now. */
void relay_begin(struct worker *w, struct peer client, const struct http_request *r,
                 const struct caller *caller);

#endif
