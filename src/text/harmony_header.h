/* harmony_header.h -- what a header says (HARMONY 1.3), and what can be saved from one that has no
 * <|message|> (HARMONY 1.5). Part of harmony.c.
 *
 * A header is the text between <|start|> and <|message|>, with its markers in it:
 *
 *     assistant to=functions.f<|channel|>commentary <|constrain|>json
 *     ----- role section -----           ----- channel section -----
 *
 * Everything handed out is a view into the text, or a constant. */
#ifndef ANTIPHON_TEXT_HARMONY_HEADER_H
#define ANTIPHON_TEXT_HARMONY_HEADER_H

#include "text/harmony.h"

struct harmony_header_source {
    str text;                              /* valid UTF-8 */
    bool is_explicit;                      /* it opens with a role; else that is the assistant's */
    const struct harmony_handler *handler; /* for is_function */
    void *arg;
};

/* Reads a header. *ret_is_odd: its channel is none of ours as it stands there. */
struct harmony_header harmony_header_read(const struct harmony_header_source *source,
                                          bool *ret_is_odd);

/* A header that ended without <|message|>: finds the content in it. Empty when there is none that
 * may be shown. */
str harmony_header_rescue(const struct harmony_header_source *source, bool at_end_of_stream,
                          struct harmony_header *ret);

/* Cuts the next word off: up to white space or the next <|constrain|>; empty at the end. */
str harmony_header_word(str *rest);

/* True for the word `assistant`, with a name or without. */
bool harmony_header_is_assistant(str word);

#endif
