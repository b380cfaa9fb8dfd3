/* compact_text.h -- how long texts are, and how they are cut (CONTRACT 13.6).
 *
 * Without the model's own tokenizer a token is four bytes, an image 1,024 tokens. What is cut says
 * so where its middle was:
 *
 *     beginning
 *     [… 1234 characters left out …]
 *     end */
#ifndef ANTIPHON_COMPACT_COMPACT_TEXT_H
#define ANTIPHON_COMPACT_COMPACT_TEXT_H

#include <stdint.h>

#include "base/buf.h"

enum { COMPACT_BYTES_A_TOKEN = 4, COMPACT_IMAGE_TOKENS = 1024 };

/* The tokens of a text of so many bytes: one at least. */
int64_t compact_tokens(size_t n_bytes);

/* Appends the text, cut to n_bytes of both ends together, half of them each, whole characters. A
 * text that is no longer is appended as it is. Both texts are plain UTF-8. */
void compact_cut_bytes(str text, size_t n_bytes, struct buf *out);

/* The same with n characters of each end; appended as it is when that would not make it shorter. */
void compact_cut_chars(str text, size_t n, struct buf *out);

#endif
