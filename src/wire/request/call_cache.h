/* call_cache.h -- what came before a call, by the call (CONTRACT 2.4, 2.5 rule 8).
 *
 * Many clients send a call back without the reasoning that led to it, and some
 * models answer badly then. The cache remembers the reasoning by the call: by
 * whom it was for, its id, name and arguments. Upstreams that count their calls
 * from zero use one id in many chats, so the id alone is not enough. Another
 * cache remembers what the gateway itself had run before (call_rounds.h).
 *
 * Bounded in entries and bytes: the oldest make room, and what is put again is
 * as new as anything else. It may forget at any time, so nothing in it fails.
 *
 * One thread at a time; the caller locks. */
#ifndef ANTIPHON_WIRE_REQUEST_CALL_CACHE_H
#define ANTIPHON_WIRE_REQUEST_CALL_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/id.h"
#include "base/str.h"

struct call_cache;

/* Texts are compared by their characters, however they are escaped, arguments
 * without regard to what their JSON means. */
struct call_key {
    str scope;              /* whose call it is; any bytes */
    str call_id, arguments; /* escaped */
    str name;               /* plain, as the upstream knows it */
};

bool call_cache_is_empty(const struct call_cache *cache);

/* The max_bytes it was made with, and what is taken of them. */
size_t call_cache_max_bytes(const struct call_cache *cache);
size_t call_cache_bytes(const struct call_cache *cache);

/* max_bytes counts keys, texts and what holds them. randomness seeds the hash.
 * NULL when out of memory. */
struct call_cache *call_cache_new(size_t max_entries, size_t max_bytes,
                                  const struct id_source *randomness);
void call_cache_free(struct call_cache *cache);

/* Forgets everything. */
void call_cache_clear(struct call_cache *cache);

/* text is copied; an empty one is not kept. */
void call_cache_put(struct call_cache *cache, const struct call_key *key, str text);

/* *ret: a copy in the arena. */
bool call_cache_find(const struct call_cache *cache, const struct call_key *key, struct arena *a,
                     str *ret);

#endif
