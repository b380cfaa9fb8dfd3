/* limit_headers.h -- limits as headers of an answer (OPERATIONS 5.3). */
#ifndef ANTIPHON_FLIGHT_LIMIT_HEADERS_H
#define ANTIPHON_FLIGHT_LIMIT_HEADERS_H

#include <stdbool.h>

#include "access/rate_table.h"
#include "base/arena.h"
#include "base/header.h"

enum { LIMIT_HEADERS = 6 }; /* most of one answer */

/* Do answers to a POST of this path have them? */
bool limit_headers_belong_to(str method, str path);

/* Writes those of the limits that there are; values are in the arena. Returns how many, 0 when out of
 * memory. */
size_t limit_headers_write(const struct rate_answer *a, struct arena *memory,
                           struct http_header out[LIMIT_HEADERS]);

/* Is it one of them, in an answer of an upstream, where ours are told? */
bool limit_headers_have(str name);

#endif
