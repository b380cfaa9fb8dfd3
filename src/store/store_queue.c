/* store_queue.c -- first in, first out, for several threads. */
#include "store/store_queue.h"

#include "metrics/metrics.h"

int queue_init(struct store_queue *q)
{
    *q = (struct store_queue){.first = NULL};
    q->end = &q->first;
    if (uv_mutex_init(&q->mutex) != 0)
        return -1;
    if (uv_cond_init(&q->wake) == 0)
        return 0;
    uv_mutex_destroy(&q->mutex);
    return -1;
}

void queue_fini(struct store_queue *q)
{
    uv_cond_destroy(&q->wake);
    uv_mutex_destroy(&q->mutex);
}

static unsigned queue_word(const struct store_task *t)
{
    return t->access == STORE_READ ? METRIC_STORE_QUEUE_READ : METRIC_STORE_QUEUE_WRITE;
}

void queue_put(struct store_queue *q, struct store_task *t)
{
    t->next = NULL;
    metrics_move(METRIC_STORE_QUEUE, queue_word(t), 1);
    uv_mutex_lock(&q->mutex);
    *q->end = t;
    q->end = &t->next;
    uv_cond_signal(&q->wake);
    uv_mutex_unlock(&q->mutex);
}

size_t queue_length(struct store_queue *q)
{
    size_t n = 0;

    uv_mutex_lock(&q->mutex);
    for (const struct store_task *t = q->first; t != NULL; t = t->next)
        n++;
    uv_mutex_unlock(&q->mutex);
    return n;
}

/* The first tasks, cut from the rest. */
static struct store_task *cut_tasks(struct store_queue *q, size_t most)
{
    struct store_task *all = q->first, **last = &q->first;

    for (size_t i = 0; i < most && *last != NULL; i++)
        last = &(*last)->next;
    q->first = *last;
    *last = NULL;
    if (q->first == NULL)
        q->end = &q->first;
    return all;
}

struct store_task *queue_take(struct store_queue *q, size_t most, uint64_t wait_ms,
                              bool *ret_is_closed)
{
    enum { NS_PER_MS = 1000000 };
    uint64_t end_ms = store_monotonic_ms() + wait_ms;
    struct store_task *tasks = NULL;

    uv_mutex_lock(&q->mutex);
    while (q->first == NULL && !q->is_closed && !q->is_woken) {
        uint64_t now_ms = store_monotonic_ms();

        if (now_ms >= end_ms)
            break;
        (void)uv_cond_timedwait(&q->wake, &q->mutex, (end_ms - now_ms) * NS_PER_MS);
    }
    q->is_woken = false;
    if (q->first != NULL)
        tasks = cut_tasks(q, most);
    *ret_is_closed = tasks == NULL && q->is_closed;
    uv_mutex_unlock(&q->mutex);
    for (const struct store_task *t = tasks; t != NULL; t = t->next)
        metrics_move(METRIC_STORE_QUEUE, queue_word(t), -1);
    return tasks;
}

void queue_wake(struct store_queue *q)
{
    uv_mutex_lock(&q->mutex);
    q->is_woken = true;
    uv_cond_signal(&q->wake);
    uv_mutex_unlock(&q->mutex);
}

void queue_close(struct store_queue *q)
{
    uv_mutex_lock(&q->mutex);
    q->is_closed = true;
    uv_cond_broadcast(&q->wake);
    uv_mutex_unlock(&q->mutex);
}

uint64_t store_monotonic_ms(void)
{
    return uv_hrtime() / 1000000;
}
