/* life.h -- how it stands with the gateway as a whole, and what any worker may ask of it
 * (OPERATIONS 7).
 *
 * The daemon owns one, which outlives the workers. Where there is none, as in tests, the gateway serves
 * and nothing can be asked of it. */
#ifndef ANTIPHON_FLIGHT_LIFE_H
#define ANTIPHON_FLIGHT_LIFE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "ev/loop.h"

struct life;

enum life_phase {
    LIFE_STARTING, /* not all loops have turned yet */
    LIFE_SERVING,
    LIFE_DRAINING, /* for good or for a while, from the beginning of drain_delay on */
};

/* What a part of the configuration has come to that was read again. */
struct life_result {
    const char *part; /* constant */
    bool is_good;
};

enum { LIFE_PARTS = 8 };

/* POST /admin/reload: who asks keeps it until done has been run, on its loop. */
struct life_reload {
    struct loop *loop;
    struct loop_message done;
    struct life_result results[LIFE_PARTS];
    size_t n_results; /* 0: the gateway ends, or has nothing that can be read again */
    void *of;         /* the daemon's own, like what follows */
    struct loop_message ask;
    struct life_reload *next;
};

struct life_ops {
    void (*drain)(void *arg);
    void (*take_back)(void *arg);
    void (*reload)(void *arg, struct life_reload *reload);
};

struct life {
    _Atomic enum life_phase phase;
    atomic_size_t n_flights;                   /* of all workers */
    atomic_size_t n_reloads, n_failed_reloads; /* the latter: in which a part stayed as it was */
    const struct life_ops *ops;
    void *arg;
};

/* NULL is fine for the life. Any thread. */
static inline enum life_phase life_phase(const struct life *l)
{
    return l == NULL ? LIFE_SERVING : atomic_load(&l->phase);
}

static inline void life_count_flight(struct life *l)
{
    if (l != NULL)
        (void)atomic_fetch_add_explicit(&l->n_flights, 1, memory_order_relaxed);
}

static inline void life_forget_flight(struct life *l)
{
    if (l != NULL)
        (void)atomic_fetch_sub_explicit(&l->n_flights, 1, memory_order_relaxed);
}

/* POST /admin/drain: the gateway drains as after SIGTERM, but stays, and its admin listeners with it.
 * DELETE /admin/drain: it serves again. Both at once; the log says what came of it. Any thread, while
 * its loop runs. */
static inline void life_drain(const struct life *l)
{
    l->ops->drain(l->arg);
}

static inline void life_take_back(const struct life *l)
{
    l->ops->take_back(l->arg);
}

/* As SIGHUP. reload->done is posted to reload->loop when every part has its result, and all workers go by
 * it. Any thread, while its loop runs. */
static inline void life_reload(const struct life *l, struct life_reload *reload)
{
    l->ops->reload(l->arg, reload);
}

#endif
