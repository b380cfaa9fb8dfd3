/* store_removed.c -- counting and logging what was removed. */
#include "store/store_removed.h"

#include "ev/log.h"
#include "store/store_queue.h"

static const char *const reasons[STORE_REASONS] = {
    [STORE_AGE] = "age",
    [STORE_COUNT] = "count",
    [STORE_BYTES] = "bytes",
    [STORE_OWNER] = "owner",
};

void store_purged_add(struct store_purged *to, const struct store_purged *more)
{
    for (size_t i = 0; i < STORE_REASONS; i++) {
        to->by[i].n_histories += more->by[i].n_histories;
        to->by[i].n_responses += more->by[i].n_responses;
        to->by[i].bytes += more->by[i].bytes;
    }
    to->n_streams += more->n_streams;
    to->cuts_bytes += more->cuts_bytes;
    to->n_keys += more->n_keys;
}

uint64_t store_purged_histories(const struct store_purged *p)
{
    uint64_t n = 0;

    for (size_t i = 0; i < STORE_REASONS; i++)
        n += p->by[i].n_histories;
    return n;
}

void removed_add(struct store_removed *r, const struct store_purged *purged)
{
    store_purged_add(&r->unlogged, purged);
}

void removed_log(struct store_removed *r)
{
    for (size_t i = 0; i < STORE_REASONS; i++) {
        if (r->unlogged.by[i].n_histories == 0)
            continue;
        log_line(LOG_INFO, "store_removed",
                 (struct log_field[]){LOG_STR("reason", str_from_c(reasons[i])),
                                      LOG_INT("histories", r->unlogged.by[i].n_histories),
                                      LOG_INT("responses", r->unlogged.by[i].n_responses),
                                      LOG_INT("bytes", r->unlogged.by[i].bytes), LOG_END});
        r->logged_at_ms = store_monotonic_ms();
    }
    if (r->unlogged.n_streams > 0) {
        log_line(LOG_INFO, "events_removed",
                 (struct log_field[]){LOG_INT("responses", r->unlogged.n_streams),
                                      LOG_INT("bytes", r->unlogged.cuts_bytes), LOG_END});
        r->logged_at_ms = store_monotonic_ms();
    }
    r->unlogged = (struct store_purged){0};
}

void removed_log_when_due(struct store_removed *r)
{
    enum { LOG_EVERY_MS = 60 * 1000 };

    if (r->logged_at_ms == 0 || store_monotonic_ms() >= r->logged_at_ms + LOG_EVERY_MS)
        removed_log(r);
}
