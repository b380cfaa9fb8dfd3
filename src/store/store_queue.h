/* store_queue.h -- tasks on their way to a thread of the store. Internal to the
 * store. Any thread.
 *
 * The queue's length is bounded by those who wait for its tasks: a request has one task
 * at a time. */
#ifndef ANTIPHON_STORE_STORE_QUEUE_H
#define ANTIPHON_STORE_STORE_QUEUE_H

#include <uv.h>

#include "store/store.h"

struct store_queue {
    uv_mutex_t mutex; /* guards the rest; nothing else is taken while it is held */
    uv_cond_t wake;   /* there is a task, or the end */
    struct store_task *first, **end;
    bool is_closed, is_woken;
};

int queue_init(struct store_queue *q); /* -1 when out of memory */
void queue_fini(struct store_queue *q);

void queue_put(struct store_queue *q, struct store_task *t);

/* How many are in it. */
size_t queue_length(struct store_queue *q);

/* Takes up to `most` tasks as a list; NULL after wait_ms without any, when woken, or when the queue
 * is closed and empty: then *ret_is_closed. */
struct store_task *queue_take(struct store_queue *q, size_t most, uint64_t wait_ms,
                              bool *ret_is_closed);

/* Lets one thread return from waiting, with a task or without. */
void queue_wake(struct store_queue *q);

/* Closes the queue; what is in it is still taken. */
void queue_close(struct store_queue *q);

uint64_t store_monotonic_ms(void);

#endif
