/* sql_sqlite_memory.c -- the allocator that SQLite is given: the C library's, with a size in
 * front of every block so that what was taken can be given back. */
#include "store/sql_sqlite_memory.h"

#include <stdalign.h>
#include <stdlib.h>

#include <sqlite3.h>

#include "base/budget.h"

struct block {
    size_t size; /* with this */
    alignas(max_align_t) char bytes[];
};

enum { ALIGN_BYTES = 8, HEAD_BYTES = sizeof(struct block) };

static struct block *block_of(void *p)
{
    return (struct block *)(void *)((char *)p - HEAD_BYTES);
}

/* The analyzers do not see that the bytes of a block lead back to it. */
#ifndef __clang__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

static void *block_alloc(int n)
{
    size_t size = HEAD_BYTES + (size_t)n;
    struct block *b;

    if (!budget_take(size))
        return NULL;
    b = malloc(size);
    if (b == NULL) {
        budget_give(size);
        return NULL;
    }
    b->size = size;
    return b->bytes; // cppcheck-suppress memleak; block_of() finds it again
}

static void block_free(void *p)
{
    struct block *b = block_of(p);

    budget_give(b->size);
    free(b);
}

static void *block_resize(void *p, int n)
{
    struct block *b = block_of(p), *resized;
    size_t before = b->size, size = HEAD_BYTES + (size_t)n;

    if (size > before && !budget_take(size - before))
        return NULL;
    resized = realloc(b, size);
    if (resized == NULL) {
        if (size > before)
            budget_give(size - before);
        return NULL;
    }
    if (size < before)
        budget_give(before - size);
    resized->size = size;
    return resized->bytes;
}

#ifndef __clang__
#pragma GCC diagnostic pop
#endif

static int block_size(void *p)
{
    return (int)(block_of(p)->size - HEAD_BYTES);
}

static int round_up(int n)
{
    return (n + ALIGN_BYTES - 1) & ~(ALIGN_BYTES - 1);
}

static int begin_memory(void *arg)
{
    (void)arg;
    return SQLITE_OK;
}

static void end_memory(void *arg)
{
    (void)arg;
}

int sql_sqlite_count_memory(void)
{
    static const sqlite3_mem_methods methods = {block_alloc, block_free,   block_resize, block_size,
                                                round_up,    begin_memory, end_memory,   NULL};

    return sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK ? 0 : -1;
}
