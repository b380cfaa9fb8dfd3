/* state_task.h -- work on the store that a request of this worker needs.
 *
 * The store blocks, so it is worked with on its threads, while the worker's loop
 * goes on. What the work uses must be the task's own: a client may leave at any
 * time, and its exchange with it, but a task always ends. */
#ifndef ANTIPHON_GATEWAY_STATE_TASK_H
#define ANTIPHON_GATEWAY_STATE_TASK_H

#include "store/store.h"

struct worker;

/* Runs work on a thread of the store, and then done, once, on the worker's loop
 * (see struct store_task). A worker that ends waits for its tasks. On the thread
 * of the worker. False when out of memory; then neither will run. */
bool state_task_start(struct worker *w, enum store_access access,
                      int (*work)(struct store_session *s, void *arg, struct err *reterr),
                      void (*done)(void *arg, const struct err *failure), void *arg);

#endif
