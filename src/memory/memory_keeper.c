/* memory_keeper.c -- the limit of the budget, and a look at it every second.
 *
 * glibc keeps what was freed for the next one who asks, and in a heap for each thread. So
 * a peak of large requests used to stay with the process for good. Large blocks are mapped one
 * by one instead, by a threshold that does not grow as the default one does, and go back to the
 * system when they are freed; the rest is given back in one go after a peak, by malloc_trim(),
 * which takes a while and is not called by the threads that serve. */
#include "memory/memory_keeper.h"

#include <malloc.h>
#include <stdlib.h>

#include "base/budget.h"
#include "ev/log.h"
#include "memory/answer_memory.h"
#include "memory/call_memory.h"
#include "memory/memory_size.h"
#include "store/sql_sqlite_memory.h"

enum {
    LOOK_MS = 1000,
    DROP_BYTES = 16 * 1024 * 1024, /* below a peak: worth giving back */
    MAPPED_BYTES = 512 * 1024,     /* blocks of this size are mapped by themselves */
    KEPT_TOP_BYTES =
        4 * 1024 * 1024, /* at the end of each heap, so that it need not grow at once */
    CALM_LOOKS = 10,
    OTHER_THREADS = 2, /* heaps for all threads that are mostly idle */
    MAX_MEMORIES = 2,
};

struct memory_keeper {
    struct loop_timer *timer;
    struct call_memory *memories[MAX_MEMORIES];
    size_t n_memories;
    struct answer_memory *answers; /* or NULL */
    size_t peak;                   /* of what was in use, since memory was given back */
    size_t n_refusals;             /* of the budget, at the last look */
    unsigned n_since_short;        /* looks since the last one that found too little */
    bool is_short;                 /* as the log knows it */
};

/* Three quarters of what there is: code, stacks, libraries and the file cache need some too. */
static size_t limit_by(const struct config *c)
{
    if (c->max_memory_bytes != CONFIG_SIZE_AUTO)
        return c->max_memory_bytes;
    return memory_size() / 4 * 3;
}

static void tune_allocator(unsigned n_threads)
{
#ifdef __GLIBC__
    (void)mallopt(M_ARENA_MAX, (int)(n_threads + OTHER_THREADS));
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_TOP_BYTES);
#else
    (void)n_threads;
#endif
}

void memory_set_up(const struct config *c, unsigned n_threads)
{
    tune_allocator(n_threads);
    budget_set_limit(limit_by(c));
    if (sql_sqlite_count_memory() == -1)
        log_msg(LOG_WARN, "max_memory: the memory of SQLite is not counted");
    log_line(LOG_DEBUG, "memory",
             (struct log_field[]){LOG_INT("max_memory", budget_limit()), LOG_END});
}

static void give_memory_back(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}

static void forget_kept(struct memory_keeper *k)
{
    if (k->answers != NULL)
        answer_memory_forget(k->answers);
    for (size_t i = 0; i < k->n_memories; i++)
        call_memory_forget(k->memories[i]);
}

/* Logs one line when requests begin to be refused, and one when that was some time ago. */
static void log_shortage(struct memory_keeper *k, bool was_short, size_t peak)
{
    k->n_since_short = was_short ? 0 : k->n_since_short + 1;
    if (was_short && !k->is_short)
        log_line(LOG_WARN, "memory_short",
                 (struct log_field[]){LOG_INT("used", peak), LOG_INT("max_memory", budget_limit()),
                                      LOG_STR("message", STR("new requests get status 503")),
                                      LOG_END});
    if (k->is_short && k->n_since_short == CALM_LOOKS)
        log_line(LOG_INFO, "memory_enough", (struct log_field[]){LOG_INT("used", peak), LOG_END});
    k->is_short = was_short || (k->is_short && k->n_since_short < CALM_LOOKS);
}

static void look_at_memory(void *arg)
{
    struct memory_keeper *k = arg;
    size_t peak = budget_peak(), n_refusals = budget_refusals(), used;
    bool was_short;

    was_short = n_refusals != k->n_refusals;
    k->n_refusals = n_refusals;
    log_shortage(k, was_short, peak);
    if (was_short)
        forget_kept(k);
    used = budget_used();
    k->peak = peak > k->peak ? peak : k->peak;
    if (k->peak > used && k->peak - used >= DROP_BYTES) {
        give_memory_back();
        k->peak = used;
    }
    loop_timer_start(k->timer, LOOK_MS);
}

struct memory_keeper *memory_keeper_new(struct loop *loop, struct call_memory *const *memories,
                                        size_t n, struct answer_memory *answers, struct err *reterr)
{
    struct memory_keeper *k = calloc(1, sizeof(*k));

    if (k != NULL)
        k->timer = loop_timer_new(loop, look_at_memory, k);
    if (k == NULL || k->timer == NULL) {
        free(k);
        err_set_no_memory(reterr);
        return NULL;
    }
    k->answers = answers;
    for (size_t i = 0; i < n && k->n_memories < MAX_MEMORIES; i++) {
        if (memories[i] != NULL)
            k->memories[k->n_memories++] = memories[i];
    }
    loop_timer_start(k->timer, LOOK_MS);
    return k;
}

void memory_keeper_free(struct memory_keeper *k)
{
    if (k == NULL)
        return;
    loop_timer_free(k->timer);
    free(k);
}
