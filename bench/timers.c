/* timers.c -- a binary heap, the earliest timer at its top. */
#include "timers.h"

#include <stdlib.h>

#include "bench_sys.h"

static void make_room(struct timers *h)
{
    size_t cap = h->cap == 0 ? 64 : 2 * h->cap;
    struct timer *heap;

    if (h->n < h->cap)
        return;
    heap = realloc(h->heap, cap * sizeof(*heap));
    if (heap == NULL)
        bench_fail("out of memory");
    h->heap = heap;
    h->cap = cap;
}

void timers_add(struct timers *h, struct timer t)
{
    size_t i;

    make_room(h);
    for (i = h->n++; i > 0; i = (i - 1) / 2) {
        const struct timer *parent = &h->heap[(i - 1) / 2];

        if (parent->due_ns <= t.due_ns)
            break;
        h->heap[i] = *parent;
    }
    h->heap[i] = t;
}

const struct timer *timers_first(const struct timers *h)
{
    return h->n == 0 ? NULL : h->heap;
}

static size_t earlier_child(const struct timers *h, size_t i)
{
    size_t left = 2 * i + 1, right = left + 1;

    return right < h->n && h->heap[right].due_ns < h->heap[left].due_ns ? right : left;
}

struct timer timers_take_first(struct timers *h)
{
    struct timer first = h->heap[0], last = h->heap[--h->n];
    size_t i = 0;

    for (size_t child; (child = earlier_child(h, i)) < h->n; i = child) {
        if (last.due_ns <= h->heap[child].due_ns)
            break;
        h->heap[i] = h->heap[child];
    }
    h->heap[i] = last;
    return first;
}
