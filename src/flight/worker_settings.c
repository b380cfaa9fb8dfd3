/* worker_settings.c -- settings that are exchanged while turns run.
 *
 * A turn reads them wherever it needs them, also on other threads, and keeps texts of them. What it can see
 * are those that were the worker's at any moment since it began. So settings that were exchanged are kept
 * until all flights of before are over: the oldest that is left tells. Work that is no flight is short, and
 * has KEPT_MS. */
#include "flight/worker_settings.h"

#include <stdlib.h>

#include "ev/loop.h"
#include "flight/flight.h"
#include "flight/settings.h"
#include "flight/worker.h"

enum { KEPT_MS = 5 * 60 * 1000, LOOK_EVERY_MS = 10 * 1000 };

/* Settings that were exchanged. */
struct former {
    struct settings *settings;
    uint64_t until_serial; /* flights from here on have begun later */
    uint64_t until_ms;
    struct former *next;
};

struct worker_settings {
    struct worker *worker;
    struct settings *now;             /* NULL: those of the start */
    _Atomic(struct settings *) given; /* to take next; or NULL */
    struct loop_message message;      /* there is one */
    struct former *former;            /* the oldest last */
    struct loop_timer *timer;
};

static uint64_t oldest_serial(const struct worker *w)
{
    uint64_t oldest = w->n_begun;

    for (const struct flight *f = w->flights; f != NULL; f = f->next)
        oldest = f->serial < oldest ? f->serial : oldest;
    return oldest;
}

static void forget_former(struct worker_settings *s, bool all)
{
    const uint64_t serial = oldest_serial(s->worker), now_ms = loop_now_ms(s->worker->loop);
    struct former **at = &s->former;

    while (*at != NULL) {
        struct former *f = *at;

        if (!all && (serial < f->until_serial || now_ms < f->until_ms)) {
            at = &f->next;
            continue;
        }
        *at = f->next;
        settings_unref(f->settings);
        free(f);
    }
}

static void on_timer(void *arg)
{
    struct worker_settings *s = arg;

    forget_former(s, false);
    if (s->former != NULL)
        loop_timer_start(s->timer, LOOK_EVERY_MS);
}

/* Settings that cannot be noted are kept for good, for want of memory. The timer is not put off when it
 * runs: settings may be exchanged again and again. */
static void keep_former(struct worker_settings *s)
{
    struct former *f = s->now == NULL ? NULL : malloc(sizeof(*f));

    if (f == NULL)
        return;
    *f = (struct former){.settings = s->now,
                         .until_serial = s->worker->n_begun,
                         .until_ms = loop_now_ms(s->worker->loop) + KEPT_MS,
                         .next = s->former};
    if (s->former == NULL)
        loop_timer_start(s->timer, LOOK_EVERY_MS);
    s->former = f;
}

static void take_settings(void *arg)
{
    struct worker_settings *s = arg;
    struct settings *given = atomic_exchange(&s->given, NULL);

    if (given == NULL)
        return; /* taken, when the message before this one came */
    keep_former(s);
    s->now = given;
    s->worker->config = &given->config;
    s->worker->origins = &given->origins;
    s->worker->trusted = &given->trusted;
    upstream_route_memo_clear(&s->worker->last_route);
    s->worker->upstreams = given->upstreams;
    worker_apply_config(s->worker);
}

void worker_give_settings(struct worker *w, struct settings *settings)
{
    struct worker_settings *s = w->settings;

    settings_unref(atomic_exchange(&s->given, settings_ref(settings)));
    loop_post(w->loop, &s->message);
}

/* ---- begin and end */

static void free_settings(void *arg)
{
    struct worker_settings *s = arg;

    forget_former(s, true);
    settings_unref(s->now);
    settings_unref(atomic_load(&s->given));
    loop_timer_free(s->timer);
    free(s);
}

int worker_settings_open(struct worker *w)
{
    struct worker_settings *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return -1;
    s->worker = w;
    s->message = (struct loop_message){.fn = take_settings, .arg = s};
    s->timer = loop_timer_new(w->loop, on_timer, s);
    if (s->timer == NULL) {
        free(s);
        return -1;
    }
    w->settings = s;
    w->at_end = (struct worker_part){free_settings, s};
    return 0;
}
