/* metrics.h -- counting (OPERATIONS 1): each thread in cells of its own, which a scrape adds up.
 *
 * A cell is a word that one thread writes and a scrape reads, so that counting is an addition without a
 * lock. Where all labels of a family are closed lists, its cells are found by an index; else a series is
 * looked for by its labels, once, and its cells are kept: they live until the end.
 *
 *     metrics_count(METRIC_LOG_LINES, METRIC_LOG_LEVEL_WARN);
 *
 *     metric_cell *tokens = metrics_of(METRIC_TOKENS, &labels);    when the turn begins, and then
 *     metrics_add(tokens, n);
 *
 * A gauge of what is running is counted up and down, on whichever thread; the sum is right. Before
 * metrics_open(), and without it, there are no cells: NULL, on which all of this does nothing.
 *
 * The cells of a thread are made when it counts first, and stay when it has ended. */
#ifndef ANTIPHON_METRICS_METRICS_H
#define ANTIPHON_METRICS_METRICS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "metrics/metric_table.h"
#include "metrics/metric_word.h"

typedef _Atomic(uint64_t) metric_cell;

/* The registers of one thread; metrics.c's own but for what is inlined here. */
struct metrics_thread {
    struct metrics_thread *next;
    struct metrics_found *found;                  /* the series by their labels; the thread's own */
    _Atomic(struct metric_series *) all[METRICS]; /* the newest first, for scrapes */
    metric_cell closed[];                         /* of families whose labels are closed */
};

extern bool metrics_are_on; /* changes only while there is one thread */
extern _Thread_local struct metrics_thread *metrics_own;
extern uint16_t metrics_first[METRICS], metrics_width[METRICS]; /* in closed[] */

struct metrics_conf {
    unsigned max_models;
    uint64_t seed; /* random */
};

/* Begins to count; once, before there are other threads. False when out of memory. */
bool metrics_open(const struct metrics_conf *conf);

/* Forgets everything; when the other threads have ended. */
void metrics_close(void);

/* The registers of this thread, which are made; NULL when that cannot be. */
struct metrics_thread *metrics_begin_thread(void);

/* The first cell of a series whose labels are all closed, by the index of its labels, the last counting
 * fastest. */
static inline metric_cell *metrics_at(enum metric m, unsigned index)
{
    struct metrics_thread *own;

    if (!metrics_are_on)
        return NULL;
    own = metrics_own;
    if (own == NULL && (own = metrics_begin_thread()) == NULL)
        return NULL;
    return &own->closed[metrics_first[m] + index * metrics_width[m]];
}

/* The first cell of any other series. */
metric_cell *metrics_of(enum metric m, const struct metric_labels *labels);

static inline void metrics_add(metric_cell *cell, uint64_t n)
{
    if (cell != NULL)
        atomic_store_explicit(cell, atomic_load_explicit(cell, memory_order_relaxed) + n,
                              memory_order_relaxed);
}

/* A gauge that is set belongs to one thread. */
static inline void metrics_set(metric_cell *cell, uint64_t n)
{
    if (cell != NULL)
        atomic_store_explicit(cell, n, memory_order_relaxed);
}

static inline void metrics_count(enum metric m, unsigned index)
{
    metrics_add(metrics_at(m, index), 1);
}

/* Gauges; n may be below 0. */
static inline void metrics_move(enum metric m, unsigned index, int n)
{
    metrics_add(metrics_at(m, index), (uint64_t)(int64_t)n);
}

/* A value of a histogram, in what its bounds are in; cells are those of the series. */
void metrics_observe(enum metric m, metric_cell *cells, uint64_t value);

/* n values at once that are all in the bucket of this one, and come to this sum; and where that bucket is:
 * its least value, and the first behind it, UINT64_MAX for the last bucket. */
void metrics_observe_some(enum metric m, metric_cell *cells, uint64_t value, uint64_t n,
                          uint64_t sum);
struct metric_range {
    uint64_t least, end;
};
struct metric_range metric_bucket(enum metric m, uint64_t value);

/* metrics_observe() of one that is seen in a trace (METRIC_TRACED). */
struct metric_trace {
    uint64_t high, low; /* of its id; both 0: none */
};
void metrics_observe_traced(enum metric m, metric_cell *cells, uint64_t value,
                            struct metric_trace trace);

/* ---- for scrapes (metrics_page.c) */

/* The last value that a bucket has seen in a trace. */
struct metric_exemplar {
    struct metric_trace trace;
    uint64_t value;
};

struct metric_series {
    struct metric_series *next;
    struct metric_labels labels;
    _Atomic(struct metric_exemplars *) exemplars; /* NULL: none */
    metric_cell cells[];
};

/* Of all threads, by next. */
struct metrics_thread *metrics_threads(void);

/* False: none. */
bool metric_series_exemplar(const struct metric_series *series, unsigned bucket,
                            struct metric_exemplar *ret);

#endif
