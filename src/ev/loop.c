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

#include "ev/loop_hold.h"

STAILQ_HEAD(message_queue, loop_message);

struct loop {
    uv_loop_t uv;
    uv_async_t wake;      /* another thread has posted */
    uv_check_t check;     /* runs the deferred functions */
    uv_prepare_t prepare; /* the loop is about to sleep */
    uv_idle_t no_wait;    /* active while functions are deferred */
    uv_mutex_t lock;      /* guards posted; nothing else is taken while it is held */
    struct message_queue posted;
    struct message_queue deferred;
    struct loop_hold hold;
    bool has_run_timer;               /* since the loop slept */
    uv_work_t on_pool;                /* of the first job; while there are any */
    STAILQ_HEAD(jobs, loop_job) jobs; /* the first runs, the others wait */
    size_t n_expected;                /* jobs and errands */
    char scratch[LOOP_SCRATCH_BYTES];
};

struct loop_timer {
    uv_timer_t uv;
    struct loop *loop;
    void (*fn)(void *arg);
    void *arg;
};

/* Empties the queue and returns what was in it. */
static struct loop_message *queue_take(struct message_queue *q)
{
    struct loop_message *all = STAILQ_FIRST(q);

    STAILQ_INIT(q);
    return all;
}

/* Marks a message as under way; false when it is already, and in a queue. */
static bool message_set_out(struct loop_message *m)
{
    return !atomic_exchange(&m->is_under_way, true);
}

/* The message belongs to its owner again before its function runs, which may free it. The exchange,
 * where a store would do otherwise, makes visible what was done before somebody sent it in vain. */
static void message_deliver(struct loop_message *m)
{
    void (*const fn)(void *arg) = m->fn;
    void *const arg = m->arg;

    (void)atomic_exchange(&m->is_under_way, false);
    fn(arg);
}

/* Messages sent by these run in the next turn of the loop, so one that sends itself does not starve
 * the sockets. */
static void messages_run(struct loop_message *m)
{
    while (m != NULL) {
        struct loop_message *next = STAILQ_NEXT(m, next);

        message_deliver(m);
        m = next;
    }
}

static struct loop_message *posted_take(struct loop *loop)
{
    struct loop_message *all;

    uv_mutex_lock(&loop->lock);
    all = queue_take(&loop->posted);
    uv_mutex_unlock(&loop->lock);
    return all;
}

static void on_wake(uv_async_t *wake)
{
    messages_run(posted_take(wake->data));
}

static void on_check(uv_check_t *check)
{
    struct loop *loop = check->data;

    loop_hold_begin(&loop->hold, uv_now(&loop->uv));
    uv_idle_stop(&loop->no_wait);
    messages_run(queue_take(&loop->deferred));
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct loop *loop = prepare->data;

    if (loop->has_run_timer)
        uv_update_time(&loop->uv); /* it looked at the clock before its timers ran */
    loop->has_run_timer = false;
    loop_hold_end(&loop->hold, uv_now(&loop->uv));
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
    STAILQ_INIT(&loop->posted);
    STAILQ_INIT(&loop->deferred);
    STAILQ_INIT(&loop->jobs);
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
    while (!STAILQ_EMPTY(&loop->deferred)) {
        messages_run(queue_take(&loop->deferred));
        (void)uv_run(&loop->uv, UV_RUN_NOWAIT);
    }
    uv_walk(&loop->uv, close_handle, NULL);
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
    (void)uv_loop_close(&loop->uv);
    uv_mutex_destroy(&loop->lock);
    free(loop);
}

void loop_run(struct loop *loop)
{
    loop->hold.woken_ms = 0; /* the time since the last run held nobody up */
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

void loop_post(struct loop *loop, struct loop_message *m)
{
    if (!message_set_out(m))
        return;
    uv_mutex_lock(&loop->lock);
    STAILQ_INSERT_TAIL(&loop->posted, m, next);
    (void)uv_async_send(&loop->wake); /* before anybody may take it: that may be the loop's end */
    uv_mutex_unlock(&loop->lock);
}

void loop_defer(struct loop *loop, struct loop_message *m)
{
    if (!message_set_out(m))
        return;
    STAILQ_INSERT_TAIL(&loop->deferred, m, next);
    (void)uv_idle_start(&loop->no_wait, on_no_wait);
}

bool loop_message_is_under_way(const struct loop_message *m)
{
    return atomic_load(&m->is_under_way);
}

/* ---- work on the pool */

static void run_job(uv_work_t *on_pool)
{
    const struct loop_job *j = on_pool->data;
    enum budget_use before = budget_use_for(j->use);

    j->work(j->arg);
    (void)budget_use_for(before);
}

static void on_job_done(uv_work_t *on_pool, int status);

static void start_job(struct loop *loop)
{
    loop->on_pool.data = STAILQ_FIRST(&loop->jobs);
    (void)uv_queue_work(&loop->uv, &loop->on_pool, run_job, on_job_done); /* cannot fail */
}

/* The next job starts before the owner of this one, who may take a while, hears of its end. */
static void on_job_done(uv_work_t *on_pool, int status)
{
    struct loop_job *j = on_pool->data;
    struct loop *loop = j->loop;
    enum budget_use before;

    (void)status; /* nothing is cancelled */
    STAILQ_REMOVE_HEAD(&loop->jobs, next);
    loop_receive(loop);
    if (!STAILQ_EMPTY(&loop->jobs))
        start_job(loop);
    before = budget_use_for(j->use);
    j->done(j->arg);
    (void)budget_use_for(before);
}

void loop_offload(struct loop *loop, struct loop_job *j)
{
    j->loop = loop;
    j->use = budget_use_for(BUDGET_UNDER_WAY); /* memory is taken for what its caller is */
    (void)budget_use_for(j->use);
    loop_expect(loop);
    STAILQ_INSERT_TAIL(&loop->jobs, j, next);
    if (STAILQ_FIRST(&loop->jobs) == j)
        start_job(loop);
}

void loop_expect(struct loop *loop)
{
    loop->n_expected++;
}

void loop_receive(struct loop *loop)
{
    loop->n_expected--;
}

size_t loop_n_expected(const struct loop *loop)
{
    return loop->n_expected;
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
    timer->loop = loop;
    timer->fn = fn;
    timer->arg = arg;
    (void)uv_timer_init(&loop->uv, &timer->uv); /* cannot fail */
    timer->uv.data = timer;
    return timer;
}

static void on_timer(uv_timer_t *uv)
{
    struct loop_timer *timer = uv->data;

    timer->loop->has_run_timer = true;
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
