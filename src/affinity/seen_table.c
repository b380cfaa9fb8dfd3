/* seen_table.c -- chained buckets over an array of entries, which are named by their index.
 *
 * Entry 0 is no entry: it is where the ring begins and ends, its `newer` the least and its `older` the
 * most recently used. So 0 stands for "none" in buckets and in the list of free entries as well. */
#include "affinity/seen_table.h"

#include <string.h>

#include "base/budget.h"

enum { FIRST_CAPACITY = 64, MAX_CAPACITY = 1 << 30 };

/* ---- memory */

/* A power of two that is no less than n. */
static size_t n_buckets(size_t n)
{
    size_t power = FIRST_CAPACITY;

    while (power < n)
        power *= 2;
    return power;
}

static size_t memory_bytes(size_t capacity)
{
    if (capacity == 0)
        return 0;
    return (capacity + 1) * sizeof(struct seen) + n_buckets(capacity) * sizeof(uint32_t);
}

size_t seen_table_bytes(const struct seen_table *t)
{
    return memory_bytes(t->capacity);
}

void seen_table_fini(struct seen_table *t)
{
    budget_free(t->entries, memory_bytes(t->capacity));
    *t = (struct seen_table){.max_entries = t->max_entries};
}

static uint32_t *bucket_of(const struct seen_table *t, uint64_t hash)
{
    return &t->buckets[hash & t->bucket_mask];
}

static void enter_bucket(struct seen_table *t, uint32_t i)
{
    uint32_t *bucket = bucket_of(t, t->entries[i].hash);

    t->entries[i].next = *bucket;
    *bucket = i;
}

static size_t next_capacity(const struct seen_table *t)
{
    size_t most = t->max_entries < MAX_CAPACITY ? t->max_entries : MAX_CAPACITY;
    size_t twice = t->capacity == 0 ? FIRST_CAPACITY : 2 * t->capacity;

    return twice < most ? twice : most;
}

/* What is remembered has no claim to what is left for work that has begun. */
static struct seen *alloc_entries(size_t bytes)
{
    enum budget_use before = budget_use_for(BUDGET_NEW_WORK);
    struct seen *entries = budget_alloc(bytes, bytes);

    (void)budget_use_for(before);
    return entries;
}

/* False when the table is as large as it may be, or out of memory; nothing has changed then. */
static bool grow_table(struct seen_table *t)
{
    size_t capacity = next_capacity(t), before = memory_bytes(t->capacity);
    struct seen *entries = NULL;

    if (capacity > t->capacity)
        entries = alloc_entries(memory_bytes(capacity));
    if (entries == NULL)
        return false;
    if (t->entries != NULL)
        memcpy(entries, t->entries, (t->n_made + 1) * sizeof(*entries));
    budget_free(t->entries, before);
    t->entries = entries;
    t->capacity = capacity;
    t->buckets = (uint32_t *)(void *)(entries + capacity + 1);
    t->bucket_mask = n_buckets(capacity) - 1;
    for (uint32_t i = entries[0].newer; i != 0; i = entries[i].newer)
        enter_bucket(t, i);
    return true;
}

/* ---- the ring */

static void leave_ring(struct seen_table *t, uint32_t i)
{
    const struct seen *e = &t->entries[i];

    t->entries[e->older].newer = e->newer;
    t->entries[e->newer].older = e->older;
}

static void enter_ring(struct seen_table *t, uint32_t i)
{
    struct seen *head = &t->entries[0];

    t->entries[i].older = head->older;
    t->entries[i].newer = 0;
    t->entries[head->older].newer = i;
    head->older = i;
}

/* ---- entries */

static void leave_bucket(struct seen_table *t, uint32_t i)
{
    uint32_t *place = bucket_of(t, t->entries[i].hash);

    while (*place != i)
        place = &t->entries[*place].next;
    *place = t->entries[i].next;
}

static void remove_entry(struct seen_table *t, uint32_t i)
{
    leave_bucket(t, i);
    leave_ring(t, i);
    t->entries[i].next = t->free;
    t->free = i;
    if (--t->n == 0)
        seen_table_fini(t);
}

/* 0 when there is no room. */
static uint32_t take_free(struct seen_table *t)
{
    uint32_t i = t->free;

    if (i != 0)
        t->free = t->entries[i].next;
    else if (t->n_made < t->capacity || grow_table(t))
        i = (uint32_t)++t->n_made;
    return i;
}

/* The least recently used entry, out of its bucket and the ring; 0 when there is none. */
static uint32_t take_oldest(struct seen_table *t)
{
    uint32_t i = t->n == 0 ? 0 : t->entries[0].newer;

    if (i == 0)
        return 0;
    leave_bucket(t, i);
    leave_ring(t, i);
    t->n--;
    return i;
}

static uint32_t make_entry(struct seen_table *t, uint64_t hash)
{
    uint32_t i = take_free(t);

    if (i == 0)
        i = take_oldest(t);
    if (i == 0)
        return 0;
    t->entries[i] = (struct seen){.hash = hash};
    enter_bucket(t, i);
    enter_ring(t, i);
    t->n++;
    return i;
}

static uint32_t find_entry(const struct seen_table *t, uint64_t hash)
{
    uint32_t i = t->n == 0 ? 0 : *bucket_of(t, hash);

    while (i != 0 && t->entries[i].hash != hash)
        i = t->entries[i].next;
    return i;
}

const struct seen *seen_table_find(const struct seen_table *t, uint64_t hash)
{
    uint32_t i = find_entry(t, hash);

    return i == 0 ? NULL : &t->entries[i];
}

struct seen *seen_table_use(struct seen_table *t, uint64_t hash)
{
    uint32_t i = find_entry(t, hash);

    if (i != 0) {
        leave_ring(t, i);
        enter_ring(t, i);
    } else {
        i = make_entry(t, hash);
    }
    return i == 0 ? NULL : &t->entries[i];
}

const struct seen *seen_table_oldest(const struct seen_table *t)
{
    return t->n == 0 ? NULL : &t->entries[t->entries[0].newer];
}

void seen_table_remove_oldest(struct seen_table *t)
{
    remove_entry(t, t->entries[0].newer);
}

/* ---- upstreams */

/* The place of an upstream; n when it has none. */
static size_t find_place(const struct seen *s, uint16_t upstream)
{
    size_t i = 0;

    while (i < s->n && s->upstream[i] != upstream)
        i++;
    return i;
}

static size_t longest_ago(const struct seen *s)
{
    size_t oldest = 0;

    for (size_t i = 1; i < s->n; i++) {
        if (s->at_ms[i] < s->at_ms[oldest])
            oldest = i;
    }
    return oldest;
}

void seen_note(struct seen *s, uint16_t upstream, uint64_t now_ms)
{
    size_t i = find_place(s, upstream);

    if (i == SEEN_PLACES)
        i = longest_ago(s);
    else if (i == s->n)
        s->n++;
    s->upstream[i] = upstream;
    s->at_ms[i] = now_ms;
}

/* The last place takes that of the upstream. */
static void remove_place(struct seen *s, uint16_t upstream)
{
    size_t i = find_place(s, upstream);

    if (i == s->n)
        return;
    s->n--;
    s->upstream[i] = s->upstream[s->n];
    s->at_ms[i] = s->at_ms[s->n];
}

void seen_table_forget(struct seen_table *t, uint16_t upstream)
{
    for (uint32_t i = t->n == 0 ? 0 : t->entries[0].newer, newer; i != 0; i = newer) {
        newer = t->entries[i].newer;
        remove_place(&t->entries[i], upstream);
        if (t->entries[i].n == 0)
            remove_entry(t, i); /* with the last one the memory goes, and newer is 0 */
    }
}
