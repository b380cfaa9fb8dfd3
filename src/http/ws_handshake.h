/* ws_handshake.h -- what a request says that wants to become a WebSocket (RFC 6455, 4; CONTRACT 6.3).
 * Pure, but for the hash that the standard asks for. */
#ifndef ANTIPHON_HTTP_WS_HANDSHAKE_H
#define ANTIPHON_HTTP_WS_HANDSHAKE_H

#include "base/arena.h"
#include "http/http_server.h"

struct origin_policy;

/* True for what is meant as a handshake, right or wrong: a proxy may have taken some of it away. */
bool ws_handshake_is_meant(const struct http_request *r);

/* May a page have sent it? Returns 0, or -1 with *reterr filled: 403. No preflight comes before, so
 * Origin decides alone, and no name counts that could have been made to lead here. */
int ws_handshake_check_origin(const struct origin_policy *policy, const struct http_request *r,
                              struct err *reterr);

/* The Authorization, or one made of the key that is among the subprotocols, in the arena;
 * STR_NONE: neither, or no memory. */
str ws_handshake_authorization(const struct http_request *r, struct arena *a);

/* Is the handshake right? Returns 0, or -1 with *reterr filled: 400, or 426 for another version. */
int ws_handshake_check(const struct http_request *r, struct err *reterr);

/* ---- the answer to one that is right */

/* The subprotocol, or STR_NONE: the first that is no key; the key when it is the only one. */
str ws_handshake_protocol(const struct http_request *r);

/* The letters of Sec-WebSocket-Accept. False when they cannot be made for want of memory. */
enum { WS_ACCEPT_LETTERS = 28 };
bool ws_handshake_accept(const struct http_request *r, char accept[WS_ACCEPT_LETTERS]);

#endif
