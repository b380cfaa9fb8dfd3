/* store_removed.h -- what limits have removed, for the log. Internal to the store.
 *
 * A store at its limit removes something with all that is added, so there is a line
 * a minute and reason at most, with what came together since the last. */
#ifndef ANTIPHON_STORE_STORE_REMOVED_H
#define ANTIPHON_STORE_STORE_REMOVED_H

#include "store/store.h"

struct store_removed {
    struct store_purged unlogged;
    uint64_t logged_at_ms; /* of the monotonic clock; 0: never */
};

void removed_add(struct store_removed *r, const struct store_purged *purged);

/* Write the lines: the first when it is time to, the second at the end. */
void removed_log_when_due(struct store_removed *r);
void removed_log(struct store_removed *r);

#endif
