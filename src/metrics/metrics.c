/* metrics.c -- the registers of threads: who writes them, and how a scrape sees them.
 *
 * The list of threads, and a thread's list of series, only grow at their heads. What is put there is
 * complete before (release, acquire), so a scrape goes through without a lock, and sees a series now or
 * the next time. */
#include "metrics/metrics.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The series of a thread, by hash; free places are NULL. */
struct metrics_found {
    size_t n, n_places; /* a power of two */
    struct found_place {
        struct metric_series *series;
        enum metric m;
    } * places;
};

/* Seen by a scrape while it changes: an odd number of changes means that it is just being written. */
struct exemplar {
    atomic_uint n_changes;
    _Atomic(uint64_t) high, low, value;
};

struct metric_exemplars {
    unsigned n_buckets;
    struct exemplar of[]; /* for each bucket */
};

enum { FIRST_PLACES = 256 };

bool metrics_are_on;
_Thread_local struct metrics_thread *metrics_own;
uint16_t metrics_first[METRICS], metrics_width[METRICS];

static _Atomic(struct metrics_thread *) threads;
static size_t n_closed;

bool metrics_open(const struct metrics_conf *conf)
{
    n_closed = 0;
    for (unsigned m = 0; m < METRICS; m++) {
        metrics_first[m] = (uint16_t)n_closed;
        metrics_width[m] = metric_family(m)->width;
        n_closed += (size_t)metric_closed_series(m) * metrics_width[m];
    }
    metrics_are_on = metric_words_open(conf->max_models, conf->seed);
    return metrics_are_on;
}

static void free_series(struct metric_series *s)
{
    while (s != NULL) {
        struct metric_series *next = s->next;

        free(atomic_load(&s->exemplars));
        free(s);
        s = next;
    }
}

static void free_thread(struct metrics_thread *t)
{
    for (unsigned m = 0; m < METRICS; m++)
        free_series(atomic_load(&t->all[m]));
    free(t->found->places);
    free(t->found);
    free(t);
}

void metrics_close(void)
{
    struct metrics_thread *t = atomic_exchange(&threads, NULL);

    metrics_are_on = false;
    metrics_own = NULL;
    while (t != NULL) {
        struct metrics_thread *next = t->next;

        free_thread(t);
        t = next;
    }
    metric_words_close();
}

struct metrics_thread *metrics_threads(void)
{
    return atomic_load_explicit(&threads, memory_order_acquire);
}

static struct metrics_found *new_found(void)
{
    struct metrics_found *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return NULL;
    f->n_places = FIRST_PLACES;
    f->places = calloc(f->n_places, sizeof(*f->places));
    if (f->places == NULL) {
        free(f);
        return NULL;
    }
    return f;
}

struct metrics_thread *metrics_begin_thread(void)
{
    struct metrics_thread *t = calloc(1, sizeof(*t) + n_closed * sizeof(t->closed[0]));

    if (t == NULL || (t->found = new_found()) == NULL) {
        free(t);
        return NULL;
    }
    t->next = atomic_load_explicit(&threads, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&threads, &t->next, t, memory_order_release,
                                                  memory_order_relaxed))
        continue;
    metrics_own = t;
    return t;
}

/* ---- series */

static size_t hash_of(enum metric m, const struct metric_labels *labels)
{
    uint64_t words[2] = {0, 0}, h;

    _Static_assert(sizeof(*labels) <= sizeof(words), "all labels are in the words");
    memcpy(words, labels, sizeof(*labels));
    h = (words[0] ^ ((uint64_t)m << 40)) * 0x9E3779B97F4A7C15U;
    h ^= (words[1] + (h >> 29)) * 0xC2B2AE3D27D4EB4FU;
    return (size_t)(h ^ (h >> 32));
}

static struct found_place *find_place(const struct metrics_found *f, enum metric m,
                                      const struct metric_labels *labels)
{
    for (size_t at = hash_of(m, labels);; at++) {
        struct found_place *place = &f->places[at & (f->n_places - 1)];

        if (place->series == NULL ||
            (place->m == m && memcmp(&place->series->labels, labels, sizeof(*labels)) == 0))
            return place;
    }
}

/* Twice as many places when half of them are taken. */
static bool make_room(struct metrics_found *f)
{
    struct metrics_found wider = {f->n, 2 * f->n_places, NULL};

    if (f->n < f->n_places / 2)
        return true;
    wider.places = calloc(wider.n_places, sizeof(*wider.places));
    if (wider.places == NULL)
        return false;
    for (size_t i = 0; i < f->n_places; i++) {
        const struct found_place *p = &f->places[i];

        if (p->series != NULL)
            *find_place(&wider, p->m, &p->series->labels) = *p;
    }
    free(f->places);
    *f = wider;
    return true;
}

static struct metric_series *add_series(struct metrics_thread *t, enum metric m,
                                        const struct metric_labels *labels)
{
    const size_t width = metric_family(m)->width;
    struct metric_series *s = NULL;

    if (make_room(t->found))
        s = calloc(1, sizeof(*s) + width * sizeof(s->cells[0]));
    if (s == NULL)
        return NULL;
    s->labels = *labels;
    s->next = atomic_load_explicit(&t->all[m], memory_order_relaxed);
    *find_place(t->found, m, labels) = (struct found_place){s, m};
    t->found->n++;
    atomic_store_explicit(&t->all[m], s, memory_order_release);
    return s;
}

metric_cell *metrics_of(enum metric m, const struct metric_labels *labels)
{
    struct metrics_thread *t = metrics_own;
    struct metric_series *s;

    if (!metrics_are_on || (t == NULL && (t = metrics_begin_thread()) == NULL))
        return NULL;
    s = find_place(t->found, m, labels)->series;
    if (s == NULL)
        s = add_series(t, m, labels);
    return s == NULL ? NULL : s->cells;
}

/* ---- histograms */

static unsigned bucket_of(const struct metric_family *f, uint64_t value)
{
    unsigned i = 0;

    while (i < f->n_bounds && value > f->bounds[i])
        i++;
    return i;
}

void metrics_observe(enum metric m, metric_cell *cells, uint64_t value)
{
    metrics_observe_some(m, cells, value, 1, value);
}

void metrics_observe_some(enum metric m, metric_cell *cells, uint64_t value, uint64_t n,
                          uint64_t sum)
{
    const struct metric_family *f = metric_family(m);

    if (cells == NULL)
        return;
    metrics_add(&cells[bucket_of(f, value)], n);
    metrics_add(&cells[f->width - 1], sum);
}

struct metric_range metric_bucket(enum metric m, uint64_t value)
{
    const struct metric_family *f = metric_family(m);
    const unsigned i = bucket_of(f, value);

    return (struct metric_range){.least = i == 0 ? 0 : f->bounds[i - 1] + 1,
                                 .end = i < f->n_bounds ? f->bounds[i] + 1 : UINT64_MAX};
}

static struct metric_exemplars *exemplars_of(struct metric_series *s, unsigned n_buckets)
{
    struct metric_exemplars *e = atomic_load_explicit(&s->exemplars, memory_order_relaxed);

    if (e != NULL)
        return e;
    e = calloc(1, sizeof(*e) + n_buckets * sizeof(e->of[0]));
    if (e != NULL)
        e->n_buckets = n_buckets;
    atomic_store_explicit(&s->exemplars, e, memory_order_release);
    return e;
}

static void exemplar_write(struct exemplar *e, uint64_t value, struct metric_trace trace)
{
    unsigned n = atomic_load_explicit(&e->n_changes, memory_order_relaxed);

    atomic_store_explicit(&e->n_changes, n + 1, memory_order_relaxed);
    atomic_store_explicit(&e->high, trace.high, memory_order_release);
    atomic_store_explicit(&e->low, trace.low, memory_order_release);
    atomic_store_explicit(&e->value, value, memory_order_release);
    atomic_store_explicit(&e->n_changes, n + 2, memory_order_release);
}

static struct metric_series *series_of(metric_cell *cells)
{
    return (struct metric_series *)((uintptr_t)cells - offsetof(struct metric_series, cells));
}

void metrics_observe_traced(enum metric m, metric_cell *cells, uint64_t value,
                            struct metric_trace trace)
{
    const struct metric_family *f = metric_family(m);
    struct metric_exemplars *e;

    metrics_observe(m, cells, value);
    if (cells == NULL || (trace.high == 0 && trace.low == 0))
        return;
    e = exemplars_of(series_of(cells), f->width - 1U);
    if (e != NULL)
        exemplar_write(&e->of[bucket_of(f, value)], value, trace);
}

bool metric_series_exemplar(const struct metric_series *series, unsigned bucket,
                            struct metric_exemplar *ret)
{
    struct metric_exemplars *all = atomic_load_explicit(&series->exemplars, memory_order_acquire);
    struct exemplar *e;
    unsigned n;

    if (all == NULL)
        return false;
    e = &all->of[bucket];
    n = atomic_load_explicit(&e->n_changes, memory_order_acquire);
    ret->trace.high = atomic_load_explicit(&e->high, memory_order_acquire);
    ret->trace.low = atomic_load_explicit(&e->low, memory_order_acquire);
    ret->value = atomic_load_explicit(&e->value, memory_order_acquire);
    return n != 0 && n % 2 == 0 && atomic_load_explicit(&e->n_changes, memory_order_relaxed) == n;
}
