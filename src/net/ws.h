/* ws.h -- WebSocket frames of a client (RFC 6455), strictly: bytes in, messages out.
 *
 * A thin layer over libwslay's frames: it joins the pieces and fragments of a message, judges what
 * wslay leaves to its user, and keeps limits. However the network cuts the bytes, the result is the
 * same. Pure: it owns no socket.
 *
 *     ws_init(&ws, limit, &handler, arg);
 *     if (!ws_feed(&ws, bytes)) ...       over: ws.code and ws.reason say what to close with
 *     n = ws_head(WS_TEXT, text.len, head)  what stands before a message of ours
 *
 * Memory is taken while a frame or message is incomplete, and none between two. */
#ifndef ANTIPHON_NET_WS_H
#define ANTIPHON_NET_WS_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* Status codes of a close frame that we send (CONTRACT 6.3). */
enum ws_code {
    WS_NORMAL = 1000,
    WS_GOING_AWAY = 1001,
    WS_PROTOCOL_ERROR = 1002,
    WS_UNSUPPORTED_DATA = 1003,
    WS_INVALID_TEXT = 1007,
    WS_POLICY = 1008,
    WS_TOO_LARGE = 1009,
    WS_INTERNAL_ERROR = 1011,
};

#endif
