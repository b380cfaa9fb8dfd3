/* store_health.c -- one line when it begins, one a minute while it lasts, one when
 * it is over. */
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

static void note_bad(struct store_health *h, const struct err *failure)
{
    uint64_t now_ms = store_monotonic_ms();

    uv_mutex_lock(&h->mutex);
    if (!atomic_exchange(&h->is_bad, true) || now_ms >= h->logged_at_ms + AGAIN_MS) {
        log_line(LOG_ERROR, "store_failed",
                 (struct log_field[]){LOG_STR("reason", str_from_c(failure->msg)),
                                      LOG_INT("failed_since_last", h->n_unlogged), LOG_END});
        h->logged_at_ms = now_ms;
        h->n_unlogged = 0;
    } else {
        h->n_unlogged++;
    }
    uv_mutex_unlock(&h->mutex);
}

static void note_good(struct store_health *h)
{
    uv_mutex_lock(&h->mutex);
    if (atomic_exchange(&h->is_bad, false))
        log_line(LOG_INFO, "store_works_again",
                 (struct log_field[]){LOG_INT("failed_since_last", h->n_unlogged), LOG_END});
    h->n_unlogged = 0;
    uv_mutex_unlock(&h->mutex);
}

void health_note(struct store_health *h, const struct err *failure)
{
    if (failure != NULL && failure->code == ERR_STORE)
        note_bad(h, failure);
    else if (failure == NULL && atomic_load_explicit(&h->is_bad, memory_order_relaxed))
        note_good(h);
}
