/* relay.h -- requests passed to the upstream as they are, answers passed back:
 * /v1/chat/completions and /v1/models. */
#ifndef ANTIPHON_GATEWAY_RELAY_H
#define ANTIPHON_GATEWAY_RELAY_H

#include "base/err.h"
#include "http/http_server.h"

struct worker;

/* Begins a relay; it answers, and frees itself at its end. The path goes to
 * the upstream with exactly one /v1. */
void relay_start(struct worker *w, struct http_exchange *x, const struct http_request *r);

/* The worker ends: running relays are answered with e where nothing has been
 * answered yet, and broken off elsewhere. */
void relay_end_all(struct worker *w, const struct err *e);

#endif
