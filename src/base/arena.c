/* arena.c -- a chain of blocks, the newest one filled from its start.
 *
 * Most arenas stay small, and there are several for every open stream: the
 * first block is small, and each further one twice as large up to a bound. That
 * of a large arena grows with it, so that its blocks are those that the C
 * library maps one by one and gives back to the system as soon as they are
 * free. What is large itself gets a block of its own, and the newest one is
 * filled on. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/budget.h"

enum {
    FIRST_BYTES = 512,
    SMALL_BYTES = 4096,
    LARGE_BYTES = 512 * 1024,
    USED_PER_BLOCK = 8, /* a large arena wastes no more than this part of it */
    ALIGN = alignof(max_align_t),
};

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
    size_t taken = 0;

    while (b != NULL) {
        struct arena_block *before = b->before;

        taken += sizeof(*b) + b->cap;
        free(b);
        b = before;
    }
    budget_give(taken);
    *a = (struct arena){.limit = a->limit};
}

static size_t next_block_cap(const struct arena *a)
{
    size_t part = a->used / USED_PER_BLOCK;

    if (a->last == NULL)
        return FIRST_BYTES;
    if (part > LARGE_BYTES)
        return LARGE_BYTES;
    if (part > SMALL_BYTES)
        return part;
    return 2 * a->last->cap > SMALL_BYTES ? SMALL_BYTES : 2 * a->last->cap;
}

static struct arena_block *block_new(size_t cap)
{
    struct arena_block *b;

    if (cap > SIZE_MAX - sizeof(*b) || !budget_take(sizeof(*b) + cap))
        return NULL;
    b = malloc(sizeof(*b) + cap);
    if (b == NULL)
        budget_give(sizeof(*b) + cap);
    else
        *b = (struct arena_block){.cap = cap};
    return b;
}

/* A block with room for n bytes. One that is made for them alone stands before the newest. */
static struct arena_block *block_for(struct arena *a, size_t n)
{
    struct arena_block *last = a->last, *b;
    size_t cap;

    if (last != NULL && last->cap - last->used >= n)
        return last;
    cap = next_block_cap(a);
    b = block_new(cap < n ? n : cap);
    if (b == NULL)
        return NULL;
    if (last != NULL && cap < n) {
        b->before = last->before;
        last->before = b;
    } else {
        b->before = last;
        a->last = b;
    }
    return b;
}

void *arena_alloc(struct arena *a, size_t n)
{
    size_t padded = (n + ALIGN - 1) / ALIGN * ALIGN;
    struct arena_block *b;
    void *p;

    if (padded < n || (a->limit != 0 && padded > a->limit - a->used)) {
        a->is_full = true;
        a->has_failed = true;
        return NULL;
    }
    b = block_for(a, padded);
    if (b == NULL) {
        a->has_failed = true;
        return NULL;
    }
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
