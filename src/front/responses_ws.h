/* responses_ws.h -- /v1/responses over a WebSocket (CONTRACT 6.3): requests come as messages, and the
 * same turns as over HTTP (turn/turn.h) answer them. */
#ifndef ANTIPHON_FRONT_RESPONSES_WS_H
#define ANTIPHON_FRONT_RESPONSES_WS_H

struct caller;
struct websocket;
struct worker;

/* Takes a connection whose handshake has succeeded, and whose client is the caller; before anything of it
 * is reported. It closes by itself. */
void responses_ws_open(struct worker *w, struct websocket *ws, const struct caller *caller);

#endif
