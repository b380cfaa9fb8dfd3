/* timers.h -- who is due next: a binary heap. */
#ifndef ANTIPHON_BENCH_TIMERS_H
#define ANTIPHON_BENCH_TIMERS_H

#include <stddef.h>
#include <stdint.h>

struct timer {
    uint64_t due_ns;
    void *owner;
};

/* A zeroed struct is an empty heap. */
struct timers {
    struct timer *heap;
    size_t n, cap;
};

void timers_add(struct timers *h, struct timer t);

/* The earliest one, or NULL; the view dies with the next call. */
const struct timer *timers_first(const struct timers *h);

/* Takes the earliest one out; there must be one. */
struct timer timers_take_first(struct timers *h);

#endif
