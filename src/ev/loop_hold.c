/* loop_hold.c -- measures and logs. Warnings come one in WARN_EVERY_MS, since a client can cause
 * them; the next one counts those that were left out. At the level debug none is. */
#include "ev/loop_hold.h"

#include <time.h>

#include "ev/log.h"

enum { WARN_EVERY_MS = 1000 };

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

static void log_hold(struct loop_hold *h, enum log_level level, uint64_t held_ms, uint64_t cpu_us)
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
    if (h->n_unlogged != 0)
        fields[n] = (struct log_field)LOG_INT("others", h->n_unlogged);
    log_line(level, "loop_held", fields);
}

static void warn_of_hold(struct loop_hold *h, uint64_t now_ms, uint64_t held_ms)
{
    if (h->warned_ms != 0 && now_ms - h->warned_ms < WARN_EVERY_MS) {
        h->n_unlogged++;
        return;
    }
    log_hold(h, LOG_WARN, held_ms, 0);
    h->warned_ms = now_ms;
    h->n_unlogged = 0;
}

static void log_with_cpu(struct loop_hold *h, uint64_t held_ms)
{
    const uint64_t cpu_us = cpu_now_us();

    if (held_ms >= LOOP_HOLD_SHOW_MS)
        log_hold(h, held_ms < LOOP_HOLD_WARN_MS ? LOG_DEBUG : LOG_WARN, held_ms,
                 h->cpu_us == 0 ? 0 : cpu_us - h->cpu_us);
    h->cpu_us = cpu_now_us(); /* without what the line took */
}

void loop_hold_end(struct loop_hold *h, uint64_t now_ms)
{
    const uint64_t held_ms = h->woken_ms != 0 && now_ms > h->woken_ms ? now_ms - h->woken_ms : 0;

    if (log_is_on(LOG_DEBUG))
        log_with_cpu(h, held_ms);
    else if (held_ms >= LOOP_HOLD_WARN_MS)
        warn_of_hold(h, now_ms, held_ms);
    h->woken_ms = 0;
    worker_name = NULL;
}
