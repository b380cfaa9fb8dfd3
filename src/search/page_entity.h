/* page_entity.h -- character references: &amp; and &#8364; (WHATWG HTML 13.2.5.72). Pure; any
 * thread. */
#ifndef ANTIPHON_SEARCH_PAGE_ENTITY_H
#define ANTIPHON_SEARCH_PAGE_ENTITY_H

#include <stdint.h>

#include "base/buf.h"

/* How many bytes of s, which begins with "&", are a reference, and to what character; or 0. */
size_t page_entity_length(str s, uint32_t *ret);

/* Appends text with its references replaced by what they stand for; what is none stays as it is.
 * The rest is copied, valid or not. */
void page_entity_decode(str text, struct buf *out);

#endif
