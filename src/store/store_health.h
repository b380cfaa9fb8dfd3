/* store_health.h -- tells the log when the store stops working, and when it works
 * again. Internal to the store. Any thread. */
#ifndef ANTIPHON_STORE_STORE_HEALTH_H
#define ANTIPHON_STORE_STORE_HEALTH_H

#include <stdatomic.h>
#include <uv.h>

#include "base/err.h"

struct store_health {
    atomic_bool is_bad;
    uv_mutex_t mutex; /* guards the rest; the log may be written while it is held */
    uint64_t logged_at_ms, n_unlogged;
};

int health_init(struct store_health *h); /* -1 when out of memory */
void health_fini(struct store_health *h);

/* How something went; NULL: well.
 * Only ERR_STORE is the store's own failure. */
void health_note(struct store_health *h, const struct err *failure);

#endif
