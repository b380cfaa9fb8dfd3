/* ws_message.h -- what goes over a WebSocket on /v1/responses (CONTRACT 6.3): messages of clients, and
 * ours. Bytes in, bytes out.
 *
 * Ours are the events of a stream, taken out of the frames in which HTTP would carry them, and two that
 * only are here: an error in place of a response, and the answer to an attempt at steering one. Each is
 * an object that has its lane, stream_id, as its last member, if it has one. */
#ifndef ANTIPHON_FRONT_WS_MESSAGE_H
#define ANTIPHON_FRONT_WS_MESSAGE_H

#include "base/buf.h"
#include "base/err.h"

enum ws_message_type {
    WS_MESSAGE_CREATE,
    WS_MESSAGE_STEER,
    WS_MESSAGE_PROCESSED,
};

/* Views into the text. */
struct ws_message {
    enum ws_message_type type;
    str stream_id;            /* plain; STR_NONE: the default lane */
    str previous_response_id; /* escaped, or STR_NONE */
    str input;                /* raw, or STR_NONE */
    str text;                 /* all of it */
    bool is_malformed;        /* no object, or without a type: may not be a client of this API */
};

/* Reads a message. Returns 0, or -1 with *reterr filled; stream_id is set then as well, if it is a good
 * one, and is_malformed. */
int ws_message_read(str text, struct ws_message *ret, struct err *reterr);

/* What a message about a lane ends with: `}`, or `,"stream_id":"NAME"}`. */
void ws_message_end(str stream_id, struct buf *out);

/* Takes the next event off the frames of a stream: *ret is its object without the brace at its end. False
 * when there is no other; comments and [DONE] are none. */
bool ws_message_next_event(str *frames, str *ret);

/* The id of the response that the first event of a stream is about. */
str ws_message_response_id(str event);

/* An error in place of a response. Clients take server_is_overloaded for the end of their turn: where HTTP
 * says that, they are told to wait. */
void ws_message_error(const struct err *e, str stream_id, struct buf *out);

/* Steering is not possible: the message is repeated in the answer. is_known: its response is one of this
 * connection. */
void ws_message_steer_failed(const struct ws_message *steer, bool is_known, struct buf *out);

#endif
