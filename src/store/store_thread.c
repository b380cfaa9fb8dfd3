/* store_thread.c -- runs tasks on a connection of its own.
 *
 *     take -> connect -> begin -> work ... work -> commit -> report
 *               ^________________ once more ______|
 *
 * Tasks that write to a database with one writer are taken together and share one
 * transaction, each within a savepoint: one wait for the disk serves all. They
 * are reported when it is over, and all fail when the commit does.
 *
 * A lost connection is made again, and what was under way is done once more
 * unless its commit had been sent: then nobody can know whether it was done. */
#include "store/store_thread.h"

#include <stdlib.h>

#include "ev/loop.h"
#include "store/store_lock.h"
#include "store/store_metrics.h"

/* ---- connecting */

/* Hosts, users and paths are for the log, not for clients. */
#define AWAY "The store cannot be reached."

static void connect_failed(struct store_thread *t, const struct err *failure)
{
    enum { FIRST_MS = 50, MOST_MS = 1000 };
    uint64_t next_ms = t->backoff_ms == 0 ? FIRST_MS : 2 * t->backoff_ms;

    t->backoff_ms = next_ms < MOST_MS ? next_ms : MOST_MS;
    t->retry_at_ms = store_monotonic_ms() + t->backoff_ms;
    t->failure = *failure;
    health_away(&t->store->health, failure, AWAY);
    if (failure->code == ERR_STORE)
        err_set(&t->failure, ERR_STORE, AWAY);
}

int store_thread_connect(struct store_thread *t, uint64_t since_ms, struct err *reterr)
{
    uint64_t deadline_ms = since_ms + t->store->timeout_ms;
    struct err failure;

    while (t->session.db == NULL) {
        uint64_t now_ms = store_monotonic_ms();
        bool is_too_early = now_ms < t->retry_at_ms;

        if (is_too_early && now_ms >= deadline_ms) {
            *reterr = t->failure;
            return -1;
        }
        if (is_too_early)
            uv_sleep(
                (unsigned)((t->retry_at_ms < deadline_ms ? t->retry_at_ms : deadline_ms) - now_ms));
        else if (session_connect(&t->session, &failure) == 0)
            t->backoff_ms = t->retry_at_ms = 0;
        else
            connect_failed(t, &failure);
    }
    return 0;
}

/* ---- reporting */

static struct err no_memory = {.code = ERR_INTERNAL, .msg = "The gateway ran out of memory."};

static struct err *failure_new(const struct err *e)
{
    struct err *copy = malloc(sizeof(*copy));

    if (copy == NULL)
        return &no_memory;
    *copy = *e;
    return copy;
}

static void failure_free(struct err *failure)
{
    if (failure != &no_memory)
        free(failure);
}

static void on_task_report(void *arg)
{
    struct store_task *task = arg;
    struct err *failure = task->failure; /* the task may be gone after done */

    store_metrics_task(task, failure);
    task->done(task->arg, failure);
    failure_free(failure);
}

const struct errand_kind store_task_kind = {.report = on_task_report};

static void report_all(struct store_thread *t, struct store_task *tasks, const struct err *failure)
{
    while (tasks != NULL) {
        struct store_task *next = tasks->next;

        if (tasks->failure == NULL && failure != NULL)
            tasks->failure = failure_new(failure);
        if (tasks->failure != NULL)
            housekeeping_note(t->store, tasks->failure);
        else if (tasks->access == STORE_WRITE)
            health_good(&t->store->health);
        errand_report(&tasks->errand);
        tasks = next;
    }
}

/* ---- running */

/* A statement that failed fails the task, whatever the task has made of it. */
static int run_task(struct store_session *s, struct store_task *task)
{
    struct err failure;
    int rc = task->work(s, task->arg, &failure);

    if (rc == 0 && s->in_transaction && s->failure.code != ERR_NONE) {
        failure = s->failure;
        rc = -1;
    }
    if (rc == -1)
        task->failure = failure_new(&failure);
    return rc;
}

/* Runs one of several tasks in a transaction. -1: the transaction cannot go on; when the database
 * has ended it already, then because of what made the task fail. */
static int work_apart(struct store_session *s, struct store_task *task, struct err *reterr)
{
    int rc;

    if (s->driver->script(s->db, "SAVEPOINT task", reterr) == -1)
        return -1;
    s->failure.code = ERR_NONE;
    rc = run_task(s, task);
    s->failure.code = ERR_NONE;
    if (rc == 0)
        return s->driver->script(s->db, "RELEASE task", reterr);
    rc = s->driver->script(s->db, "ROLLBACK TO task; RELEASE task", reterr);
    if (rc == -1)
        *reterr = *task->failure;
    return rc;
}

static int write_several(struct store_session *s, struct store_task *tasks, struct err *reterr)
{
    if (session_begin(s, STORE_WRITE, reterr) == -1)
        return -1;
    for (struct store_task *task = tasks; task != NULL; task = task->next) {
        if (work_apart(s, task, reterr) == -1) {
            session_rollback(s);
            return -1;
        }
    }
    return session_commit(s, reterr);
}

static int write_one(struct store_session *s, struct store_task *task, struct err *reterr)
{
    if (session_begin(s, STORE_WRITE, reterr) == -1)
        return -1;
    if (run_task(s, task) == 0)
        return session_commit(s, reterr);
    session_rollback(s);
    return 0; /* its failure is its own */
}

static int attempt_tasks(struct store_thread *t, struct store_task *tasks, struct err *reterr)
{
    struct store_session *s = &t->session;

    s->commit_sent = false;
    if (store_thread_connect(t, tasks->since_ms, reterr) == -1)
        return -1;
    if (tasks->next != NULL)
        return write_several(s, tasks, reterr);
    if (tasks->access == STORE_WRITE)
        return write_one(s, tasks, reterr);
    (void)run_task(s, tasks);
    return 0;
}

static void failures_drop(struct store_task *tasks)
{
    for (struct store_task *task = tasks; task != NULL; task = task->next) {
        failure_free(task->failure);
        task->failure = NULL;
    }
}

/* Fails tasks whose connection was lost before the answer to COMMIT came. */
static void set_in_doubt(struct store_thread *t, struct err *e)
{
    locks_doubt(&t->session);
    err_set(e, ERR_STORE,
            "The connection to the store was lost while it was saving: it may have saved or not.");
}

static void run_tasks(struct store_thread *t, struct store_task *tasks)
{
    enum { ATTEMPTS = 2 };
    struct store_session *s = &t->session;
    struct err failure;
    int rc = -1;

    for (int i = 0; i < ATTEMPTS; i++) {
        failures_drop(tasks);
        rc = attempt_tasks(t, tasks, &failure);
        if (s->db == NULL || !session_is_lost(s))
            break;
        session_disconnect(s);
        if (s->commit_sent || (rc == 0 && tasks->failure == NULL))
            break;
    }
    if (rc == -1 && s->commit_sent && s->db == NULL)
        set_in_doubt(t, &failure);
    report_all(t, tasks, rc == 0 ? NULL : &failure);
}

void store_thread_main(void *thread)
{
    struct store_thread *t = thread;
    bool is_closed = false;

    while (!is_closed) {
        struct store_task *tasks =
            queue_take(t->queue, t->batch, housekeeping_wait_ms(t), &is_closed);

        if (tasks != NULL)
            run_tasks(t, tasks);
        if (!is_closed && t->queue == t->store->queue_for[STORE_WRITE])
            housekeeping_run(t);
    }
    housekeeping_end(t);
}
