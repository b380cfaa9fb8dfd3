/* chat_request.h -- the request as a Chat Completions server takes it (CONTRACT 1, 2).
 *
 * A turn may have to send its request again with less of the conversation, so it
 * keeps that between the two steps; whoever sends it once only, as tests do,
 * calls chat_request_build():
 *
 *     chat_request_conversation(..., &c, ...)
 *     chat_request_write(r, &c, ...)
 *     conversation_trim(&c, ...)          see conv/trim.h
 *     chat_request_write(r, &c, ...)      into an empty buf
 */
#ifndef ANTIPHON_WIRE_CHAT_CHAT_REQUEST_H
#define ANTIPHON_WIRE_CHAT_CHAT_REQUEST_H

#include "conv/conversation.h"
#include "wire/dialect/chat_options.h"
#include "wire/request/responses_request.h"

/* The messages of the request, which is complete, with the call ids that the upstream wants. They
 * are views of *r and live in the arena. Returns 0, or -1 with *reterr filled. */
int chat_request_conversation(const struct responses_request *r,
                              const struct chat_request_options *o, const struct id_source *ids,
                              struct arena *arena, struct conversation *ret, struct err *reterr);

/* Is the format of the answer (text.format) left out of this round, because the server would not
 * call the tools that are sent in it? What the model says besides calls is then no answer: it is
 * asked once more, in CHAT_LAST_ROUND, with the same messages. */
bool chat_request_defers_format(const struct responses_request *r,
                                const struct chat_request_options *o);

/* Appends the whole JSON body. Returns 0, or -1 when out is full. */
int chat_request_write(const struct responses_request *r, const struct conversation *c,
                       const struct chat_request_options *o, struct buf *out, struct err *reterr);

/* chat_request_conversation() and chat_request_write(), one after the other. */
int chat_request_build(const struct responses_request *r, const struct chat_request_options *o,
                       const struct id_source *ids, struct arena *arena, struct buf *out,
                       struct err *reterr);

#endif
