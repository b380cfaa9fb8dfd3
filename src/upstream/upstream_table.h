/* upstream_table.h -- the upstreams as they are configured.
 *
 * A table never changes, and may be read by any thread; one that was read again takes its place. */
#ifndef ANTIPHON_UPSTREAM_UPSTREAM_TABLE_H
#define ANTIPHON_UPSTREAM_UPSTREAM_TABLE_H

#include "config/config.h"

struct upstream_live;

struct upstream_entry {
    str name;               /* as logs and metrics have it: `default`, `demo` */
    str base;               /* of its URLs, without a slash at the end */
    str authorization;      /* value of the header that it is sent; STR_NONE: none of ours */
    bool passes_client_key; /* then the client's own is passed on, unless that is for the gateway */
    const struct config *config; /* what holds for it */
    struct upstream_live *live;
};

struct upstream_table {
    struct upstream_entry *v;
    size_t n; /* at least one */
};

#endif
