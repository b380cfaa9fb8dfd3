/* keyed_hash.c -- XXH3 from its header, so that no library is linked. Of two hashes, which are even and under a key
 * already, the bits are mixed as splitmix64 does. */
#include "affinity/keyed_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t keyed_hash(uint64_t key, str bytes)
{
    return XXH3_64bits_withSeed(bytes.len == 0 ? "" : bytes.p, bytes.len, key);
}

uint64_t keyed_hash_pair(uint64_t first, uint64_t second)
{
    uint64_t x = first + 0x9E3779B97F4A7C15u * second;

    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}
