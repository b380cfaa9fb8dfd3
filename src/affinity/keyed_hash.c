/* keyed_hash.c -- XXH3 from its header, so that no library is linked. */
#include "affinity/keyed_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t keyed_hash(uint64_t key, str bytes)
{
    return XXH3_64bits_withSeed(bytes.len == 0 ? "" : bytes.p, bytes.len, key);
}

uint64_t keyed_hash_pair(uint64_t first, uint64_t second)
{
    return XXH3_64bits_withSeed(&second, sizeof(second), first);
}
