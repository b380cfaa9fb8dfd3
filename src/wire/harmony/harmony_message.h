/* harmony_message.h -- single messages of a Harmony prompt (HARMONY 1.2, 2.3).
 *
 *     from = harmony_message_open(&m, out);
 *     append the content, plain, in any number of pieces
 *     harmony_message_close(&m, from, out);
 */
#ifndef ANTIPHON_WIRE_HARMONY_HARMONY_MESSAGE_H
#define ANTIPHON_WIRE_HARMONY_HARMONY_MESSAGE_H

#include "base/buf.h"

/* Written space.name, or name alone; plain. */
struct harmony_name {
    str space, name;
};

/* All plain text, of whomever, but for channel and content_type, which are ours. Empty: none. */
struct harmony_message {
    struct harmony_name role;
    str name; /* of a user or assistant */
    struct harmony_name recipient;
    str channel;
    str content_type; /* "json" or "<|constrain|>json" */
};

/* Appends the header; returns where the content begins. */
size_t harmony_message_open(const struct harmony_message *m, struct buf *out);

/* Makes the content, all that was appended since, harmless and ends the message. */
void harmony_message_close(const struct harmony_message *m, size_t from, struct buf *out);

/* The content of the system message. A line or section without a text is left out. */
struct harmony_system {
    str identity, knowledge_cutoff, date, effort;
    str channels; /* the valid ones */
    bool has_browser, has_python, has_functions;
};

void harmony_system_write(const struct harmony_system *s, struct buf *out);

/* Separates a section from the one before in a content that begins at from. */
void harmony_section_begin(size_t from, struct buf *out);

#endif
