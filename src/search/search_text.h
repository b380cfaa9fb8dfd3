/* search_text.h -- what services say of a page, as plain text. Pure. */
#ifndef ANTIPHON_SEARCH_SEARCH_TEXT_H
#define ANTIPHON_SEARCH_SEARCH_TEXT_H

#include "base/arena.h"

/* The text as valid UTF-8 with the tags of emphasis and layout taken out, entities read, control
 * characters and runs of white space as one space, and at most so many bytes. In the arena;
 * STR_NONE when out of memory. */
str search_text_plain(str text, size_t limit_bytes, struct arena *a);

#endif
