/* log_rate.c -- a bucket kept as the time it needs to be full again. */
#include "ev/log_rate.h"

enum { LINE_MS = 1000 / LOG_RATE_PER_S, FULL_MS = LOG_RATE_BURST * LINE_MS };

bool log_rate_take(struct log_rate *r, uint64_t now_ms, uint64_t *ret_refused)
{
    uint64_t filled_ms = now_ms - r->at_ms;

    r->spent_ms = r->spent_ms > filled_ms ? r->spent_ms - filled_ms : 0;
    r->at_ms = now_ms;
    if (r->spent_ms + LINE_MS > FULL_MS) {
        r->n_refused++;
        return false;
    }
    r->spent_ms += LINE_MS;
    *ret_refused = r->n_refused;
    r->n_refused = 0;
    return true;
}
