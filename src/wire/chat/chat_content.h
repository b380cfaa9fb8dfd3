/* chat_content.h -- content as the content of Chat messages (CONTRACT 2.2). */
#ifndef ANTIPHON_WIRE_CHAT_CHAT_CONTENT_H
#define ANTIPHON_WIRE_CHAT_CHAT_CONTENT_H

#include "conv/conversation.h"
#include "json/json_write.h"

/* Separators are the inside of a JSON string. */
#define CHAT_NEWLINE    STR("\\n")
#define CHAT_BLANK_LINE STR("\\n\\n")

/* An element of the array that content is when not all of it is text. */
void chat_content_part(const struct part *p, struct jw *w);

/* All parts of a content, as such elements. */
void chat_content_parts(const struct content *c, struct jw *w);

/* The texts of several contents, as the inside of a string. */
void chat_content_pieces(const struct pieces *list, struct jw *w);

/* Begins a message with its role. */
void chat_content_open_message(struct jw *w, str role);

#endif
