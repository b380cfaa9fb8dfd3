/* harmony_text.h -- texts of others inside a Harmony prompt (HARMONY 2.3).
 *
 * A prompt is tokenized with its special tokens recognised. So that no user, tool or schema can
 * write one, U+200B is put behind the `<` of every special token in their texts. */
#ifndef ANTIPHON_TEXT_HARMONY_TEXT_H
#define ANTIPHON_TEXT_HARMONY_TEXT_H

#include "base/buf.h"

/* Appends plain text with its special tokens made harmless; all other text as it is. */
void harmony_neutralise(str plain, struct buf *out);

/* harmony_neutralise() for the text that begins at byte `from` of out: for texts of several pieces,
 * which could be harmless each and a token together. */
void harmony_neutralise_from(size_t from, struct buf *out);

#endif
