/* websocket_route.h -- from a handshake to a WebSocket (CONTRACT 6.3). */
#ifndef ANTIPHON_FRONT_WEBSOCKET_ROUTE_H
#define ANTIPHON_FRONT_WEBSOCKET_ROUTE_H

#include "http/http_server.h"

struct caller;
struct websocket;
struct worker;

/* Takes a connection whose handshake has succeeded, and who its client is, before anything of it is
 * reported. */
typedef void websocket_open_fn(struct worker *w, struct websocket *ws, const struct caller *caller);

/* Judges a request that is meant as a handshake, and refuses it or opens the connection. The exchange
 * is over for the caller, and the request's views are gone. *ret_caller, in the exchange's memory, is who it
 * was, as soon as that is known. */
void websocket_route_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                           websocket_open_fn *open, struct caller *ret_caller);

#endif
