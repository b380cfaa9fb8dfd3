/* store_open.c -- opening and closing a store, and giving it tasks.
 *
 *     database       threads                   queues
 *     memory         1                         one
 *     SQLite         1 writes, others read     one for each
 *     PostgreSQL     any takes any task        one */
#include "store/store.h"

#include <stdlib.h>

#include "store/store_lock.h"
#include "store/store_thread.h"
#include "store/store_work.h"

enum { MEMORY_BYTES = 256 * 1024 * 1024 };

/* ---- opening */

/* Memory is always bounded. */
static struct store_limits limits_for(const struct store_conf *conf)
{
    struct store_limits limits = conf->limits;

    if (strcmp(conf->url, "memory") == 0 && limits.max_bytes == 0)
        limits.max_bytes = MEMORY_BYTES;
    return limits;
}

static int shared_init(struct store *st, const struct store_conf *conf)
{
    st->limits = limits_for(conf);
    st->timeout_ms = conf->timeout_ms;
    st->lock_ms =
        conf->work_ms != 0 && conf->work_ms < conf->lock_ms ? conf->work_ms : conf->lock_ms;
    atomic_flag_clear(&st->is_purging);
    atomic_flag_clear(&st->is_renewing);
    atomic_flag_clear(&st->is_probing);
    atomic_init(&st->locks_at_ms, store_monotonic_ms());
    atomic_init(&st->has_more_to_purge, false);
    atomic_init(&st->has_locks_to_release, false);
    st->locks = locks_new();
    if (store_time_init(&st->time) == -1)
        goto no_time;
    if (st->locks == NULL || health_init(&st->health) == -1)
        goto no_health;
    if (queue_init(&st->queues[0]) == -1)
        goto no_queue;
    if (queue_init(&st->queues[1]) == 0)
        return 0;
    queue_fini(&st->queues[0]);
no_queue:
    health_fini(&st->health);
no_health:
    store_time_fini(&st->time);
no_time:
    locks_free(st->locks);
    return -1;
}

static void shared_fini(struct store *st)
{
    queue_fini(&st->queues[0]);
    queue_fini(&st->queues[1]);
    health_fini(&st->health);
    store_time_fini(&st->time);
    locks_free(st->locks);
}

/* Plans how many threads there are, and which queue each takes from. */
static size_t plan_threads(struct store *st, const struct sql_driver *driver,
                           const struct store_conf *conf)
{
    bool is_memory = strcmp(conf->url, "memory") == 0;
    bool has_readers = driver->one_writer && !is_memory;
    size_t n = conf->connections == 0 ? 1 : conf->connections;

    st->queue_for[STORE_WRITE] = &st->queues[0];
    st->queue_for[STORE_READ] = &st->queues[has_readers ? 1 : 0];
    return is_memory ? 1 : n + (has_readers ? 1 : 0);
}

static int thread_init(struct store *st, size_t i, const struct store_conf *conf,
                       struct err *reterr)
{
    struct store_thread *t = &st->threads[i];

    t->store = st;
    t->is_first = i == 0;
    t->queue = st->queue_for[i == 0 ? STORE_WRITE : STORE_READ];
    if (session_init(&t->session, conf, reterr) == -1)
        return -1;
    t->batch = t->session.driver->one_writer && t->is_first ? STORE_BATCH : 1;
    t->session.locks = st->locks;
    t->session.growth = &st->growth;
    t->session.time = &st->time;
    t->limits_at_ms = store_monotonic_ms();
    /* locks are the store's, not the thread's */
    memcpy(t->session.instance, st->threads[0].session.instance, sizeof(t->session.instance));
    memcpy(t->session.worker, st->threads[0].session.worker, sizeof(t->session.worker));
    return 0;
}

/* Readers open the file that the first session has opened: later there may be another one. */
static int readers_connect(struct store *st, struct err *reterr)
{
    if (!st->threads[0].session.driver->one_writer)
        return 0;
    for (size_t i = 1; i < st->n_threads; i++) {
        if (session_connect(&st->threads[i].session, reterr) == -1)
            return -1;
    }
    return 0;
}

/* The first connection makes the tables; those to a server connect as they are needed. */
static int threads_init(struct store *st, const struct store_conf *conf, struct err *reterr)
{
    struct store_session first;
    size_t n;

    if (session_init(&first, conf, reterr) == -1)
        return -1;
    n = plan_threads(st, first.driver, conf);
    session_fini(&first);
    st->threads = calloc(n, sizeof(*st->threads));
    if (st->threads == NULL)
        return err_set_no_memory(reterr);
    while (st->n_threads < n) {
        if (thread_init(st, st->n_threads++, conf, reterr) == -1)
            return -1;
    }
    if (session_open(&st->threads[0].session, conf, reterr) == -1 ||
        readers_connect(st, reterr) == -1)
        return -1;
    store_time_compare(&st->time);
    return 0;
}

static int threads_start(struct store *st, struct err *reterr)
{
    for (size_t i = 0; i < st->n_threads; i++) {
        struct store_thread *t = &st->threads[i];

        t->is_started = uv_thread_create(&t->thread, store_thread_main, t) == 0;
        if (!t->is_started) {
            err_set(reterr, ERR_STORE, "The store cannot start its threads.");
            return -1;
        }
    }
    return 0;
}

struct store *store_open(const struct store_conf *conf, struct err *reterr)
{
    struct store *st = calloc(1, sizeof(*st));

    if (st == NULL || shared_init(st, conf) == -1) {
        err_set_no_memory(reterr);
        free(st);
        return NULL;
    }
    if (threads_init(st, conf, reterr) == 0 && threads_start(st, reterr) == 0)
        return st;
    store_close(st);
    return NULL;
}

enum store_arrival store_arrival(const struct store_conf *conf)
{
    struct store_session s;
    enum store_arrival arrival = STORE_UNKNOWN;

    if (session_init(&s, conf, NULL) == 0 && s.driver->arrival != NULL)
        arrival = s.driver->arrival(&s.conf);
    session_fini(&s);
    return arrival;
}

void store_close(struct store *store)
{
    if (store == NULL)
        return;
    queue_close(&store->queues[0]);
    queue_close(&store->queues[1]);
    for (size_t i = 0; i < store->n_threads; i++) {
        if (store->threads[i].is_started)
            uv_thread_join(&store->threads[i].thread);
    }
    removed_log(&store->removed);
    /* The one that writes is the last: SQLite leaves its log beside the file unless one connection
     * knows that it is the last. */
    for (size_t i = store->n_threads; i > 0; i--)
        session_fini(&store->threads[i - 1].session);
    free(store->threads);
    shared_fini(store);
    free(store);
}

/* ---- tasks */

void store_start(struct store *store, struct store_task *task)
{
    task->failure = NULL;
    task->since_ms = store_monotonic_ms();
    errand_begin(&task->errand, &store_task_kind, task, task->loop, NULL);
    queue_put(store->queue_for[task->access], task);
}

size_t store_n_waiting(struct store *store, enum store_access access)
{
    bool is_shared = store->queue_for[STORE_READ] == store->queue_for[STORE_WRITE];

    return access == STORE_READ && is_shared ? 0 : queue_length(store->queue_for[access]);
}

void store_release_lock(struct store *store, str lock)
{
    locks_release_later(&store->threads[0].session, lock);
    atomic_store(&store->has_locks_to_release, true);
    queue_wake(store->queue_for[STORE_WRITE]);
}

void store_release_work(struct store *store, str lock)
{
    work_release_later(&store->threads[0].session, lock);
    atomic_store(&store->has_locks_to_release, true);
    queue_wake(store->queue_for[STORE_WRITE]);
}

/* ---- does it work? */

bool store_refuses(struct store *store, enum store_access access, struct err *reterr)
{
    enum store_trouble trouble = health_trouble(&store->health);

    if (trouble == STORE_WORKS || (trouble == STORE_TAKES_NOTHING && access == STORE_READ))
        return false;
    health_explain(&store->health, reterr);
    return true;
}

bool store_is_ready(const struct store *store)
{
    return health_trouble(&store->health) == STORE_WORKS ||
           !atomic_load(&store->health.is_confirmed);
}
