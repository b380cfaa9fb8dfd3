/* json_text.h -- the text of JSON strings: escaped bytes to characters and back.
 *
 * "Escaped" is what stands between the quotes of a JSON string. Escaped pieces
 * can be concatenated and spliced into other JSON without decoding, with two
 * exceptions that json_text_splice() takes care of: half a surrogate pair at
 * the end of a piece, and characters that break line splitters. */
#ifndef ANTIPHON_JSON_JSON_TEXT_H
#define ANTIPHON_JSON_JSON_TEXT_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

/* Appends the characters of a valid escaped text. A lone surrogate becomes U+FFFD. */
void json_text_decode(str escaped, struct buf *out);

/* json_text_decode() into an arena; the view itself when nothing is escaped. STR_NONE for STR_NONE
 * or when out of memory. */
str json_text_dup(struct arena *a, str escaped);

/* json_text_dup(), but always a copy: it outlives the escaped text. */
str json_text_copy(struct arena *a, str escaped);

/* Appends plain text in escaped form. Malformed UTF-8 becomes U+FFFD; U+0085,
 * U+2028 and U+2029 are escaped (CONTRACT 4.1). */
void json_text_escape(str text, struct buf *out);

/* A high surrogate that waits for its other half between two pieces; 0: none. */
struct json_splice {
    uint16_t high;
};

/* Appends an escaped piece of a longer text so that what has been appended so
 * far is complete: a high surrogate at the end is held back and joined with
 * the next piece; a lone half becomes U+FFFD; U+0085, U+2028 and U+2029 are
 * escaped. Returns the number of bytes appended. */
size_t json_text_splice(struct json_splice *s, str escaped, struct buf *out);

/* True when json_text_splice() would append the piece as it is. Most are like that, and need not be
 * copied. */
bool json_text_splices_as_is(const struct json_splice *s, str escaped);

/* End of the text: a half still held back becomes U+FFFD. */
size_t json_text_splice_end(struct json_splice *s, struct buf *out);

bool json_text_has_escape(str escaped);

/* True when the characters of escaped are those of text. */
bool json_text_eq(str escaped, str text);

/* Number of characters, a surrogate pair counting as one. */
size_t json_text_count(str escaped);

#endif
