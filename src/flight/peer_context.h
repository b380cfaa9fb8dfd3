/* peer_context.h -- what a response that is stored nowhere leaves to the next, in memory (CONTRACT 6.3).
 *
 * A context is the whole way to a response: the items of its request and its output, behind those of
 * what it continued. It never changes, and is shared by counted references: a response that continues
 * another adds its own items to the same ones, so that a chain costs what its turns cost, and forks
 * share what they have in common. The end of the response's object is kept with it, since the next
 * request may inherit tools from there; of those before, that is forgotten.
 *
 * Who keeps contexts counts them in an account: each byte once, however many contexts share it, until
 * the last of them is gone. References and accounts are the loop's; what a context holds may be read
 * on any thread. */
#ifndef ANTIPHON_FLIGHT_PEER_CONTEXT_H
#define ANTIPHON_FLIGHT_PEER_CONTEXT_H

#include "base/arena.h"
#include "base/buf.h"
#include "store/store.h"

struct peer_account;
struct peer_context;

/* Makes the context of a response: items, behind those of before (or NULL), and the tail. Takes the arena
 * that all of items are in, and the tail, which are empty afterwards. NULL when out of memory: nothing is
 * taken then. The result is the caller's reference. */
struct peer_context *peer_context_new(struct peer_context *before, const struct store_items *items,
                                      struct arena *memory, struct buf *tail);

struct peer_context *peer_context_ref(struct peer_context *c);
void peer_context_unref(struct peer_context *c); /* NULL is fine */

/* What stands before the items of a request that continues it: the list is made in the arena, its texts
 * are the context's. Returns 0, or -1 when out of memory. */
int peer_context_history(const struct peer_context *c, struct arena *a, struct store_history *ret,
                         struct err *reterr);

/* All that stands before it is counted as well. */
size_t peer_context_items(const struct peer_context *c);
size_t peer_context_bytes(const struct peer_context *c);

/* ---- how much somebody keeps */

/* NULL when out of memory. */
struct peer_account *peer_account_new(void);

/* No more contexts are added; the account goes with the last one that is in it. NULL is fine. */
void peer_account_close(struct peer_account *a);

/* Adds what of a context is in no account yet, unless that would be more than max_bytes in all. Returns
 * whether it did. */
bool peer_account_add(struct peer_account *a, struct peer_context *c, size_t max_bytes);

size_t peer_account_bytes(const struct peer_account *a);

#endif
