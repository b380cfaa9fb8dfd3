/* chat_said.h -- messages of the assistant, and what its calls gave. */
#ifndef ANTIPHON_WIRE_CHAT_CHAT_SAID_H
#define ANTIPHON_WIRE_CHAT_CHAT_SAID_H

#include "conv/conversation.h"
#include "json/json_write.h"
#include "wire/dialect/chat_options.h"

/* Writes m as one message, or more with CHAT_CALLS_SINGLE, and the outputs of its calls as messages
 * behind it; with CHAT_CALLS_TEXT the outputs are left to the caller. */
void chat_said_write(const struct message *m, const struct chat_request_options *o, struct jw *w);

/* The text of the output of c, as the inside of a JSON string. */
void chat_said_output_text(const struct call *c, struct buf *out);

#endif
