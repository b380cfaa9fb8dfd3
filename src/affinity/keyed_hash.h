/* keyed_hash.h -- 64 bits for any bytes, under a key.
 *
 * Equal bytes under equal keys give equal hashes, on one machine. A hash may be the key of the next:
 * that is how texts are chained. It keeps tables of hashes even, and strangers without the key from
 * foreseeing them; it proves nothing, so whoever uses it may lose no more by a collision, of which there is one in
 * 2^64, than time, or the right number of a request's tokens.
 * Pure; any thread. */
#ifndef ANTIPHON_AFFINITY_KEYED_HASH_H
#define ANTIPHON_AFFINITY_KEYED_HASH_H

#include <stdint.h>

#include "base/str.h"

uint64_t keyed_hash(uint64_t key, str bytes);

/* The hash of two hashes, in this order. */
uint64_t keyed_hash_pair(uint64_t first, uint64_t second);

#endif
