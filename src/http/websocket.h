/* websocket.h -- a connection that has become a WebSocket (RFC 6455, CONTRACT 6.3): whole messages
 * in, whole messages out.
 *
 *     ws_handshake_check(r, &e)                       is it one that we take? (ws_handshake.h)
 *     ws = http_exchange_upgrade(x, &conf)            101; the exchange is over for the caller
 *     websocket_watch(ws, &handler, arg)              before returning to the loop
 *     websocket_write(ws, parts, n) ...               one message each, in one system call together
 *     websocket_close(ws, WS_GOING_AWAY, "...")       over for the caller
 *
 * What belongs to the frames stays here: pings of the client are answered, ours are sent, frames
 * that break the rules end the connection with the code that the contract has for them. The owner
 * sees text alone. Everything runs on the loop's thread. */
#ifndef ANTIPHON_HTTP_WEBSOCKET_H
#define ANTIPHON_HTTP_WEBSOCKET_H

#include "base/buf.h"
#include "base/str.h"
#include "http/http_server.h"
#include "net/ws.h"

struct websocket;

/* Reports to the owner; all functions are needed. They come from the loop, never from inside a
 * websocket_ call, and may call any of them. */
struct websocket_handler {
    /* A message: whole, valid UTF-8, at most max_body_bytes. The view dies with the return, unless
     * websocket_take_text() keeps it. */
    void (*on_message)(void *arg, str text);
    /* Unsent bytes passed max_pending_bytes (true), or all were sent (false). */
    void (*on_blocked)(void *arg, bool blocked);
    /* The server drains (http_server_drain()): at most once. The owner closes when it has done what
     * it has to. */
    void (*on_drain)(void *arg);
    /* The connection has ended: the client closed it, broke a rule, or is lost. Last word; no call
     * is allowed any more. Not after websocket_close(). */
    void (*on_gone)(void *arg);
};

/* Limits of a connection; each is a configuration key. Size and time of a message are bounded as
 * those of a body are (http_server_conf), and send_timeout holds as well. */
struct websocket_conf {
    size_t max_pending_bytes;  /* unsent bytes above which on_blocked is reported */
    uint64_t ping_interval_ms; /* between two pings; dropped when two stay unanswered; 0: none */
};

/* Answers 101 to a handshake that is right, from on_head or later: the connection is the caller's
 * from now on, and what the request's views and the exchange's memory held is gone. NULL when the
 * server drains or there is no memory: then the answer was 503. */
struct websocket *http_exchange_upgrade(struct http_exchange *x, const struct websocket_conf *conf);

/* Sets who gets the reports. */
void websocket_watch(struct websocket *ws, const struct websocket_handler *handler, void *arg);

/* The request of the handshake; lives as long as the connection. A key that came as a subprotocol
 * is its Authorization. */
const struct http_request *websocket_request(const struct websocket *ws);

/* The x-request-id of the 101; lives as long as the connection. */
str websocket_request_id(const struct websocket *ws);

/* True since the server drains, which may be before on_drain could be reported. */
bool websocket_is_draining(const struct websocket *ws);

/* Inside on_message: makes the bytes of the message, without a copy, those of *ret, which is empty
 * before. The view that on_message has stays good as long as they do. */
void websocket_take_text(struct websocket *ws, struct buf *ret);

/* Sends one message, the parts in a row, valid UTF-8: one frame, which leaves with all others that
 * are written until the end of the batch of events at hand. */
void websocket_write(struct websocket *ws, const str *parts, size_t n_parts);

/* Bytes of frames that the client has not taken yet. */
size_t websocket_pending(const struct websocket *ws);

/* Closes behind what is unsent: sends the code and the reason (at most 123 bytes of UTF-8), waits a
 * while for the client's answer, then ends the connection. Over for the caller: nothing is reported any
 * more, also what the client still sends is not. */
void websocket_close(struct websocket *ws, enum ws_code code, str reason);

#endif
