/* store_time.h -- the time of a store: how old what is in it is. Internal to the store.
 *
 * Age decides what is removed, so it must not be read off a wall clock, which may
 * be wrong, jump, or differ between two gateways. The store has a time of its own
 * instead. It goes on by as much as was *measured* while a gateway used the store,
 * and by nothing else:
 *
 *     a store is made, or migrated     it begins, at what the wall clock says then;
 *                                      from then on that clock does not matter
 *     a gateway runs                   by what /proc/uptime has gone on since it last
 *                                      looked: that counts sleep, of which a day
 *                                      counts at most, and nobody can set it
 *     no gateway runs                  not at all: only a wall clock could tell
 *     several gateways                 each goes on by itself and takes the largest
 *                                      that one of them has written down
 *
 * So it is never faster than real time, whatever wall clocks do; what was used less
 * than store_max_age ago is never too old, and a store that was away for 40 days has
 * what was young enough when it was last used, and ages from there. It cannot be
 * poisoned: no wall clock is written into it but on request (store_trust_clock), and
 * it never goes back, so the order of uses is the order in which they happened.
 *
 * It is written down every ten minutes (PostgreSQL: ten seconds, for others may join)
 * and at the end. After a sudden end it begins with the newest use, if that is later,
 * but no more than an hour: uses of earlier versions are times of wall clocks. */
#ifndef ANTIPHON_STORE_STORE_TIME_H
#define ANTIPHON_STORE_STORE_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"

struct store_session;

/* Shared by the sessions of a store. */
struct store_time {
    uv_mutex_t mutex;         /* guards the rest; nothing else is taken while it is held */
    int64_t time_ms;          /* of the store, when last looked; 0: never */
    uint64_t uptime_ms;       /* of the machine then */
    uint64_t looked_at_ms;    /* the monotonic clock then */
    int64_t last_ms;          /* the largest that was ever given */
    int64_t written_ms;       /* what the table had, or has been given; 0: nothing by us */
    int64_t wall_less_uptime; /* to notice that the wall clock has jumped */
    uint64_t warned_at_ms;    /* when a jump was logged; 0: never */
};

int store_time_init(struct store_time *t); /* -1 when out of memory */
void store_time_fini(struct store_time *t);

/* The store's time now, in ms; any thread. Between two looks it follows the monotonic clock, for a
 * minute at most. */
int64_t store_time_ms(struct store_time *t);

/* Look at the table and go on; store_time_keep() writes as well when that is due, a command only
 * reads. */
int store_time_read(struct store_session *s, struct err *reterr);
int store_time_keep(struct store_session *s, struct err *reterr);

/* Writes the time down as well as can be. */
void store_time_end(struct store_session *s);

/* Logs when the wall clock differs from the store's time by a day or more. */
void store_time_compare(struct store_time *t);

#endif
