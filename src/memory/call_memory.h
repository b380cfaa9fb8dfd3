/* call_memory.h -- a cache of what came before calls that all workers share: of reasoning, and of
 * rounds (CONTRACT 2.4, 2.5 rule 8). */
#ifndef ANTIPHON_MEMORY_CALL_MEMORY_H
#define ANTIPHON_MEMORY_CALL_MEMORY_H

#include "base/err.h"
#include "wire/request/call_cache.h"

struct call_memory;

/* Makes a memory, or returns NULL with *reterr filled. max_entries 0: it remembers nothing. */
struct call_memory *call_memory_new(size_t max_entries, size_t max_bytes, struct err *reterr);

/* NULL is fine. */
void call_memory_free(struct call_memory *m);

/* Lets put change the cache: nobody else sees it meanwhile. Any thread. */
void call_memory_put(struct call_memory *m, void (*put)(void *arg, struct call_cache *cache),
                     void *arg);

/* Forgets everything: its memory is needed. Any thread. */
void call_memory_forget(struct call_memory *m);

/* True when there is nothing to be found. Any thread. */
bool call_memory_is_empty(struct call_memory *m);

/* The bytes that are kept at this moment; NULL is fine. Any thread, without a lock. */
size_t call_memory_bytes(const struct call_memory *m);

/* Finds what is kept for a key; *ret is a copy in the arena. Any thread. */
bool call_memory_find(struct call_memory *m, const struct call_key *key, struct arena *a, str *ret);

#endif
