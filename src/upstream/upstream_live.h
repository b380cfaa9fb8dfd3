/* upstream_live.h -- what changes of an upstream while the gateway runs, shared by all workers.
 *
 * Its configuration is an entry of a table (upstream_table.h), which is exchanged for another when files are
 * read again; what is known of the server, and how it does, goes on from one table to the next. Never freed
 * while anything runs. */
#ifndef ANTIPHON_UPSTREAM_UPSTREAM_LIVE_H
#define ANTIPHON_UPSTREAM_UPSTREAM_LIVE_H

#include "base/str.h"

struct token_memory;
struct upstream_watch;

struct upstream_live {
    struct upstream_watch *watch; /* what it is; NULL: the demo, which is known */
    struct token_memory *counts;  /* how it counts tokens; NULL: they are not counted */
};

#endif
