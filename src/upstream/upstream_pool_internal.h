/* upstream_pool_internal.h -- the pool, for the files that it is made of:
 *
 *     upstream_pool.c         which upstreams there are, from table to table; what is shown of them
 *     upstream_pool_ticket.c  what is asked of it: tickets that come, look, end, leave
 *     upstream_pool_place.c   a place: who may have it, granted, given back
 *     upstream_pool_wait.c    who waits, for a place or for a time
 *     upstream_pool_hint.c    what servers are told of sessions
 *     upstream_pool_clock.c   what time it is
 *     upstream_check_up.c     health checks */
#ifndef ANTIPHON_UPSTREAM_UPSTREAM_POOL_INTERNAL_H
#define ANTIPHON_UPSTREAM_UPSTREAM_POOL_INTERNAL_H

#include "config/config.h"
#include "upstream/upstream_live.h"
#include "upstream/upstream_pool.h"

/* The candidates of a name or glob of the table: their requests wait in one queue. Kept for good, since the
 * configuration names them. */
struct upstream_group {
    struct upstream_group *next;
    str name; /* in the pool's memory */
    struct fair_queue queue;
    struct routing_turn *turns; /* by the number of the upstream */
    size_t n_turns;
    uint64_t timeout_ms; /* of those that come */
    unsigned n_at_once;  /* the sum of limits of those that were asked for last */
};

struct upstream_pool {
    struct loop *loop;
    uint64_t key; /* of hashes */

    uv_mutex_t
        lock; /* guards what follows, and the live upstreams; only posting and logging is done while it
                      * is held */
    struct arena memory;
    struct upstream_table *table;
    const struct config *config;
    struct upstream_live *lives;
    struct upstream_group *groups;
    struct upstream_ticket *waiting; /* for a place or a time */
    struct affinity *affinity;       /* NULL: there is no choice to make */
    struct session_names *names;     /* NULL: nobody has wanted one yet */
    double affinity_min;
    bool shares_affinity;
    size_t n_rounds, n_retrying; /* that have a place */
    size_t n_waiting;
    size_t waiting_bytes;
    uint16_t n_numbers; /* of upstreams, ever */

    /* Times: of the main thread's loop, but for when it is to be looked again. */
    struct loop_timer *timer;
    struct loop_message due;
    uint64_t due_ms; /* 0: never */

    struct routing_candidate scratch[UPSTREAM_TABLE_MAX]; /* of the choice at hand */
};

/* upstream_pool_clock.c: a steady clock. Read with the lock held wherever the time is noted or compared: then nothing
 * that was noted is ahead of now. */
uint64_t upstream_pool_now_ms(void);

/* ---- of a ticket */

static inline const struct upstream_entry *upstream_want_entry(const struct upstream_want *want,
                                                               size_t candidate)
{
    return &want->table->entries[want->route->candidates[candidate].entry];
}

static inline struct upstream_live *upstream_want_live(const struct upstream_want *want,
                                                       size_t candidate)
{
    return upstream_want_entry(want, candidate)->live;
}

static inline bool upstream_ticket_has_tried(const struct upstream_ticket *t, size_t candidate)
{
    return t->tried != NULL && t->tried[candidate] != 0;
}

/* For backoff and ejections, which must not come at the same time. */
uint32_t upstream_pool_chance(void);

/* ---- with the lock held */

struct upstream_health_conf upstream_pool_health_conf(const struct upstream_pool *p,
                                                      const struct upstream_live *l);

/* The most attempts at once; 0: no limit. */
unsigned upstream_live_limit(const struct upstream_live *l, const struct upstream_entry *u);

/* Something has changed of an upstream: it is logged and counted, and what it had cached forgotten. */
void upstream_pool_news(struct upstream_pool *p, struct upstream_live *l,
                        const struct upstream_health_news *news);

/* Grants a place if there is one. Returns false when there is none, with *ret filled: it waits, for a time as
 * well when until_ms is not 0; or it cannot be served. */
struct upstream_no_place {
    bool is_refused; /* nobody may be asked */
    uint64_t until_ms;
};
bool upstream_pool_try(struct upstream_pool *p, struct upstream_ticket *t, uint64_t now_ms,
                       struct upstream_no_place *ret);

/* The attempt of a ticket has ended as that; its place is free. */
void upstream_pool_give_back(struct upstream_pool *p, struct upstream_ticket *t,
                             enum upstream_outcome outcome, uint64_t now_ms);

struct upstream_group *upstream_pool_group(struct upstream_pool *p,
                                           const struct upstream_want *want);

/* A ticket begins to wait, in the queue of its group, or is refused; or waits for a time alone. */
void upstream_pool_enqueue(struct upstream_pool *p, struct upstream_ticket *t, uint64_t now_ms);
void upstream_pool_wait_until(struct upstream_pool *p, struct upstream_ticket *t,
                              uint64_t until_ms);
void upstream_pool_refuse(struct upstream_ticket *t, enum upstream_why why);

/* A ticket does not wait any more. */
void upstream_pool_unwait(struct upstream_pool *p, struct upstream_ticket *t);

/* Places may have become free: those who wait get them. */
void upstream_pool_pump(struct upstream_pool *p, uint64_t now_ms);

/* The main thread looks again at that time, or before. */
void upstream_pool_look_at(struct upstream_pool *p, uint64_t at_ms);

/* On the main thread, without the lock: the timer. */
void upstream_pool_on_time(void *arg);

/* ---- upstream_pool_hint.c */

/* Does the server have to say how many slots it has? */
bool upstream_entry_asks_slots(const struct upstream_entry *u);

/* The hash of a session by what names it, 0 for "". Without the lock. */
uint64_t upstream_pool_session(const struct upstream_pool *p, const struct upstream_want *want,
                               str text);

/* Without the lock: which session the request goes on with, where a candidate is to be told. */
void upstream_pool_read_session(const struct upstream_pool *p, struct upstream_ticket *t);

/* With the lock: the ticket has a place, which is not counted yet; it gives it back; what the server had cached is
 * lost. */
void upstream_pool_take_hint(struct upstream_pool *p, struct upstream_ticket *t,
                             struct upstream_live *l, uint64_t now_ms);
void upstream_pool_end_hint(struct upstream_ticket *t, struct upstream_live *l);
void upstream_live_forget_slots(struct upstream_live *l);

/* ---- upstream_check_up.c: main thread */

/* Checks an upstream from now on, as its entry says. NULL with *reterr filled. */
struct upstream_check_up *upstream_check_up_new(struct upstream_live *l,
                                                const struct upstream_entry *u, struct err *reterr);
void upstream_check_up_free(struct upstream_check_up *c);

/* Does it look as this entry says? */
bool upstream_check_up_fits(const struct upstream_check_up *c, const struct upstream_entry *u);
bool upstream_check_up_is_resolving(const struct upstream_check_up *c);

/* From any thread: looks now, if it is checked at all. Has upstream_check_up_now() called on the main thread, with
 * the upstream. */
void upstream_check_up_want(struct upstream_live *l);
void upstream_check_up_now(void *arg);

#endif
