/* reasoning_memory.c -- a lock around the cache. */
#include "gateway/reasoning_memory.h"

#include <stdlib.h>
#include <uv.h>

#include "ev/loop.h"
#include "response/response_memory.h"

struct reasoning_memory {
    uv_mutex_t lock; /* guards cache; nothing else is taken while it is held */
    struct reasoning_cache *cache;
};

struct reasoning_memory *reasoning_memory_new(size_t max_entries, size_t max_bytes,
                                              struct err *reterr)
{
    const struct id_source randomness = {random_fill, NULL};
    struct reasoning_memory *m = calloc(1, sizeof(*m));

    if (m != NULL)
        m->cache = reasoning_cache_new(max_entries, max_bytes, &randomness);
    if (m == NULL || m->cache == NULL || uv_mutex_init(&m->lock) != 0) {
        if (m != NULL)
            reasoning_cache_free(m->cache);
        free(m);
        err_set_no_memory(reterr);
        return NULL;
    }
    return m;
}

void reasoning_memory_free(struct reasoning_memory *m)
{
    if (m == NULL)
        return;
    reasoning_cache_free(m->cache);
    uv_mutex_destroy(&m->lock);
    free(m);
}

bool reasoning_memory_find(struct reasoning_memory *m, const struct reasoning_key *key,
                           struct arena *a, str *ret)
{
    bool is_known;

    uv_mutex_lock(&m->lock);
    is_known = reasoning_cache_find(m->cache, key, a, ret);
    uv_mutex_unlock(&m->lock);
    return is_known;
}

void reasoning_memory_keep(struct reasoning_memory *m, str scope, const struct response *r)
{
    uv_mutex_lock(&m->lock);
    response_remember(r, scope, m->cache);
    uv_mutex_unlock(&m->lock);
}
