/* budget.c -- one number for the process, and a rest of it for each thread. */
#include "base/budget.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum {
    STEP_BYTES = 64 * 1024, /* what a thread takes at once; it keeps at most two */
    SPARE_PART = 20,        /* the last twentieth is for work under way alone */
};

static atomic_size_t limit, used, peak, n_refusals;

static _Thread_local struct {
    size_t rest; /* taken by the thread, and not in use */
    enum budget_use use;
    size_t n_refusals; /* of all threads, as this one knows */
} own;

void budget_set_limit(size_t bytes)
{
    atomic_store(&limit, bytes);
}

size_t budget_limit(void)
{
    return atomic_load(&limit);
}

size_t budget_used(void)
{
    return atomic_load(&used);
}

static void note_peak(size_t now)
{
    size_t before = atomic_load(&peak);

    while (now > before && !atomic_compare_exchange_weak(&peak, &before, now))
        continue;
}

size_t budget_peak(void)
{
    return atomic_exchange(&peak, atomic_load(&used));
}

/* Takes all n bytes or none, so that never more than `most` are used. */
static bool take_shared(size_t n, size_t most)
{
    size_t before = atomic_load(&used);

    do {
        if (before > most || n > most - before)
            return false;
    } while (!atomic_compare_exchange_weak(&used, &before, before + n));
    note_peak(before + n);
    return true;
}

static size_t most_for(enum budget_use use)
{
    size_t bytes = atomic_load(&limit);

    return bytes == 0 ? SIZE_MAX : bytes - bytes / SPARE_PART * (size_t)use;
}

/* Takes n bytes when the thread's rest is too small: whole steps if there are any, else just what
 * is missing. */
static bool take_more(size_t n)
{
    size_t missing = n - own.rest, most = most_for(own.use);
    size_t steps = missing / STEP_BYTES + 1;

    if (steps <= SIZE_MAX / STEP_BYTES && take_shared(steps * STEP_BYTES, most)) {
        own.rest += steps * STEP_BYTES - n;
        return true;
    }
    if (!take_shared(missing, most))
        return false;
    own.rest = 0;
    return true;
}

bool budget_take(size_t n)
{
    if (n <= own.rest) {
        own.rest -= n;
        return true;
    }
    if (take_more(n))
        return true;
    atomic_fetch_add(&n_refusals, 1);
    return false;
}

void budget_give(size_t n)
{
    own.rest += n;
    if (own.rest <= (size_t)2 * STEP_BYTES)
        return;
    atomic_fetch_sub(&used, own.rest - STEP_BYTES);
    own.rest = STEP_BYTES;
}

void *budget_alloc(size_t n, size_t counted)
{
    void *p;

    if (!budget_take(counted))
        return NULL;
    p = calloc(1, n);
    if (p == NULL)
        budget_give(counted);
    return p;
}

void budget_free(void *p, size_t counted)
{
    if (p == NULL)
        return;
    free(p);
    budget_give(counted);
}

bool budget_has_room(size_t n)
{
    size_t now = atomic_load(&used), most = most_for(BUDGET_NEW_WORK);

    if (now <= most && n <= most - now)
        return true;
    atomic_fetch_add(&n_refusals, 1);
    return false;
}

bool budget_is_short(void)
{
    return !budget_has_room(STEP_BYTES);
}

size_t budget_refusals(void)
{
    return atomic_load(&n_refusals);
}

enum budget_use budget_use_for(enum budget_use use)
{
    enum budget_use before = own.use;

    own.use = use;
    return before;
}

bool budget_was_refused(void)
{
    size_t n = atomic_load(&n_refusals);
    bool was = n != own.n_refusals;

    own.n_refusals = n;
    return was;
}
