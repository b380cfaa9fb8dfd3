/* reasoning_memory.h -- the reasoning cache that all workers share (CONTRACT 2.4). */
#ifndef ANTIPHON_GATEWAY_REASONING_MEMORY_H
#define ANTIPHON_GATEWAY_REASONING_MEMORY_H

#include "response/response.h"
#include "wire/reasoning_cache.h"

struct reasoning_memory;

/* NULL with *reterr filled. max_entries 0: it remembers nothing. */
struct reasoning_memory *reasoning_memory_new(size_t max_entries, size_t max_bytes,
                                              struct err *reterr);

/* NULL is fine. */
void reasoning_memory_free(struct reasoning_memory *m);

/* Remembers what led to the calls of a response that has ended (response_memory.h). Any
 * thread. */
void reasoning_memory_keep(struct reasoning_memory *m, str scope, const struct response *r);

/* *ret: a copy in the arena, escaped. Any thread. */
bool reasoning_memory_find(struct reasoning_memory *m, const struct reasoning_key *key,
                           struct arena *a, str *ret);

#endif
