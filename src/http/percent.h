/* percent.h -- bytes of a URL that are written as %XX (RFC 3986 2.1). */
#ifndef ANTIPHON_HTTP_PERCENT_H
#define ANTIPHON_HTTP_PERCENT_H

#include "base/arena.h"

/* The byte that s begins with as %XX, or -1 when it begins with anything else. */
int percent_byte(str s);

/* The text that s stands for; a % that begins no %XX stands for itself. NUL and
 * malformed UTF-8 become U+FFFD, so that it can be stored, compared and shown
 * like any text. STR_NONE when out of memory. */
str percent_decode(struct arena *a, str s);

/* percent_decode() for a name or value of a query, where + is a space. */
str percent_decode_field(struct arena *a, str s);

#endif
