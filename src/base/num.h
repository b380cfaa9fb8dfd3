/* num.h -- numbers with units, as configuration writes them. */
#ifndef ANTIPHON_BASE_NUM_H
#define ANTIPHON_BASE_NUM_H

#include <stdint.h>

#include "base/str.h"

/* Whole decimal number without sign; false when s is anything else or too large. */
bool num_uint(str s, uint64_t *ret);

/* The value of a hexadecimal digit, of either case; -1 when c is none. */
int num_hex_digit(char c);

/* "1000ms", "15s", "2m", "1h" in milliseconds; a bare number (also "15.0") is
 * seconds, as the environment variables of other gateways have it. */
bool num_duration_ms(str s, uint64_t *ret);

/* "32MiB", "64KiB", "1GiB", "10MB", "512B" or a bare number of bytes. */
bool num_size_bytes(str s, uint64_t *ret);

#endif
