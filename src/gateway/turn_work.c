/* turn_work.c -- steps of a turn that take long for large requests.
 *
 * Reading 32 MiB, or writing it for the upstream, takes tenths of a second, in which the worker
 * would answer nobody else. So a step says how much it has to do, and what is large is done on the
 * pool of threads (loop_offload()) while the turn waits. Meanwhile the turn belongs to that thread:
 * reports of the client, the timer, or a worker that ends, only leave word, and are heeded when the
 * step has ended. A turn that is small never comes here but for one comparison. */
#include <stdatomic.h>
#include <stdlib.h>

#include "ev/loop_hold.h"
#include "gateway/turn_internal.h"
#include "gateway/turn_log.h"

struct turn_work {
    struct loop_job job;
    struct turn *turn;
    const struct turn_step *step;
    int rc;
    struct err error;    /* when rc is -1 */
    atomic_bool is_gone; /* the client left meanwhile */
    bool is_refused;     /* turn_fail() was called meanwhile */
    struct err refusal;
};

size_t turn_weight(const struct turn *t)
{
    return t->body_bytes + t->arena.used + t->echo.len +
           (t->has_response ? t->response.used_bytes : 0);
}

static void run_step(void *arg)
{
    struct turn_work *w = arg;

    if (!atomic_load(&w->is_gone) || w->step->needs_no_client) /* else go_on() ends the turn */
        w->rc = w->step->work(w->turn, &w->error);
}

/* What failed after the model was asked, or tools were, is a response that has failed. */
static void fail_step(struct turn *t, struct err *e)
{
    turn_explain_size(t, e);
    if (t->state == TURN_TOOLS || t->state == TURN_CALLS || t->state == TURN_ROUND)
        turn_fail(t, e);
    else
        turn_refuse(t, e);
}

static void go_on(struct turn *t, const struct turn_work *w)
{
    struct err e = w->error;

    if (t->x == NULL && !w->step->needs_no_client) {
        turn_cancel_call(t);
        return;
    }
    if (t->call != NULL && !t->is_blocked)
        http_call_resume(t->call);
    if (w->is_refused && !w->step->needs_no_client)
        turn_fail(t, &w->refusal);
    else if (w->rc == -1 || w->step->then(t, &e) == -1)
        fail_step(t, &e);
}

/* The client has left: what the log shows of its request goes with the exchange. */
static void log_gone(struct turn *t)
{
    const struct turn_summary s = turn_summarize(t);

    turn_log_gone(&s);
    t->x = NULL;
}

static void on_step_done(void *arg)
{
    struct turn_work *w = arg;
    struct turn *t = w->turn;
    struct http_exchange *const held = t->held;

    loop_hold_by(w->step->name);
    t->work = NULL;
    t->held = NULL;
    if (!w->is_gone)
        http_exchange_release(held);
    else
        log_gone(t);
    go_on(t, w);
    if (w->is_gone)
        http_exchange_release(held);
    free(w);
    turn_free_if_over(t);
}

int turn_step(struct turn *t, size_t weight, const struct turn_step *step, struct err *reterr)
{
    struct turn_work *w;

    if (weight < WORKER_LARGE_BYTES)
        return step->work(t, reterr) == -1 ? -1 : step->then(t, reterr);
    w = calloc(1, sizeof(*w));
    if (w == NULL) {
        err_set_no_memory(reterr);
        return -1;
    }
    w->job = (struct loop_job){.work = run_step, .done = on_step_done, .arg = w};
    w->turn = t;
    w->step = step;
    if (step->hears_call && t->call != NULL)
        http_call_pause(t->call);
    else
        turn_cancel_call(t); /* it may be reading its end, and would report that */
    t->work = w;
    t->held = t->x;
    http_exchange_hold(t->held);
    loop_offload(t->worker->loop, &w->job);
    return 0;
}

void turn_keep_failure(struct turn *t, const struct err *failure)
{
    static const struct err lost = {.code = ERR_INTERNAL, .msg = "The gateway ran out of memory."};
    struct err *kept = failure == NULL ? NULL : arena_alloc(&t->kept, sizeof(*kept));

    if (kept != NULL)
        *kept = *failure;
    t->failure = failure == NULL ? NULL : kept != NULL ? kept : &lost;
}

void turn_work_leave(struct turn_work *w)
{
    atomic_store(&w->is_gone, true);
}

void turn_work_refuse(struct turn_work *w, const struct err *e)
{
    w->is_refused = true;
    w->refusal = *e;
}
