/* poll_cache.c -- places chosen by a hash of owner and id; who comes later takes the place. */
#include "background/poll_cache.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/budget.h"
#include "base/str_map.h"
#include "ev/loop.h"

enum {
    N_PLACES = 256,
    MAX_BYTES = 16 * 1024 * 1024, /* of all */
    FRESH_MS = 1000,
    STALE_MS = 2000, /* while somebody reads it anew */
};

struct polled {
    str key; /* owner, a zero byte, and id; in text like the object */
    str object;
    int64_t created_at;
    uint64_t read_ms;
    bool is_being_read;
    size_t size;
    char text[];
};

/* The generation changes with each drop: what was read before it is not kept after it. */
struct place {
    struct polled *polled;
    uint64_t generation;
};

struct poll_cache {
    uv_mutex_t lock; /* guards the places; nothing else is taken while it is held */
    uint64_t seed;
    atomic_size_t n_bytes; /* changes under the lock */
    struct place places[N_PLACES];
};

struct poll_cache *poll_cache_new(void)
{
    struct poll_cache *c = calloc(1, sizeof(*c));

    if (c == NULL || uv_mutex_init(&c->lock) != 0) {
        free(c);
        return NULL;
    }
    random_fill(NULL, &c->seed, sizeof(c->seed));
    return c;
}

/* With the lock held, if others know of the cache. */
static void drop_polled(struct poll_cache *c, struct place *p)
{
    if (p->polled == NULL)
        return;
    c->n_bytes -= p->polled->size;
    budget_free(p->polled, p->polled->size);
    p->polled = NULL;
}

void poll_cache_free(struct poll_cache *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < N_PLACES; i++)
        drop_polled(c, &c->places[i]);
    uv_mutex_destroy(&c->lock);
    free(c);
}

static struct place *place_of(struct poll_cache *c, str owner, str id)
{
    return &c->places[str_map_hash(str_map_hash(c->seed, owner), id) % N_PLACES];
}

static bool is_of(const struct polled *p, str owner, str id)
{
    return p->key.len == owner.len + 1 + id.len && str_eq(str_from(p->key.p, owner.len), owner) &&
           p->key.p[owner.len] == '\0' && str_eq(str_skip(p->key, owner.len + 1), id);
}

/* With the lock held: may it still be shown? The first who finds it old is to read it. */
static bool may_show(struct polled *p, uint64_t now_ms)
{
    const uint64_t age_ms = now_ms > p->read_ms ? now_ms - p->read_ms : 0;
    const bool was_being_read = p->is_being_read;

    if (age_ms < FRESH_MS)
        return true;
    p->is_being_read = true;
    return was_being_read && age_ms < STALE_MS;
}

bool poll_cache_find(struct poll_cache *c, str owner, str id, uint64_t now_ms, struct buf *out,
                     int64_t *ret_created_at, struct poll_ticket *ret_ticket)
{
    struct place *place = place_of(c, owner, id);
    struct polled *p;
    bool is_shown;

    uv_mutex_lock(&c->lock);
    p = place->polled;
    is_shown = p != NULL && is_of(p, owner, id) && may_show(p, now_ms);
    if (is_shown) {
        buf_append(out, p->object);
        *ret_created_at = p->created_at;
    }
    ret_ticket->generation = place->generation;
    uv_mutex_unlock(&c->lock);
    return is_shown;
}

static struct polled *polled_new(str owner, str id, str object)
{
    const size_t key_len = owner.len + 1 + id.len;
    const size_t size = sizeof(struct polled) + key_len + object.len;
    const enum budget_use before = budget_use_for(BUDGET_NEW_WORK);
    struct polled *p = size > MAX_BYTES ? NULL : budget_alloc(size, size);

    (void)budget_use_for(before);
    if (p == NULL)
        return NULL;
    p->size = size;
    p->key = str_from(p->text, key_len);
    p->object = str_from(p->text + key_len, object.len);
    memcpy(p->text, owner.p, owner.len);
    memcpy(p->text + owner.len + 1, id.p, id.len);
    memcpy(p->text + key_len, object.p, object.len);
    return p;
}

/* With the lock held. Returns what has no room, or NULL. */
static struct polled *put_polled(struct poll_cache *c, struct place *place, struct polled *p)
{
    for (size_t i = 0; i < N_PLACES && c->n_bytes + p->size > MAX_BYTES; i++) {
        struct polled *other = c->places[i].polled;

        if (other != NULL && other->read_ms + STALE_MS <= p->read_ms)
            drop_polled(c, &c->places[i]);
    }
    if (c->n_bytes + p->size > MAX_BYTES)
        return p;
    c->n_bytes += p->size;
    place->polled = p;
    return NULL;
}

void poll_cache_keep(struct poll_cache *c, str owner, str id, struct poll_ticket ticket,
                     uint64_t now_ms, int64_t created_at, str object)
{
    struct polled *p = polled_new(owner, id, object);
    struct place *place = place_of(c, owner, id);

    if (p == NULL)
        return;
    p->created_at = created_at;
    p->read_ms = now_ms;
    uv_mutex_lock(&c->lock);
    if (place->generation == ticket.generation) {
        drop_polled(c, place);
        p = put_polled(c, place, p);
    }
    uv_mutex_unlock(&c->lock);
    if (p != NULL)
        budget_free(p, p->size);
}

void poll_cache_drop(struct poll_cache *c, str owner, str id)
{
    struct place *place = place_of(c, owner, id);

    uv_mutex_lock(&c->lock);
    place->generation++;
    if (place->polled != NULL && is_of(place->polled, owner, id))
        drop_polled(c, place);
    uv_mutex_unlock(&c->lock);
}

size_t poll_cache_bytes(const struct poll_cache *c)
{
    return atomic_load_explicit(&c->n_bytes, memory_order_relaxed);
}
