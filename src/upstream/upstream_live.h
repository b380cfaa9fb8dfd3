/* upstream_live.h -- what changes of an upstream while the gateway runs, shared by all workers.
 *
 * Its configuration is an entry of a table (upstream_table.h), which is exchanged for another when files are
 * read again; what is known of the server, and how it does, goes on from one table to the next. Never freed
 * before the pool is. */
#ifndef ANTIPHON_UPSTREAM_UPSTREAM_LIVE_H
#define ANTIPHON_UPSTREAM_UPSTREAM_LIVE_H

#include "base/arena.h"
#include "ev/loop.h"
#include "upstream/upstream_health.h"

struct token_memory;
struct upstream_check_up;
struct upstream_entry;
struct upstream_pool;
struct upstream_slot;
struct upstream_watch;

struct upstream_live {
    struct upstream_watch *watch; /* what it is; NULL: the demo, which is known */
    struct token_memory *counts;  /* how it counts tokens; NULL: they are not counted */

    /* The rest is the pool's (upstream_pool_internal.h), and under its lock. */
    struct upstream_pool *pool;
    struct upstream_live *next; /* the newest first */
    struct arena memory;
    str name, base;                     /* in memory */
    const struct upstream_entry *entry; /* of the newest table; NULL: it is in none any more */
    uint16_t number;                    /* by which affinity knows it */
    struct upstream_health_record health;
    struct upstream_check_up *check_up; /* NULL: it is not checked */
    struct loop_message wanted;         /* it is to be checked now; outlives the check */
    unsigned in_flight;
    unsigned n_slots;            /* that the server has said to have; 0: it has not */
    uint64_t n_served;           /* attempts that have been begun */
    struct upstream_slot *slots; /* those that sessions have been given; or NULL */
    unsigned n_known_slots;      /* of that array */
    unsigned n_pinned;           /* attempts under way whose slot is known */
};

#endif
