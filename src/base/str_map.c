/* str_map.c -- hash trie with four branches a node. */
#include "base/str_map.h"

struct str_map_node {
    str key;
    void *value;
    struct str_map_node *child[4];
};

void str_map_init(struct str_map *m, const struct id_source *randomness)
{
    *m = (struct str_map){0};
    randomness->fill(randomness->arg, &m->seed, sizeof(m->seed));
}

/* FNV-1a from a random start; the last step brings the low bits to the top,
 * which choose the branches near the root. */
uint64_t str_map_hash(uint64_t seed, str key)
{
    uint64_t h = seed ^ 14695981039346656037U;

    for (size_t i = 0; i < key.len; i++)
        h = (h ^ (unsigned char)key.p[i]) * 1099511628211U;
    return (h ^ h >> 32) * 1111111111111111111U;
}

void **str_map_slot(struct str_map *m, str key, struct arena *a)
{
    struct str_map_node **place = &m->root;

    for (uint64_t h = str_map_hash(m->seed, key); *place != NULL; h <<= 2) {
        if (str_eq((*place)->key, key))
            return &(*place)->value;
        place = &(*place)->child[h >> 62];
    }
    *place = arena_alloc(a, sizeof(**place));
    if (*place == NULL)
        return NULL;
    (*place)->key = key;
    return &(*place)->value;
}

void *str_map_get(const struct str_map *m, str key)
{
    const struct str_map_node *node = m->root;

    for (uint64_t h = str_map_hash(m->seed, key); node != NULL; h <<= 2) {
        if (str_eq(node->key, key))
            return node->value;
        node = node->child[h >> 62];
    }
    return NULL;
}
