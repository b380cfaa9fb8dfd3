/* store_health.c -- one line when it begins, one a minute while it lasts, one when
 * it is over. Failures that come and go quickly are not told each time. */
#include "store/store_health.h"

#include "ev/log.h"
#include "store/store_queue.h"

enum { AGAIN_MS = 60 * 1000 };

int health_init(struct store_health *h)
{
    *h = (struct store_health){.n_unlogged = 0};
    atomic_init(&h->is_bad, false);
    return uv_mutex_init(&h->mutex) == 0 ? 0 : -1;
}

void health_fini(struct store_health *h)
{
    uv_mutex_destroy(&h->mutex);
}

void health_bad(struct store_health *h, const struct err *failure)
{
    uint64_t now_ms = store_monotonic_ms();

    if (failure->code != ERR_STORE)
        return;
    uv_mutex_lock(&h->mutex);
    atomic_store(&h->is_bad, true);
    h->n_unlogged++;
    if (h->logged_at_ms == 0 || now_ms >= h->logged_at_ms + AGAIN_MS) {
        log_line(LOG_ERROR, "store_failed",
                 (struct log_field[]){LOG_STR("reason", str_from_c(failure->msg)),
                                      LOG_INT("failures", h->n_unlogged), LOG_END});
        h->is_logged = true;
        h->logged_at_ms = now_ms;
        h->n_unlogged = 0;
    }
    uv_mutex_unlock(&h->mutex);
}

void health_good(struct store_health *h)
{
    if (!atomic_load_explicit(&h->is_bad, memory_order_relaxed))
        return;
    uv_mutex_lock(&h->mutex);
    if (h->is_logged)
        log_line(LOG_INFO, "store_works_again",
                 (struct log_field[]){LOG_INT("failures", h->n_unlogged), LOG_END});
    atomic_store(&h->is_bad, false);
    h->is_logged = false;
    uv_mutex_unlock(&h->mutex);
}
