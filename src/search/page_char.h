/* page_char.h -- what a character of a stranger's text becomes in a line of ours.
 *
 * What a page says itself must not look like a link or a citation of ours, which are the only
 * texts in these brackets: so it loses its own. Pure; any thread. */
#ifndef ANTIPHON_SEARCH_PAGE_CHAR_H
#define ANTIPHON_SEARCH_PAGE_CHAR_H

#include "base/buf.h"

/* A link reads 【3†its text】. */
#define PAGE_OPEN        "\xE3\x80\x90" /* U+3010 */
#define PAGE_DAGGER      "\xE2\x80\xA0" /* U+2020 */
#define PAGE_CLOSE       "\xE3\x80\x91" /* U+3011 */
#define PAGE_OPEN_TAMED  "\xE3\x80\x94" /* U+3014, and U+3015: what a page has instead */
#define PAGE_CLOSE_TAMED "\xE3\x80\x95"

enum page_char_kind {
    PAGE_CHAR_TEXT,
    PAGE_CHAR_SPACE,   /* white space, also what does not break */
    PAGE_CHAR_NOTHING, /* control characters, and marks without width that only layout needs */
};

/* The kind of the first character of s, which is not empty; *ret is what it becomes, and *ret_n how
 * many bytes it has. What is malformed becomes U+FFFD. */
enum page_char_kind page_char(str s, str *ret, size_t *ret_n);

/* True for a character of a script that writes without spaces, so that a line may end beside it. */
bool page_is_ideograph(str character);

/* The number of bytes at the start of s that are printable ASCII other than the space: text as it
 * is. */
size_t page_plain_prefix(str s);

/* Appends any bytes as one line of text, white space as single spaces; at most max_chars
 * characters, then "...". */
void page_tame(str text, size_t max_chars, struct buf *out);

#endif
