/* loop_lag.c -- a timer ten times a second. */
#include "flight/loop_lag.h"

#include <stdlib.h>

#include "metrics/metrics.h"

enum { EVERY_MS = 100, NS_PER_US = 1000 };

struct loop_lag {
    struct loop *loop;
    struct loop_timer *timer;
    uint64_t due_us;
    uint16_t number;
    metric_cell *cells; /* of the loop's thread, which is not the one that makes this */
};

static uint64_t now_us(void)
{
    return uv_hrtime() / NS_PER_US;
}

/* A loop's timers count in whole milliseconds. */
static void start_timer(struct loop_lag *l)
{
    loop_timer_start(l->timer, EVERY_MS);
    l->due_us = loop_now_ms(l->loop) * 1000 + EVERY_MS * 1000;
}

static metric_cell *cells_of(unsigned number)
{
    const struct metric_labels labels = {{(uint16_t)number}};

    return metrics_of(METRIC_LOOP_LAG, &labels);
}

static void on_due(void *arg)
{
    struct loop_lag *l = arg;
    const uint64_t now = now_us();

    if (l->cells == NULL)
        l->cells = cells_of(l->number);
    metrics_observe(METRIC_LOOP_LAG, l->cells, now > l->due_us ? now - l->due_us : 0);
    start_timer(l);
}

struct loop_lag *loop_lag_new(struct loop *loop, unsigned number)
{
    struct loop_lag *l = metrics_are_on ? calloc(1, sizeof(*l)) : NULL;

    if (l == NULL)
        return NULL;
    l->loop = loop;
    l->number = (uint16_t)number;
    l->timer = loop_timer_new(loop, on_due, l);
    if (l->timer == NULL) {
        free(l);
        return NULL;
    }
    (void)cells_of(number); /* there is a series before it is late */
    start_timer(l);
    return l;
}

void loop_lag_free(struct loop_lag *l)
{
    if (l == NULL)
        return;
    loop_timer_free(l->timer);
    free(l);
}
