/* cut_memory.h -- where conversations that were too long have been cut (CONTRACT 1.1,
 * `truncation`).
 *
 * The next request of such a conversation brings all of it again, and a little more. Cut at the
 * same place, it begins with what the upstream has computed already; and the upstream need not
 * refuse it first. Shared by all workers. What is forgotten costs one refusal. */
#ifndef ANTIPHON_MEMORY_CUT_MEMORY_H
#define ANTIPHON_MEMORY_CUT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct cut_memory;

/* Whose conversation it is, with which model, and what was left out of it (conv/trim.h). */
struct cut {
    str owner, model;
    uint64_t mark;
};

/* Makes a memory, or returns NULL with *reterr filled. */
struct cut_memory *cut_memory_new(size_t max_entries, struct err *reterr);

/* NULL is fine. */
void cut_memory_free(struct cut_memory *m);

/* Keep a cut, and tell whether it was kept; any thread. A cut is known for an hour, unless it is
 * kept again: by then the window may be another. Of cuts that share a place the oldest makes room.
 */
void cut_memory_keep(struct cut_memory *m, const struct cut *c);
bool cut_memory_has(struct cut_memory *m, const struct cut *c);

#endif
