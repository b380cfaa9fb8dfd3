/* log_reject.c -- for each reason one word, the second at hand and the lines of it, that every thread changes
 * without a lock. */
#include "ev/log_reject.h"

#include <stdatomic.h>
#include <time.h>

enum { COUNT_BITS = 8, COUNT_MASK = (1 << COUNT_BITS) - 1 };

_Static_assert((int)LOG_REJECTS_PER_S < (int)COUNT_MASK, "they can be counted");

static struct {
    atomic_uint_fast64_t second; /* above COUNT_BITS, in which so many lines were written */
    atomic_uint_fast64_t left_out;
} buckets[REJECT_REASONS];

static const char *const words[REJECT_REASONS] = {
#define REJECT_REASON(symbol, word, meaning) [REJECT_##symbol] = (word),
#include "ev/reject_reason.def"
};

bool log_reject_take(enum reject_reason reason, uint64_t now_s, uint64_t *ret_left_out)
{
    uint64_t was = atomic_load(&buckets[reason].second), next;

    do {
        next = was >> COUNT_BITS == now_s ? was + 1 : now_s << COUNT_BITS | 1;
        if ((next & COUNT_MASK) > LOG_REJECTS_PER_S) {
            atomic_fetch_add(&buckets[reason].left_out, 1);
            return false;
        }
    } while (!atomic_compare_exchange_weak(&buckets[reason].second, &was, next));
    *ret_left_out = atomic_exchange(&buckets[reason].left_out, 0);
    return true;
}

static uint64_t now_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec;
}

void log_rejected(enum reject_reason reason, const struct log_field *fields)
{
    struct log_field all[LOG_REJECT_FIELDS + 3] = {LOG_STR("reason", str_from_c(words[reason]))};
    uint64_t n_left_out;
    size_t n = 1;

    if (!log_is_on(LOG_INFO) || !log_reject_take(reason, now_s(), &n_left_out))
        return;
    for (; fields->key != NULL && n <= LOG_REJECT_FIELDS; fields++)
        all[n++] = *fields;
    all[n++] = (struct log_field)LOG_COUNT("left_out", n_left_out);
    all[n] = (struct log_field)LOG_END;
    log_line(LOG_INFO, "rejected", all);
}
