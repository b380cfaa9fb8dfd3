/* utc.h -- dates and times as people write them (RFC 3339). Pure. */
#ifndef ANTIPHON_BASE_UTC_H
#define ANTIPHON_BASE_UTC_H

#include <stdint.h>

#include "base/str.h"

/* Reads "2027-03-31", which is the end of that day in UTC, or "2027-03-31T18:00:00Z", also with an offset
 * such as +02:00; years from 1970 on. Returns false when it is neither. */
bool utc_read(str text, int64_t *ret_unix_s);

#endif
