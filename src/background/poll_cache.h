/* poll_cache.h -- what clients who ask again and again for a response under way are shown (CONTRACT 4.8).
 *
 * The object of a response that runs does not change before it ends, so it is read from the store once a
 * second at most, however many ask. Whoever ends a response here drops it, so that nobody sees it run
 * who has seen it ended; what another gateway has ended may be shown for that second.
 *
 * A table for the process, of a fixed number of places. Any thread. */
#ifndef ANTIPHON_BACKGROUND_POLL_CACHE_H
#define ANTIPHON_BACKGROUND_POLL_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct poll_cache;

/* NULL when out of memory. */
struct poll_cache *poll_cache_new(void);
void poll_cache_free(struct poll_cache *c); /* NULL is fine */

/* What an answer is kept with. */
struct poll_ticket {
    uint64_t generation;
};

/* Appends the object as it was read within the last second, and tells when the response was created. One
 * that is a little older is given as long as somebody else is reading it anew. False: the caller reads
 * it, and keeps what it has read under the ticket. Times are of one clock that goes on evenly. */
bool poll_cache_find(struct poll_cache *c, str owner, str id, uint64_t now_ms, struct buf *out,
                     int64_t *ret_created_at, struct poll_ticket *ret_ticket);

/* Keeps an object that was read after the ticket was given, unless something was dropped since then, or
 * it is large. */
void poll_cache_keep(struct poll_cache *c, str owner, str id, struct poll_ticket ticket,
                     uint64_t now_ms, int64_t created_at, str object);

/* The bytes of what is kept at this moment. Any thread, without a lock. */
size_t poll_cache_bytes(const struct poll_cache *c);

/* The response has ended, or is gone. */
void poll_cache_drop(struct poll_cache *c, str owner, str id);

#endif
