/* chat_messages.h -- a conversation as the `messages` of a Chat request. */
#ifndef ANTIPHON_WIRE_CHAT_CHAT_MESSAGES_H
#define ANTIPHON_WIRE_CHAT_CHAT_MESSAGES_H

#include "conv/conversation.h"
#include "json/json_write.h"
#include "wire/dialect/chat_options.h"

/* Writes the array. */
void chat_messages_write(const struct conversation *c, const struct chat_request_options *o,
                         struct jw *w);

#endif
