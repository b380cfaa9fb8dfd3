/* arena.c -- a chain of blocks, the newest one filled from its start.
 *
 * Most arenas stay small, and there are several for every open stream: the
 * first block is small, and each further one twice as large up to a bound. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

enum { FIRST_BYTES = 512, MOST_BYTES = 4096, ALIGN = alignof(max_align_t) };

struct arena_block {
    struct arena_block *before;
    size_t used, cap;
    alignas(max_align_t) char bytes[];
};

void arena_init(struct arena *a, size_t limit_bytes)
{
    *a = (struct arena){.limit = limit_bytes};
}

void arena_fini(struct arena *a)
{
    struct arena_block *b = a->last;

    while (b != NULL) {
        struct arena_block *before = b->before;

        free(b);
        b = before;
    }
    *a = (struct arena){.limit = a->limit};
}

static size_t next_cap(const struct arena_block *last)
{
    size_t cap = last == NULL ? FIRST_BYTES : 2 * last->cap;

    return cap > MOST_BYTES ? MOST_BYTES : cap;
}

static struct arena_block *block_for(struct arena *a, size_t n)
{
    struct arena_block *b = a->last;
    size_t cap;

    if (b != NULL && b->cap - b->used >= n)
        return b;
    cap = next_cap(b);
    if (cap < n)
        cap = n;
    if (cap > SIZE_MAX - sizeof(*b))
        return NULL;
    b = malloc(sizeof(*b) + cap);
    if (b == NULL)
        return NULL;
    *b = (struct arena_block){.before = a->last, .cap = cap};
    a->last = b;
    return b;
}

void *arena_alloc(struct arena *a, size_t n)
{
    size_t padded = (n + ALIGN - 1) / ALIGN * ALIGN;
    struct arena_block *b;
    void *p;

    if (padded < n || (a->limit != 0 && padded > a->limit - a->used)) {
        a->is_full = true;
        return NULL;
    }
    b = block_for(a, padded);
    if (b == NULL)
        return NULL;
    p = b->bytes + b->used;
    b->used += padded;
    a->used += padded;
    memset(p, 0, padded);
    return p;
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
    if (size != 0 && n > SIZE_MAX / size)
        return NULL;
    return arena_alloc(a, n * size);
}

str arena_dup(struct arena *a, str s)
{
    char *p;

    if (str_is_none(s) || s.len == SIZE_MAX)
        return STR_NONE;
    p = arena_alloc(a, s.len + 1);
    if (p == NULL)
        return STR_NONE;
    if (s.len > 0)
        memcpy(p, s.p, s.len);
    return str_from(p, s.len);
}
