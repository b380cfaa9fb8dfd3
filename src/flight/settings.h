/* settings.h -- the configuration as it was read again, and what is made of it.
 *
 * One never changes. A worker exchanges its own for a new one between two turns of its loop; the one before
 * stays until nothing that has begun under it is left (worker_take_settings()). */
#ifndef ANTIPHON_FLIGHT_SETTINGS_H
#define ANTIPHON_FLIGHT_SETTINGS_H

#include <stdatomic.h>

#include "config/config.h"
#include "http/origin_check.h"
#include "http/trusted_proxies.h"
#include "upstream/upstream_table.h"

struct settings {
    atomic_uint n_references;
    struct config config; /* texts of keys that are not read again are those of the start */
    struct arena memory;
    struct origin_policy origins;
    struct trusted_proxies trusted;
    struct upstream_table *upstreams; /* a reference */
};

/* A zeroed one with one reference; NULL when out of memory. Any thread. */
struct settings *settings_new(void);
struct settings *settings_ref(struct settings *s);
void settings_unref(struct settings *s); /* NULL is fine */

#endif
