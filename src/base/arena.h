/* arena.h -- memory of one turn, freed at once.
 *
 * Blocks are never moved, so pointers into an arena stay good until
 * arena_fini(). A zeroed struct arena is an empty one without a limit. */
#ifndef ANTIPHON_BASE_ARENA_H
#define ANTIPHON_BASE_ARENA_H

#include <stddef.h>

#include "base/str.h"

struct arena_block;

struct arena {
    struct arena_block *last;
    size_t used;     /* bytes handed out */
    size_t limit;    /* bytes; 0: none */
    bool is_full;    /* something was refused because of the limit, and ... */
    bool has_failed; /* ... for this reason or another */
};

void arena_init(struct arena *a, size_t limit_bytes);
void arena_fini(struct arena *a);

/* n zeroed bytes, aligned for any type; NULL when out of memory or over the limit. */
void *arena_alloc(struct arena *a, size_t n);

/* n * size zeroed bytes; NULL also when the product overflows. */
void *arena_array(struct arena *a, size_t n, size_t size);

/* A copy with a NUL behind it that is not counted; STR_NONE when out of memory
 * or when s is STR_NONE. */
str arena_dup(struct arena *a, str s);

#endif
