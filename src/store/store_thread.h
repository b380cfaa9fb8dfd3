/* store_thread.h -- the threads of a store, and what they share. Internal to it. */
#ifndef ANTIPHON_STORE_STORE_THREAD_H
#define ANTIPHON_STORE_STORE_THREAD_H

#include <stdatomic.h>
#include <uv.h>

#include "store/store_health.h"
#include "store/store_purge.h"
#include "store/store_queue.h"
#include "store/store_removed.h"
#include "store/store_session.h"
#include "store/store_time.h"

enum { STORE_BATCH = 64 }; /* tasks to take at once, at most */

struct store_thread {
    struct store *store;
    struct store_session session;
    struct store_queue *queue; /* that it takes its tasks from */
    size_t batch;              /* how many at once */
    bool is_first;             /* renews locks and looks at the limits now and then */
    bool is_started;
    uv_thread_t thread;

    /* of connecting, in ms of the monotonic clock */
    uint64_t retry_at_ms, backoff_ms;
    struct err failure; /* the last */

    uint64_t stats_at_ms;                 /* when it is looked again what there is; the same */
    uint64_t limits_at_ms;                /* when it is time again; only of the first */
    bool has_converted, has_more_to_give; /* space; of the one that writes a file */
};

struct store {
    struct store_limits limits;
    uint64_t timeout_ms, lock_ms;
    struct store_queue queues[2];
    struct store_queue *queue_for[2]; /* by enum store_access */
    struct store_locks *locks;
    struct store_growth growth;
    struct store_health health;
    struct store_time time;
    struct store_removed removed; /* for whoever has is_purging */
    atomic_flag is_purging, is_renewing, is_probing;
    atomic_uint_fast64_t locks_at_ms; /* when they are to be renewed */
    atomic_bool has_more_to_purge;
    atomic_bool has_locks_to_release;
    struct store_thread *threads;
    size_t n_threads;
};

/* The reports of tasks, for store_start(). */
extern const struct errand_kind store_task_kind;

/* The function of a thread: takes tasks until its queue is closed and empty. Its session
 * stays open. */
void store_thread_main(void *thread);

/* Connects when that is needed. A failed attempt is repeated, with pauses, until the store's
 * timeout has passed since since_ms; a later call still makes one attempt, unless another has
 * failed a moment ago. */
int store_thread_connect(struct store_thread *t, uint64_t since_ms, struct err *reterr);

/* ---- store_housekeeping.c */

/* The time for which a thread may wait for tasks. */
uint64_t housekeeping_wait_ms(const struct store_thread *t);

/* Keeps house as far as it is due, in small pieces: tasks wait meanwhile. */
void housekeeping_run(struct store_thread *t);

/* Notes that a task has failed. */
void housekeeping_note(struct store *store, const struct err *failure);

/* Keeps house a last time: others would wait for that when the thread is gone. */
void housekeeping_end(struct store_thread *t);

#endif
