/* chat_messages.h -- a conversation as the `messages` of a Chat request. */
#ifndef ANTIPHON_WIRE_CHAT_MESSAGES_H
#define ANTIPHON_WIRE_CHAT_MESSAGES_H

#include "conv/conversation.h"
#include "json/json_write.h"

/* Writes the array. */
void chat_messages_write(const struct conversation *c, struct jw *w);

#endif
