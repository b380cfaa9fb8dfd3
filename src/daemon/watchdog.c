/* watchdog.c -- two timers: one for STATUS and EXTEND_TIMEOUT_USEC, one for WATCHDOG.
 *
 * The watchdog knows that a loop turns by a message that the loop answers. WATCHDOG is said only when
 * all have answered since the last time, so a loop that hangs has the service manager end the process. */
#include "daemon/watchdog.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "daemon/drain.h"
#include "daemon/notify.h"
#include "daemon/server_internal.h"
#include "flight/pulse.h"
#include "flight/worker.h"
#include "upstream/upstream_pool.h"

enum {
    STATUS_MS = 5000,
    EXTEND_US = 15 * 1000 * 1000,
    LOOKS = 10, /* at a loop that is late, in half of the time that it has */
};

struct watchdog {
    struct server *server;
    struct loop_timer *status, *beat;
    struct pulses *pulses; /* its own, asked by nobody else; NULL: there is no watchdog */
    uint64_t half_ms;
    char said[128]; /* the last STATUS */
};

static void write_status(const struct server *s, char *out, size_t size)
{
    const size_t n = atomic_load(&s->life.n_flights);
    struct upstream_sum sum;

    upstream_pool_sum(s->pool, &sum);
    (void)snprintf(out, size, "%s %zu stream%s, %u of %u upstreams up",
                   life_phase(&s->life) == LIFE_DRAINING ? "Draining" : "Serving", n,
                   n == 1 ? "" : "s", sum.n_up, sum.n);
}

static void on_status(void *arg)
{
    struct watchdog *w = arg;
    const struct server *s = w->server;
    char now[sizeof(w->said)];

    write_status(s, now, sizeof(now));
    if (strcmp(now, w->said) != 0)
        notify_send(&s->notify, "STATUS=%s", now);
    memcpy(w->said, now, sizeof(now));
    if (drain_is_to_end(s->drain))
        notify_send(&s->notify, "EXTEND_TIMEOUT_USEC=%d", EXTEND_US);
    loop_timer_start(w->status, STATUS_MS);
}

static void on_beat(void *arg)
{
    struct watchdog *w = arg;

    if (!pulses_have_answered(w->pulses)) {
        loop_timer_start(w->beat, w->half_ms / LOOKS + 1);
        return;
    }
    notify_send(&w->server->notify, "WATCHDOG=1");
    pulses_ask(w->pulses, uv_hrtime() / 1000000);
    loop_timer_start(w->beat, w->half_ms);
}

/* 0: there is none, or it is another process's. */
static uint64_t watchdog_us(void)
{
    const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    uint64_t n = 0, of = (uint64_t)getpid();

    if (us == NULL || !num_uint(str_from_c(us), &n) ||
        (pid != NULL && !num_uint(str_from_c(pid), &of)))
        return 0;
    return of == (uint64_t)getpid() ? n : 0;
}

static int start_beat(struct watchdog *w, struct err *reterr)
{
    const struct server *s = w->server;
    const uint64_t us = watchdog_us();

    if (us == 0)
        return 0;
    w->half_ms = us / 2000;
    w->beat = loop_timer_new(s->loop, on_beat, w);
    w->pulses = pulses_new(s->n_workers);
    if (w->beat == NULL || w->pulses == NULL)
        return err_set_no_memory(reterr);
    for (unsigned i = 0; i < s->n_workers; i++)
        pulses_add(w->pulses, s->workers[i]->loop);
    loop_timer_start(w->beat, w->half_ms);
    return 0;
}

struct watchdog *watchdog_new(struct server *s, struct err *reterr)
{
    struct watchdog *w = calloc(1, sizeof(*w));

    if (w == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    w->server = s;
    if (!notify_is_heard(&s->notify))
        return w;
    w->status = loop_timer_new(s->loop, on_status, w);
    if (w->status == NULL) {
        err_set_no_memory(reterr);
    } else if (start_beat(w, reterr) == 0) {
        loop_timer_start(w->status, STATUS_MS);
        return w;
    }
    watchdog_free(w);
    return NULL;
}

void watchdog_end_loop(struct watchdog *w, const struct loop *loop)
{
    pulses_end(w->pulses, loop);
}

void watchdog_free(struct watchdog *w)
{
    if (w == NULL)
        return;
    loop_timer_free(w->status);
    loop_timer_free(w->beat);
    pulses_free(w->pulses);
    free(w);
}
