/* chat_turn.h -- /v1/chat/completions when the gateway has tools to offer (CONTRACT 6.2):
 * the model is asked, tools of MCP servers that it calls are run, and it is asked again.
 * Without such tools the request is relayed (relay.h). */
#ifndef ANTIPHON_FRONT_CHAT_TURN_H
#define ANTIPHON_FRONT_CHAT_TURN_H

#include "http/http_server.h"

struct caller;
struct worker;

/* Begins a turn or a relay; it answers, and frees itself at its end. */
void chat_turn_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                     const struct caller *caller);

#endif
