/* utf8.h -- Unicode in bytes (RFC 3629: no surrogates, no overlong forms). */
#ifndef ANTIPHON_BASE_UTF8_H
#define ANTIPHON_BASE_UTF8_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* U+FFFD, in place of malformed bytes. */
#define UTF8_REPLACEMENT "\xEF\xBF\xBD"

/* Length in bytes of the well-formed character that s starts with, or 0. */
size_t utf8_char(str s);

/* Writes one code point; returns the number of bytes, 1 to 4. A surrogate or a
 * value above U+10FFFF is written as U+FFFD. */
size_t utf8_encode(uint32_t code_point, char out[4]);

/* Is the well-formed character that s starts with a control character? Those of C1 are
 * commands to terminals as well (U+009B is ESC [). */
bool utf8_is_control(str s);

/* The code point of the well-formed character that s starts with. */
uint32_t utf8_code_point(str s);

/* Does the well-formed character that s starts with change how a line is laid out, or in which
 * direction it is read? The two separators of lines and paragraphs, and what Unicode has to
 * order texts of both directions, by which a text can look like another one. */
bool utf8_is_layout(str s);

/* Length of the longest prefix that is valid as it stands. */
size_t utf8_valid_prefix(str s);

static inline bool utf8_is_valid(str s)
{
    return utf8_valid_prefix(s) == s.len;
}

/* The longest prefix of at most limit bytes that does not end inside a character. */
size_t utf8_cut(str s, size_t limit_bytes);

/* The number of characters of a valid text. */
size_t utf8_count(str s);

/* Appends s with every malformed byte sequence replaced by U+FFFD. */
void utf8_repair(str s, struct buf *out);

#endif
