/* loop_hold.c -- measures and tells. Warnings come one in WARN_EVERY_MS, since a client can cause
 * them; the next one counts those that were left out. At the level debug none is. */
#include "ev/loop_hold.h"

#include <time.h>
#include <uv.h>

#include "ev/log.h"

enum { WARN_EVERY_MS = 1000, NS_PER_MS = 1000000 };

static _Thread_local const char *worker_name;

void loop_hold_by(const char *who)
{
    worker_name = who;
}

static uint64_t cpu_now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void tell(struct loop_hold *h, enum log_level level, uint64_t held_ms, uint64_t cpu_us)
{
    struct log_field fields[] = {
        LOG_INT("ms", held_ms),
        LOG_STR("by", worker_name == NULL ? STR_NONE : str_from_c(worker_name)),
        LOG_END, /* room for two more */
        LOG_END,
        LOG_END,
    };
    size_t n = 2;

    if (cpu_us != 0)
        fields[n++] = (struct log_field)LOG_INT("cpu_us", cpu_us);
    if (h->n_unsaid != 0)
        fields[n] = (struct log_field)LOG_INT("others", h->n_unsaid);
    log_line(level, "loop_held", fields);
}

static void judge(struct loop_hold *h, uint64_t now_ms, uint64_t held_ms, uint64_t cpu_us)
{
    if (held_ms < LOOP_HOLD_WARN_MS) {
        if (held_ms >= LOOP_HOLD_SHOW_MS && log_is_on(LOG_DEBUG))
            tell(h, LOG_DEBUG, held_ms, cpu_us);
    } else if (!log_is_on(LOG_DEBUG) && h->warned_ms != 0 &&
               now_ms - h->warned_ms < WARN_EVERY_MS) {
        h->n_unsaid++;
    } else {
        tell(h, LOG_WARN, held_ms, cpu_us);
        h->warned_ms = now_ms;
        h->n_unsaid = 0;
    }
}

void loop_hold_end(struct loop_hold *h)
{
    const uint64_t now_ms = uv_hrtime() / NS_PER_MS;
    const bool measures_cpu = log_is_on(LOG_DEBUG);
    const uint64_t cpu_us = measures_cpu ? cpu_now_us() : 0;

    if (h->woken_ms != 0 && now_ms > h->woken_ms)
        judge(h, now_ms, now_ms - h->woken_ms, h->cpu_us == 0 ? 0 : cpu_us - h->cpu_us);
    h->woken_ms = 0;
    h->cpu_us = measures_cpu ? cpu_now_us() : 0;
    worker_name = NULL;
}
