/* ws.h -- WebSocket frames of a client (RFC 6455), strictly: bytes in, messages out.
 *
 * A thin layer over libwslay's frames: it joins the pieces and fragments of a message, judges what
 * wslay leaves to its user, and keeps the limit. However the network cuts the bytes, the result is
 * the same. It owns no socket.
 *
 *     ws_init(&ws, max_text_bytes, &handler, arg);
 *     if (!ws_feed(&ws, bytes)) ...             over: ws.code and ws.reason say how to close
 *     n = ws_frame_head(WS_TEXT, text.len, head);    what stands before a message of ours
 *
 * Memory is taken while a frame or a message is incomplete, as its bytes come, and none between
 * two messages. */
#ifndef ANTIPHON_NET_WS_H
#define ANTIPHON_NET_WS_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct wslay_frame_context;

/* Status codes of a close frame that we send (CONTRACT 6.3). */
enum ws_code {
    WS_NORMAL = 1000,
    WS_GOING_AWAY = 1001,
    WS_PROTOCOL_ERROR = 1002,
    WS_UNSUPPORTED_DATA = 1003,
    WS_INVALID_TEXT = 1007,
    WS_POLICY_VIOLATION = 1008,
    WS_TOO_LARGE = 1009,
    WS_INTERNAL_ERROR = 1011,
};

enum ws_opcode {
    WS_CONTINUATION = 0,
    WS_TEXT = 1,
    WS_BINARY = 2,
    WS_CLOSE = 8,
    WS_PING = 9,
    WS_PONG = 10,
};

enum {
    WS_CONTROL_BYTES = 125, /* most that a control frame carries */
    WS_HEAD_BYTES = 10,     /* most that stands before the bytes of a frame of ours */
};

/* What a client sends. Both functions are needed; they may call ws_stop() and no other ws_
 * function but those named here. */
struct ws_handler {
    /* A message, whole and valid UTF-8. The view dies with the return, unless ws_take_text(). */
    void (*on_text)(void *arg, str text);
    /* To be answered with a pong of the same payload. */
    void (*on_ping)(void *arg, str payload);
};

struct ws {
    /* for the caller to read */
    bool is_over;       /* nothing more is read: */
    bool is_closed;     /* ... the client has sent a close frame, else it broke a rule */
    enum ws_code code;  /* ... to close with */
    const char *reason; /* ... and why; "" as answer to the client */
    bool in_message;    /* one has begun and is not complete */

    /* ws.c's own */
    const struct ws_handler *handler;
    void *arg;
    struct wslay_frame_context *frames; /* NULL between two frames */
    str input;                          /* not yet given to wslay */
    size_t n_given;                     /* that wslay has, of no frame that it has told of */
    uint64_t frame_left;                /* bytes to come of the frame at hand */
    unsigned char opcode;               /* of the frame at hand */
    bool is_final;                      /* the same */
    bool is_stopped;
    unsigned char n_control;
    char control[WS_CONTROL_BYTES]; /* payload of a control frame */
    struct buf text;
    size_t max_text, n_valid; /* n_valid: of text, valid UTF-8 as it stands */
};

void ws_init(struct ws *ws, size_t max_text_bytes, const struct ws_handler *handler, void *arg);
void ws_fini(struct ws *ws);

/* Reads bytes. False when the connection is over, and for each call after that. */
bool ws_feed(struct ws *ws, str bytes);

/* True when no frame and no message is incomplete. */
bool ws_is_idle(const struct ws *ws);

/* Bytes of the incomplete message so far. */
size_t ws_text_bytes(const struct ws *ws);

/* From inside on_text: gives the bytes of the message to *ret, which is empty. */
void ws_take_text(struct ws *ws, struct buf *ret);

/* Reports nothing more: only the client's close frame, or a broken rule, is waited for. */
void ws_stop(struct ws *ws);

/* ---- our frames: whole ones, without a mask */

/* What stands before n bytes; returns its length. */
size_t ws_frame_head(enum ws_opcode opcode, uint64_t n, char head[WS_HEAD_BYTES]);

/* The payload of a close frame; the reason is cut to what fits. Returns its length. */
size_t ws_close_payload(enum ws_code code, str reason, char payload[WS_CONTROL_BYTES]);

#endif
