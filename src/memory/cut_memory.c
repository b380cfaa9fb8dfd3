/* cut_memory.c -- a table of hashes, in rows of four. */
#include "memory/cut_memory.h"

#include <stdlib.h>
#include <uv.h>

#include "base/str_map.h"
#include "ev/loop.h"

enum { ROW = 4 };

static const uint64_t lifetime_ns = 3600 * 1000000000ULL;

struct slot {
    uint64_t key; /* 0: free */
    uint64_t kept_ns;
};

struct cut_memory {
    uv_mutex_t lock; /* guards what follows; nothing else is taken while it is held */
    uint64_t seed;
    size_t n_rows;
    struct slot slots[];
};

struct cut_memory *cut_memory_new(size_t max_entries, struct err *reterr)
{
    const size_t n_rows = (max_entries + ROW - 1) / ROW;
    struct cut_memory *m = calloc(1, sizeof(*m) + n_rows * ROW * sizeof(m->slots[0]));

    if (m == NULL || uv_mutex_init(&m->lock) != 0) {
        free(m);
        err_set_no_memory(reterr);
        return NULL;
    }
    m->n_rows = n_rows;
    random_fill(NULL, &m->seed, sizeof(m->seed));
    return m;
}

void cut_memory_free(struct cut_memory *m)
{
    if (m == NULL)
        return;
    uv_mutex_destroy(&m->lock);
    free(m);
}

static uint64_t key_of(const struct cut_memory *m, const struct cut *c)
{
    const str mark = str_from((const char *)&c->mark, sizeof(c->mark));
    const uint64_t key =
        str_map_hash(str_map_hash(str_map_hash(m->seed, c->owner), c->model), mark);

    return key == 0 ? 1 : key;
}

static struct slot *row_of(struct cut_memory *m, uint64_t key)
{
    return &m->slots[key % m->n_rows * ROW];
}

static struct slot *find_slot(struct cut_memory *m, uint64_t key)
{
    struct slot *row = row_of(m, key);

    for (size_t i = 0; i < ROW; i++) {
        if (row[i].key == key)
            return &row[i];
    }
    return NULL;
}

static struct slot *oldest_slot(struct cut_memory *m, uint64_t key)
{
    struct slot *row = row_of(m, key), *oldest = row;

    for (size_t i = 1; i < ROW; i++) {
        if (row[i].kept_ns < oldest->kept_ns)
            oldest = &row[i];
    }
    return oldest;
}

void cut_memory_keep(struct cut_memory *m, const struct cut *c)
{
    const uint64_t key = key_of(m, c);
    struct slot *slot;

    uv_mutex_lock(&m->lock);
    slot = find_slot(m, key);
    if (slot == NULL)
        slot = oldest_slot(m, key);
    *slot = (struct slot){.key = key, .kept_ns = uv_hrtime()};
    uv_mutex_unlock(&m->lock);
}

bool cut_memory_has(struct cut_memory *m, const struct cut *c)
{
    const uint64_t key = key_of(m, c);
    const struct slot *slot;
    bool is_known;

    uv_mutex_lock(&m->lock);
    slot = find_slot(m, key);
    is_known = slot != NULL && uv_hrtime() - slot->kept_ns < lifetime_ns;
    uv_mutex_unlock(&m->lock);
    return is_known;
}
