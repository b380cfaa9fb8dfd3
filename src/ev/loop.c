/* loop.c -- the libuv loop with what our objects need around it.
 *
 *     timers -> posted messages, socket events -> deferred functions -> closed handles
 *     \______________________ one turn of the loop ___________________________________/
 *
 * Deferred functions run from a check handle, right after the socket events of
 * the turn. While some are waiting an idle handle is active as well: it keeps
 * the loop from sleeping, so a function deferred by a timer does not wait for
 * the next socket event. */
#include "ev/loop.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/budget.h"

#include "ev/loop_hold.h"

/* A function to run once: posted by another thread or deferred by this one. */
struct task {
    void (*fn)(void *arg);
    void *arg;
    struct task *next;
};

struct task_queue {
    struct task *first, **end;
};

/* Work for the pool. */
struct job {
    struct loop *loop;
    void (*work)(void *arg);
    void (*done)(void *arg);
    void *arg;
    enum budget_use use; /* what its thread takes memory for is that of who asked for it */
    struct job *next;
};

struct loop {
    uv_loop_t uv;
    uv_async_t wake;      /* another thread has posted */
    uv_check_t check;     /* runs the deferred functions */
    uv_prepare_t prepare; /* the loop is about to sleep */
    uv_idle_t no_wait;    /* active while functions are deferred */
    uv_mutex_t lock;      /* guards posted; nothing else is taken while it is held */
    struct task_queue posted;
    struct task_queue deferred;
    struct loop_hold hold;
    uv_work_t on_pool;                /* of the first job; while there are any */
    struct job *first_job, *last_job; /* the first runs, the others wait */
    size_t n_jobs;
    char scratch[LOOP_SCRATCH_BYTES];
};

struct loop_timer {
    uv_timer_t uv;
    void (*fn)(void *arg);
    void *arg;
};

static void queue_init(struct task_queue *q)
{
    q->first = NULL;
    q->end = &q->first;
}

static void queue_push(struct task_queue *q, struct task *t)
{
    *q->end = t;
    q->end = &t->next;
}

/* Empties the queue and returns what was in it. */
static struct task *queue_take(struct task_queue *q)
{
    struct task *all = q->first;

    queue_init(q);
    return all;
}

static struct task *task_new(void (*fn)(void *arg), void *arg)
{
    struct task *t = malloc(sizeof(*t));

    if (t != NULL)
        *t = (struct task){.fn = fn, .arg = arg};
    return t;
}

/* Tasks that these push come in the next turn, so a task that defers itself
 * does not starve the sockets. */
static void tasks_run(struct task *t)
{
    while (t != NULL) {
        struct task *next = t->next;

        t->fn(t->arg);
        free(t);
        t = next;
    }
}

static void tasks_drop(struct task *t)
{
    while (t != NULL) {
        struct task *next = t->next;

        free(t);
        t = next;
    }
}

static struct task *posted_take(struct loop *loop)
{
    struct task *all;

    uv_mutex_lock(&loop->lock);
    all = queue_take(&loop->posted);
    uv_mutex_unlock(&loop->lock);
    return all;
}

static void on_wake(uv_async_t *wake)
{
    tasks_run(posted_take(wake->data));
}

static void on_check(uv_check_t *check)
{
    struct loop *loop = check->data;

    loop_hold_begin(&loop->hold, uv_now(&loop->uv));
    uv_idle_stop(&loop->no_wait);
    tasks_run(queue_take(&loop->deferred));
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct loop *loop = prepare->data;

    loop_hold_end(&loop->hold);
}

static void on_no_wait(uv_idle_t *idle)
{
    (void)idle; /* being active is all it does */
}

/* After uv_loop_init() only the async handle can fail, and it is made first, so
 * a loop without its handles is closed by uv_loop_close() alone. */
static int handles_init(struct loop *loop)
{
    int rc = uv_async_init(&loop->uv, &loop->wake, on_wake);

    if (rc != 0)
        return rc;
    uv_check_init(&loop->uv, &loop->check);
    uv_idle_init(&loop->uv, &loop->no_wait);
    uv_prepare_init(&loop->uv, &loop->prepare);
    loop->wake.data = loop->check.data = loop->prepare.data = loop;
    uv_prepare_start(&loop->prepare, on_prepare); /* neither can fail */
    return uv_check_start(&loop->check, on_check);
}

struct loop *loop_new(struct err *reterr)
{
    struct loop *loop = calloc(1, sizeof(*loop));
    int rc = UV_ENOMEM;

    if (loop == NULL)
        goto failed;
    queue_init(&loop->posted);
    queue_init(&loop->deferred);
    rc = uv_loop_init(&loop->uv);
    if (rc != 0)
        goto failed;
    rc = uv_mutex_init(&loop->lock);
    if (rc != 0)
        goto close_uv;
    rc = handles_init(loop);
    if (rc == 0)
        return loop;
    uv_mutex_destroy(&loop->lock);
close_uv:
    (void)uv_loop_close(&loop->uv);
failed:
    free(loop);
    err_set(reterr, ERR_INTERNAL, "event loop: %s", uv_strerror(rc));
    return NULL;
}

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* Deferred functions free things and close handles, whose closing may defer
 * again: the loop turns until nothing is left. Only then are handles closed
 * that nobody closed. */
void loop_free(struct loop *loop)
{
    if (loop == NULL)
        return;
    close_handle((uv_handle_t *)&loop->wake, NULL);
    while (loop->deferred.first != NULL) {
        tasks_run(queue_take(&loop->deferred));
        (void)uv_run(&loop->uv, UV_RUN_NOWAIT);
    }
    uv_walk(&loop->uv, close_handle, NULL);
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
    tasks_drop(loop->deferred.first);
    tasks_drop(loop->posted.first);
    (void)uv_loop_close(&loop->uv);
    uv_mutex_destroy(&loop->lock);
    free(loop);
}

void loop_run(struct loop *loop)
{
    loop->hold.woken_ms = 0; /* what was done since it was run last held nobody up */
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void loop_stop(struct loop *loop)
{
    uv_stop(&loop->uv);
}

uv_loop_t *loop_uv(struct loop *loop)
{
    return &loop->uv;
}

char *loop_scratch(struct loop *loop)
{
    return loop->scratch;
}

uint64_t loop_now_ms(const struct loop *loop)
{
    return uv_now(&loop->uv);
}

bool loop_post(struct loop *loop, void (*fn)(void *arg), void *arg)
{
    struct task *t = task_new(fn, arg);

    if (t == NULL)
        return false;
    uv_mutex_lock(&loop->lock);
    queue_push(&loop->posted, t);
    uv_mutex_unlock(&loop->lock);
    (void)uv_async_send(&loop->wake);
    return true;
}

bool loop_defer(struct loop *loop, void (*fn)(void *arg), void *arg)
{
    struct task *t = task_new(fn, arg);

    if (t == NULL)
        return false;
    queue_push(&loop->deferred, t);
    (void)uv_idle_start(&loop->no_wait, on_no_wait);
    return true;
}

/* ---- work on the pool */

static void run_job(uv_work_t *on_pool)
{
    const struct job *j = on_pool->data;
    enum budget_use before = budget_use_for(j->use);

    j->work(j->arg);
    (void)budget_use_for(before);
}

static void on_job_done(uv_work_t *on_pool, int status);

static void start_job(struct loop *loop)
{
    loop->on_pool.data = loop->first_job;
    (void)uv_queue_work(&loop->uv, &loop->on_pool, run_job, on_job_done); /* cannot fail */
}

/* The next one begins before this one's owner, who may take a while, hears of its end. */
static void on_job_done(uv_work_t *on_pool, int status)
{
    struct job *j = on_pool->data;
    struct loop *loop = j->loop;
    enum budget_use before;

    (void)status; /* nothing is cancelled */
    loop->first_job = j->next;
    loop->n_jobs--;
    if (loop->first_job != NULL)
        start_job(loop);
    before = budget_use_for(j->use);
    j->done(j->arg);
    (void)budget_use_for(before);
    free(j);
}

bool loop_offload(struct loop *loop, void (*work)(void *arg), void (*done)(void *arg), void *arg)
{
    struct job *j = malloc(sizeof(*j));

    if (j == NULL)
        return false;
    *j = (struct job){.loop = loop, .work = work, .done = done, .arg = arg};
    j->use = budget_use_for(BUDGET_UNDER_WAY);
    (void)budget_use_for(j->use);
    loop->n_jobs++;
    if (loop->first_job != NULL) {
        loop->last_job->next = j;
        loop->last_job = j;
    } else {
        loop->first_job = loop->last_job = j;
        start_job(loop);
    }
    return true;
}

size_t loop_offloaded(const struct loop *loop)
{
    return loop->n_jobs;
}

void loop_pool_size(unsigned n_loops)
{
    enum { NAME_THREADS = 4, MOST_THREADS = 1024 }; /* libuv's default and its limit */
    const unsigned n =
        n_loops > MOST_THREADS - NAME_THREADS ? MOST_THREADS : n_loops + NAME_THREADS;
    char text[16];

    (void)snprintf(text, sizeof(text), "%u", n);
    (void)setenv("UV_THREADPOOL_SIZE", text, 0);
}

/* ---- timers */

struct loop_timer *loop_timer_new(struct loop *loop, void (*fn)(void *arg), void *arg)
{
    struct loop_timer *timer = malloc(sizeof(*timer));

    if (timer == NULL)
        return NULL;
    timer->fn = fn;
    timer->arg = arg;
    (void)uv_timer_init(&loop->uv, &timer->uv); /* cannot fail */
    timer->uv.data = timer;
    return timer;
}

static void on_timer(uv_timer_t *uv)
{
    struct loop_timer *timer = uv->data;

    timer->fn(timer->arg);
}

void loop_timer_start(struct loop_timer *timer, uint64_t after_ms)
{
    (void)uv_timer_start(&timer->uv, on_timer, after_ms, 0);
}

void loop_timer_stop(struct loop_timer *timer)
{
    (void)uv_timer_stop(&timer->uv);
}

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void loop_timer_free(struct loop_timer *timer)
{
    if (timer != NULL)
        uv_close((uv_handle_t *)&timer->uv, on_timer_closed);
}
