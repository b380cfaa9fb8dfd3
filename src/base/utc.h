/* utc.h -- dates and times as people write them (RFC 3339), and as they read them. Pure. */
#ifndef ANTIPHON_BASE_UTC_H
#define ANTIPHON_BASE_UTC_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* Reads "2027-03-31", which is the end of that day in UTC, or "2027-03-31T18:00:00Z", also with an offset
 * such as +02:00; years from 1970 on. Returns false when it is neither. */
bool utc_read(str text, int64_t *ret_unix_s);

/* Appends a moment for people: "2026-11-24 16:39:13 UTC"; "?" when no calendar has it. */
void utc_write(int64_t unix_s, struct buf *out);

#endif
