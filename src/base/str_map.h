/* str_map.h -- find a pointer by text, in the turn's arena.
 *
 * A trie over the bits of a hash: each node holds one key, two bits of the
 * hash choose the next node, so it grows without ever being rebuilt. Ids come
 * from clients, therefore the hash has a random seed. Zeroed but for the seed
 * it is empty. */
#ifndef ANTIPHON_BASE_STR_MAP_H
#define ANTIPHON_BASE_STR_MAP_H

#include <stdint.h>

#include "base/arena.h"
#include "base/id.h"
#include "base/str.h"

struct str_map_node;

struct str_map {
    struct str_map_node *root;
    uint64_t seed;
};

void str_map_init(struct str_map *m, const struct id_source *randomness);

/* The place of the pointer for key, NULL for a new key, which is not copied. Returns NULL when out
 * of memory. */
void **str_map_slot(struct str_map *m, str key, struct arena *a);

/* The pointer kept for key, or NULL. */
void *str_map_get(const struct str_map *m, str key);

/* The hash of the map, for other tables. A hash may be the seed of the next text. */
uint64_t str_map_hash(uint64_t seed, str key);

#endif
