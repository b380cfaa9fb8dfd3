/* store_metrics.c -- times of tasks, and what the store holds. */
#include "store/store_metrics.h"

#include "metrics/metrics.h"

enum { REFRESH_EVERY_MS = 60 * 1000, N_RESULTS = METRIC_RESULT_ERROR + 1 };

static void observe(unsigned operation, bool is_good, uint64_t passed_ms)
{
    const unsigned result = is_good ? METRIC_RESULT_OK : METRIC_RESULT_ERROR;

    metrics_observe(METRIC_STORE_SECONDS,
                    metrics_at(METRIC_STORE_SECONDS, operation * N_RESULTS + result),
                    1000 * passed_ms);
}

static unsigned operation_of(const struct store_task *t)
{
    switch (t->purpose) {
    case STORE_FOR_GET:
        return METRIC_STORE_OPERATION_GET;
    case STORE_FOR_DELETE:
        return METRIC_STORE_OPERATION_DELETE;
    case STORE_FOR_LIST:
        return METRIC_STORE_OPERATION_LIST;
    case STORE_FOR_CONVERSATION:
        return METRIC_STORE_OPERATION_CONVERSATION;
    case STORE_FOR_LOCK:
        return METRIC_STORE_OPERATION_LOCK;
    case STORE_FOR_TURN:
    case STORE_FOR_SCRAPE:
        break;
    }
    return t->access == STORE_READ ? METRIC_STORE_OPERATION_LOAD : METRIC_STORE_OPERATION_SAVE;
}

void store_metrics_task(const struct store_task *t, const struct err *failure)
{
    if (metrics_are_on && t->purpose != STORE_FOR_SCRAPE)
        observe(operation_of(t), failure == NULL, store_monotonic_ms() - t->since_ms);
}

void store_metrics_purge(uint64_t passed_ms, bool is_good)
{
    observe(METRIC_STORE_OPERATION_PURGE, is_good, passed_ms);
}

void store_metrics_removed(const struct store_purged *p)
{
    static const unsigned reasons[STORE_REASONS] = {
        [STORE_AGE] = METRIC_REMOVAL_AGE,
        [STORE_COUNT] = METRIC_REMOVAL_COUNT,
        [STORE_BYTES] = METRIC_REMOVAL_BYTES,
        [STORE_OWNER] = METRIC_REMOVAL_OWNER,
    };

    for (size_t i = 0; i < STORE_REASONS; i++)
        metrics_add(metrics_at(METRIC_STORE_REMOVED, reasons[i]), p->by[i].n_histories);
}

void store_metrics_refresh(struct store_thread *t, uint64_t now_ms)
{
    struct store_stats stats;
    struct err failure;

    if (!metrics_are_on || !t->is_first || now_ms < t->stats_at_ms)
        return;
    t->stats_at_ms = now_ms + REFRESH_EVERY_MS;
    if (store_stats(&t->session, &stats, &failure) == -1)
        return;
    metrics_set(metrics_at(METRIC_STORE_BYTES, 0), stats.bytes);
    metrics_set(metrics_at(METRIC_STORE_FILE_BYTES, 0), stats.file_bytes);
    metrics_set(metrics_at(METRIC_STORE_RESPONSES, 0), stats.n_responses);
    metrics_set(metrics_at(METRIC_STORE_HISTORIES, 0), stats.n_histories);
}
