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
    bool is_logged;   /* the failure under way */
    uint64_t logged_at_ms, n_unlogged;
};

int health_init(struct store_health *h); /* -1 when out of memory */
void health_fini(struct store_health *h);

/* A failure; only ERR_STORE is the store's own. */
void health_bad(struct store_health *h, const struct err *failure);

/* Something was written. That something was read would tell little: a full disk
 * can be read. */
void health_good(struct store_health *h);

#endif
