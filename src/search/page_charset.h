/* page_charset.h -- the bytes of a page as UTF-8 (WHATWG Encoding 4.2, HTML 13.2.3).
 *
 * A byte order mark decides, else the charset of the head, else what the page itself names in its
 * first kilobyte. Names that are unknown count as none. Without a name valid UTF-8 is UTF-8, and
 * all else windows-1252. Any thread. */
#ifndef ANTIPHON_SEARCH_PAGE_CHARSET_H
#define ANTIPHON_SEARCH_PAGE_CHARSET_H

#include <stdint.h>

#include "base/buf.h"

/* Appends bytes as valid UTF-8, without a byte order mark; what is malformed becomes U+FFFD.
 * content_type is that of the head, or STR_NONE. */
void page_charset_decode(str bytes, str content_type, struct buf *out);

/* The code point of a byte of windows-1252. */
uint32_t page_charset_windows(unsigned char byte);

#endif
