/* call_cache.c -- a hash table whose entries also stand in a queue by age.
 *
 * An entry is one block: its links, then scope, call id and text. Scope and call
 * id are compared in full; of name and arguments, which may be long, a hash of 64
 * bits with a random seed stands for the text. */
#include "wire/request/call_cache.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/budget.h"
#include "base/str_map.h"
#include "json/json_text.h"

enum { MAX_BUCKETS = 1 << 20 };

struct entry {
    struct entry *older, *newer; /* in the queue */
    struct entry *next;          /* in its bucket */
    uint64_t hash;               /* of all that follows */
    uint64_t signature;          /* of name and arguments */
    size_t scope_len, call_id_len, text_len;
    char bytes[];
};

struct call_cache {
    size_t max_entries, max_bytes;
    size_t n_entries, n_bytes;
    struct entry *oldest, *newest;
    uint64_t seeds[2];
    size_t mask; /* number of buckets - 1 */
    struct entry *buckets[];
};

/* A key made ready for comparison. */
struct probe {
    str scope, call_id; /* plain */
    uint64_t hash, signature;
};

/* ---- entries */

static str entry_scope(const struct entry *e)
{
    return str_from(e->bytes, e->scope_len);
}

static str entry_call_id(const struct entry *e)
{
    return str_from(e->bytes + e->scope_len, e->call_id_len);
}

static str entry_text(const struct entry *e)
{
    return str_from(e->bytes + e->scope_len + e->call_id_len, e->text_len);
}

static size_t entry_size(size_t scope_len, size_t call_id_len, size_t text_len)
{
    return sizeof(struct entry) + scope_len + call_id_len + text_len;
}

static char *append(char *to, str s)
{
    if (s.len > 0)
        memcpy(to, s.p, s.len);
    return to + s.len;
}

/* A cache has no claim to what is left for work that has begun. */
static struct entry *entry_alloc(size_t size)
{
    enum budget_use before = budget_use_for(BUDGET_NEW_WORK);
    bool has_room = budget_take(size);
    struct entry *e = has_room ? malloc(size) : NULL;

    (void)budget_use_for(before);
    if (has_room && e == NULL)
        budget_give(size);
    return e;
}

static void entry_free(struct entry *e)
{
    budget_give(entry_size(e->scope_len, e->call_id_len, e->text_len));
    free(e);
}

static struct entry *entry_new(const struct probe *p, str text)
{
    struct entry *e = entry_alloc(entry_size(p->scope.len, p->call_id.len, text.len));

    if (e == NULL)
        return NULL;
    *e = (struct entry){
        .hash = p->hash,
        .signature = p->signature,
        .scope_len = p->scope.len,
        .call_id_len = p->call_id.len,
        .text_len = text.len,
    };
    (void)append(append(append(e->bytes, p->scope), p->call_id), text);
    return e;
}

/* ---- finding */

/* The probe's texts are in the arena or where key's are. False when out of memory. Ids that an
 * upstream counts are those of many calls: name and arguments spread them over the buckets. */
static bool probe_init(struct probe *p, const struct call_cache *cache, const struct call_key *key,
                       struct arena *a)
{
    str arguments = json_text_dup(a, key->arguments);

    p->scope = key->scope;
    p->call_id = json_text_dup(a, key->call_id);
    if (str_is_none(p->call_id) || str_is_none(arguments))
        return false;
    p->signature = str_map_hash(str_map_hash(cache->seeds[1], key->name), arguments);
    p->hash = str_map_hash(str_map_hash(cache->seeds[0] ^ p->signature, p->scope), p->call_id);
    return true;
}

static bool matches(const struct entry *e, const struct probe *p)
{
    return e->hash == p->hash && e->signature == p->signature && str_eq(entry_scope(e), p->scope) &&
           str_eq(entry_call_id(e), p->call_id);
}

/* The upper bits are mixed best. */
static size_t bucket_of(const struct call_cache *cache, uint64_t hash)
{
    return hash >> 32 & cache->mask;
}

static struct entry *find_entry(const struct call_cache *cache, const struct probe *p)
{
    struct entry *e = cache->buckets[bucket_of(cache, p->hash)];

    while (e != NULL && !matches(e, p))
        e = e->next;
    return e;
}

bool call_cache_find(const struct call_cache *cache, const struct call_key *key, struct arena *a,
                     str *ret)
{
    const struct entry *e;
    struct probe p;
    str text;

    if (!probe_init(&p, cache, key, a))
        return false;
    e = find_entry(cache, &p);
    text = e == NULL ? STR_NONE : arena_dup(a, entry_text(e));
    if (!str_is_none(text))
        *ret = text;
    return !str_is_none(text);
}

/* ---- changing */

static void drop_entry(struct call_cache *cache, struct entry *e)
{
    struct entry **place = &cache->buckets[bucket_of(cache, e->hash)];

    while (*place != e)
        place = &(*place)->next;
    *place = e->next;
    if (cache->oldest == e)
        cache->oldest = e->newer;
    else
        e->older->newer = e->newer;
    if (cache->newest == e)
        cache->newest = e->older;
    else
        e->newer->older = e->older;
    cache->n_entries--;
    cache->n_bytes -= entry_size(e->scope_len, e->call_id_len, e->text_len);
    entry_free(e);
}

static void add_entry(struct call_cache *cache, struct entry *e, size_t size)
{
    struct entry **bucket = &cache->buckets[bucket_of(cache, e->hash)];

    e->next = *bucket;
    *bucket = e;
    e->older = cache->newest;
    if (e->older == NULL)
        cache->oldest = e;
    else
        e->older->newer = e;
    cache->newest = e;
    cache->n_entries++;
    cache->n_bytes += size;
}

static void put_entry(struct call_cache *cache, const struct probe *p, str text)
{
    size_t size = entry_size(p->scope.len, p->call_id.len, text.len);
    struct entry *e = find_entry(cache, p);

    if (e != NULL)
        drop_entry(cache, e);
    if (text.len == 0 || size > cache->max_bytes || cache->max_entries == 0)
        return;
    while (cache->n_entries >= cache->max_entries || cache->n_bytes > cache->max_bytes - size)
        drop_entry(cache, cache->oldest);
    e = entry_new(p, text);
    if (e != NULL)
        add_entry(cache, e, size);
}

void call_cache_put(struct call_cache *cache, const struct call_key *key, str text)
{
    struct arena scratch = {0};
    struct probe p;

    if (probe_init(&p, cache, key, &scratch))
        put_entry(cache, &p, text);
    arena_fini(&scratch);
}

void call_cache_clear(struct call_cache *cache)
{
    while (cache->oldest != NULL)
        drop_entry(cache, cache->oldest);
}

bool call_cache_is_empty(const struct call_cache *cache)
{
    return cache->n_entries == 0;
}

size_t call_cache_max_bytes(const struct call_cache *cache)
{
    return cache->max_bytes;
}

size_t call_cache_bytes(const struct call_cache *cache)
{
    return cache->n_bytes;
}

/* ---- life */

struct call_cache *call_cache_new(size_t max_entries, size_t max_bytes,
                                  const struct id_source *randomness)
{
    struct call_cache *cache;
    size_t n_buckets = 1;

    while (n_buckets < max_entries && n_buckets < MAX_BUCKETS)
        n_buckets *= 2;
    cache = calloc(1, sizeof(*cache) + n_buckets * sizeof(struct entry *));
    if (cache == NULL)
        return NULL;
    cache->max_entries = max_entries;
    cache->max_bytes = max_bytes;
    cache->mask = n_buckets - 1;
    randomness->fill(randomness->arg, cache->seeds, sizeof(cache->seeds));
    return cache;
}

void call_cache_free(struct call_cache *cache)
{
    if (cache == NULL)
        return;
    call_cache_clear(cache);
    free(cache);
}
