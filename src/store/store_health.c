/* store_health.c -- trouble is one line in the log when it begins, one a minute while it lasts, one
 * when it is over. Failures that come and go quickly are not told each time. */
#include "store/store_health.h"

#include <stdio.h>

#include "ev/log.h"
#include "store/store_queue.h"

enum { AGAIN_MS = 60 * 1000 };

int health_init(struct store_health *h)
{
    *h = (struct store_health){.n_unlogged = 0};
    atomic_init(&h->trouble, STORE_WORKS);
    atomic_init(&h->is_confirmed, false);
    atomic_init(&h->next_ms, 0);
    return uv_mutex_init(&h->mutex) == 0 ? 0 : -1;
}

void health_fini(struct store_health *h)
{
    uv_mutex_destroy(&h->mutex);
}

enum store_trouble health_trouble(const struct store_health *h)
{
    return (enum store_trouble)atomic_load_explicit(&h->trouble, memory_order_relaxed);
}

/* Logs a failure, with the mutex held. */
static void log_trouble(struct store_health *h, const struct err *failure)
{
    uint64_t now_ms = store_monotonic_ms();

    h->n_unlogged++;
    if (h->logged_at_ms != 0 && now_ms < h->logged_at_ms + AGAIN_MS)
        return;
    log_line(LOG_ERROR, "store_failed",
             (struct log_field[]){LOG_STR("reason", str_from_c(failure->msg)),
                                  LOG_INT("failures", h->n_unlogged), LOG_END});
    h->is_logged = true;
    h->logged_at_ms = now_ms;
    h->n_unlogged = 0;
}

/* Notes trouble. That a store is away says more than that it takes nothing. True when it worked
 * before. */
static bool note_trouble(struct store_health *h, enum store_trouble trouble,
                         const struct err *failure, const char *words)
{
    enum store_trouble before;

    uv_mutex_lock(&h->mutex);
    before = health_trouble(h);
    if (before == STORE_WORKS)
        atomic_store(&h->next_ms, store_monotonic_ms());
    if (trouble >= before) {
        (void)snprintf(h->words, sizeof(h->words), "%s", words);
        atomic_store(&h->trouble, (int)trouble);
    }
    log_trouble(h, failure);
    uv_mutex_unlock(&h->mutex);
    return before == STORE_WORKS;
}

bool health_bad(struct store_health *h, const struct err *failure)
{
    return failure->code == ERR_STORE &&
           note_trouble(h, STORE_TAKES_NOTHING, failure, failure->msg);
}

void health_away(struct store_health *h, const struct err *failure, const char *words)
{
    if (failure->code == ERR_STORE)
        (void)note_trouble(h, STORE_IS_AWAY, failure, words);
}

void health_good(struct store_health *h)
{
    if (health_trouble(h) == STORE_WORKS)
        return;
    uv_mutex_lock(&h->mutex);
    if (h->is_logged)
        log_line(LOG_INFO, "store_works_again",
                 (struct log_field[]){LOG_INT("failures", h->n_unlogged), LOG_END});
    atomic_store(&h->trouble, STORE_WORKS);
    atomic_store(&h->is_confirmed, false);
    h->is_logged = false;
    uv_mutex_unlock(&h->mutex);
}

/* ---- probing */

void health_postpone(struct store_health *h, uint64_t next_ms)
{
    atomic_store(&h->next_ms, next_ms);
}

void health_probed(struct store_health *h, uint64_t next_ms)
{
    atomic_store(&h->is_confirmed, true);
    atomic_store(&h->next_ms, next_ms);
}

uint64_t health_next_ms(struct store_health *h)
{
    return health_trouble(h) == STORE_WORKS ? UINT64_MAX : atomic_load(&h->next_ms);
}

bool health_wants_probe(struct store_health *h, uint64_t now_ms)
{
    return now_ms >= health_next_ms(h);
}

void health_explain(struct store_health *h, struct err *ret)
{
    uv_mutex_lock(&h->mutex);
    err_set(ret, ERR_STORE_AWAY, "Nothing can be stored at the moment: %s Please try again.",
            h->words);
    uv_mutex_unlock(&h->mutex);
}
