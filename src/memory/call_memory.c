/* call_memory.c -- a lock around the cache. */
#include "memory/call_memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <uv.h>

#include "ev/loop.h"

struct call_memory {
    uv_mutex_t lock; /* guards cache; nothing else is taken while it is held */
    struct call_cache *cache;
    atomic_size_t n_bytes; /* of the cache, for those who do not want the lock */
};

struct call_memory *call_memory_new(size_t max_entries, size_t max_bytes, struct err *reterr)
{
    const struct id_source randomness = {random_fill, NULL};
    struct call_memory *m = calloc(1, sizeof(*m));

    if (m != NULL)
        m->cache = call_cache_new(max_entries, max_bytes, &randomness);
    if (m == NULL || m->cache == NULL || uv_mutex_init(&m->lock) != 0) {
        if (m != NULL)
            call_cache_free(m->cache);
        free(m);
        err_set_no_memory(reterr);
        return NULL;
    }
    return m;
}

void call_memory_free(struct call_memory *m)
{
    if (m == NULL)
        return;
    call_cache_free(m->cache);
    uv_mutex_destroy(&m->lock);
    free(m);
}

/* With the lock held. */
static void note_bytes(struct call_memory *m)
{
    atomic_store_explicit(&m->n_bytes, call_cache_bytes(m->cache), memory_order_relaxed);
}

size_t call_memory_bytes(const struct call_memory *m)
{
    return m == NULL ? 0 : atomic_load_explicit(&m->n_bytes, memory_order_relaxed);
}

bool call_memory_find(struct call_memory *m, const struct call_key *key, struct arena *a, str *ret)
{
    bool is_known;

    uv_mutex_lock(&m->lock);
    is_known = call_cache_find(m->cache, key, a, ret);
    uv_mutex_unlock(&m->lock);
    return is_known;
}

void call_memory_put(struct call_memory *m, void (*put)(void *arg, struct call_cache *cache),
                     void *arg)
{
    uv_mutex_lock(&m->lock);
    put(arg, m->cache);
    note_bytes(m);
    uv_mutex_unlock(&m->lock);
}

void call_memory_forget(struct call_memory *m)
{
    uv_mutex_lock(&m->lock);
    call_cache_clear(m->cache);
    note_bytes(m);
    uv_mutex_unlock(&m->lock);
}

bool call_memory_is_empty(struct call_memory *m)
{
    bool is_empty;

    uv_mutex_lock(&m->lock);
    is_empty = call_cache_is_empty(m->cache);
    uv_mutex_unlock(&m->lock);
    return is_empty;
}
