/* affinity.c -- the two memories, each a seen_table; a session's entry has one place in use. */
#include "affinity/affinity.h"

#include <assert.h>
#include <stdlib.h>

#include "affinity/keyed_hash.h"
#include "affinity/seen_table.h"

static_assert((int)AFFINITY_UPSTREAMS == (int)SEEN_PLACES, "an entry has a place for each");

struct affinity {
    struct seen_table sessions, marks;
    uint64_t ttl_ms;
};

struct affinity *affinity_new(const struct affinity_conf *conf)
{
    struct affinity *a = calloc(1, sizeof(*a));

    if (a == NULL)
        return NULL;
    a->sessions.max_entries = conf->max_sessions;
    a->marks.max_entries = conf->max_marks;
    a->ttl_ms = conf->ttl_ms;
    return a;
}

void affinity_free(struct affinity *a)
{
    if (a == NULL)
        return;
    seen_table_fini(&a->sessions);
    seen_table_fini(&a->marks);
    free(a);
}

void affinity_set_ttl(struct affinity *a, uint64_t ttl_ms)
{
    a->ttl_ms = ttl_ms;
}

/* ---- hashes */

static uint64_t not_zero(uint64_t hash)
{
    return hash == 0 ? 1 : hash;
}

uint64_t affinity_session_hash(uint64_t key, str owner, str model, str text)
{
    return not_zero(keyed_hash(keyed_hash(keyed_hash(key, owner), model), text));
}

uint64_t affinity_salt(uint64_t key, str owner)
{
    return not_zero(keyed_hash(key, owner));
}

/* Neither part is known to who writes the request, so they need no more than to be put together. */
static uint64_t salted(const struct prefix_mark *mark, uint64_t salt)
{
    return mark->hash ^ salt;
}

/* ---- time */

/* A note of another thread may be a little ahead of now. */
static bool is_idle(const struct affinity *a, uint64_t at_ms, uint64_t now_ms)
{
    return now_ms > at_ms && now_ms - at_ms >= a->ttl_ms;
}

static bool is_all_idle(const struct affinity *a, const struct seen *s, uint64_t now_ms)
{
    for (size_t i = 0; i < s->n; i++) {
        if (!is_idle(a, s->at_ms[i], now_ms))
            return false;
    }
    return true;
}

/* Entries become idle in the order of the ring, but for those that an ejection has left older upstreams:
 * they are not found meanwhile, and go when they are the oldest. */
static void expire_table(const struct affinity *a, struct seen_table *t, uint64_t now_ms)
{
    const struct seen *oldest;

    while ((oldest = seen_table_oldest(t)) != NULL && is_all_idle(a, oldest, now_ms))
        seen_table_remove_oldest(t);
}

void affinity_expire(struct affinity *a, uint64_t now_ms)
{
    expire_table(a, &a->sessions, now_ms);
    expire_table(a, &a->marks, now_ms);
}

/* ---- notes */

static void note_session(struct affinity *a, uint64_t session, uint16_t upstream, uint64_t now_ms)
{
    struct seen *s = session == 0 ? NULL : seen_table_use(&a->sessions, session);

    if (s == NULL)
        return;
    s->n = 0; /* it has one upstream, the last */
    seen_note(s, upstream, now_ms);
}

static void note_mark(struct affinity *a, uint64_t hash, uint16_t upstream, uint64_t now_ms)
{
    struct seen *s = seen_table_use(&a->marks, hash);

    if (s != NULL)
        seen_note(s, upstream, now_ms);
}

/* The last mark first: of a long prompt that is forgotten piece by piece the end goes first, and what
 * is left is a beginning that others may share. */
void affinity_note(struct affinity *a, const struct affinity_prompt *p, uint16_t upstream,
                   uint64_t now_ms)
{
    affinity_expire(a, now_ms);
    note_session(a, p->session, upstream, now_ms);
    for (size_t i = p->n_marks; i-- > 0;)
        note_mark(a, salted(&p->marks[i], p->salt), upstream, now_ms);
}

/* ---- questions */

bool affinity_find_session(const struct affinity *a, uint64_t session, uint64_t now_ms,
                           uint16_t *ret_upstream)
{
    const struct seen *s = session == 0 ? NULL : seen_table_find(&a->sessions, session);

    if (s == NULL || is_idle(a, s->at_ms[0], now_ms))
        return false;
    *ret_upstream = s->upstream[0];
    return true;
}

size_t affinity_find_mark(const struct affinity *a, uint64_t salt, const struct prefix_mark *mark,
                          uint64_t now_ms, uint16_t ret_upstreams[AFFINITY_UPSTREAMS])
{
    const struct seen *s = seen_table_find(&a->marks, salted(mark, salt));
    size_t n = 0;

    for (size_t i = 0; s != NULL && i < s->n; i++) {
        if (!is_idle(a, s->at_ms[i], now_ms))
            ret_upstreams[n++] = s->upstream[i];
    }
    return n;
}

void affinity_forget(struct affinity *a, uint16_t upstream)
{
    seen_table_forget(&a->sessions, upstream);
    seen_table_forget(&a->marks, upstream);
}

struct affinity_size affinity_size(const struct affinity *a)
{
    return (struct affinity_size){a->sessions.n, a->marks.n,
                                  seen_table_bytes(&a->sessions) + seen_table_bytes(&a->marks)};
}
