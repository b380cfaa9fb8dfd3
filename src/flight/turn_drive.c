/* turn_drive.c -- runs stages until one waits. */
#include "flight/turn_drive.h"

#include "base/budget.h"
#include "ev/log.h"
#include "ev/loop_hold.h"
#include "flight/flight_spans.h"
#include "flight/reach.h"
#include "flight/worker.h"

static const struct turn_stage *stage_of(const struct flight *f)
{
    return &f->ops->front->stages[f->stage];
}

const char *flight_describe(const struct flight *f, struct flight_view *ret)
{
    *ret = (struct flight_view){.id = STR_NONE, .model = STR_NONE};
    if (!f->is_on_pool)
        f->ops->describe(f, ret);
    return f->ops->front == NULL ? "relay" : stage_of(f)->name;
}

void turn_move(struct flight *f, unsigned char to)
{
    const char *const from = stage_of(f)->name;

    f->stage = to;
    f->has_worked = false;
    loop_hold_by(stage_of(f)->name);
    flight_spans_stage(f, stage_of(f)->span);
    if (log_is_on(LOG_DEBUG))
        log_line(LOG_DEBUG, "turn_state",
                 (struct log_field[]){LOG_STR("request_id", f->request_id),
                                      LOG_STR("from", str_from_c(from)),
                                      LOG_STR("to", str_from_c(stage_of(f)->name)), LOG_END});
}

/* A client that has left before its work begins is spared most of it: the drive ends the turn. */
static int work_elsewhere(void *arg, struct err *reterr)
{
    struct flight *f = arg;

    if (flight_is_gone(f) && !stage_of(f)->needs_no_client)
        return 0;
    return stage_of(f)->work(f, reterr);
}

static void on_worked(void *arg, const struct err *failure)
{
    struct flight *f = arg;

    loop_hold_by(stage_of(f)->name);
    buf_reset(&f->worker->out);
    if (failure != NULL && flight_has_client(f))
        f->ops->front->fail(f, failure);
    turn_drive(f);
}

static bool is_done(const struct flight *f)
{
    return f->stage == f->ops->front->done;
}

static enum turn_next do_work(struct flight *f, const struct turn_stage *s, struct err *reterr)
{
    if (s->weigh == NULL || s->weigh(f) < WORKER_LARGE_BYTES)
        return s->work(f, reterr) == -1 ? TURN_FAIL : TURN_GO;
    f->ops->front->send(f);
    if (is_done(f))
        return TURN_WAIT;
    if (!s->listens)
        flight_cancel_call(f); /* it may be reading its end, and would report that */
    flight_offload(f, work_elsewhere, on_worked);
    return TURN_WAIT;
}

static enum turn_next run_stage(struct flight *f, struct err *reterr)
{
    const struct turn_stage *s = stage_of(f);
    enum turn_next next = TURN_GO;

    if (s->work != NULL && !f->has_worked) {
        f->has_worked = true;
        next = do_work(f, s, reterr);
    }
    if (next == TURN_GO && !is_done(f) && s->run != NULL)
        next = s->run(f, reterr);
    return is_done(f) ? TURN_WAIT : next;
}

static bool may_go_on(const struct flight *f)
{
    return !f->is_on_pool && (flight_has_client(f) || stage_of(f)->needs_no_client);
}

void turn_drive(struct flight *f)
{
    const struct turn_front *front = f->ops->front;
    const bool is_new = f->stage < front->n_new;
    const enum budget_use before = is_new ? budget_use_for(BUDGET_NEW_WORK) : BUDGET_UNDER_WAY;
    enum turn_next next = TURN_GO;
    struct err e;

    while (next != TURN_WAIT && may_go_on(f)) {
        next = run_stage(f, &e);
        if (next == TURN_GO)
            turn_move(f, stage_of(f)->next);
        else if (next == TURN_ELSE)
            turn_move(f, stage_of(f)->otherwise);
        else if (next == TURN_END)
            turn_move(f, front->ended);
        else if (next == TURN_FAIL)
            front->fail(f, &e);
        else
            flight_spans_wait(f);
    }
    front->send(f);
    if (is_new)
        (void)budget_use_for(before);
}

void turn_wake(struct flight *f)
{
    buf_reset(&f->worker->out);
    turn_drive(f);
    flight_free_if_over(f);
}

/* ---- for all fronts */

bool turn_listens(const struct flight *f)
{
    return flight_has_client(f) && stage_of(f)->listens;
}

bool turn_hear_refusal(struct flight *f, str bytes)
{
    if (upstream_answer_keep(&f->answer, bytes))
        return false;
    flight_cancel_call(f);
    f->has_call_ended = true;
    return true;
}

void turn_read_refusal(struct flight *f, const struct err *failure, struct err *ret)
{
    if (f->answer.status == 0) {
        *ret = *failure;
        return;
    }
    upstream_answer_failed(&f->answer, NULL);
    upstream_answer_error(&f->answer, reach_passes_key(f), ret);
    reach_hide_keys(f, ret);
}

void turn_answered(struct flight *f, bool has_upstream_said_all)
{
    turn_move(f, f->ops->front->done);
    flight_answered(f, has_upstream_said_all);
}

const struct err *turn_keep_failure(struct arena *a, const struct err *failure)
{
    static const struct err lost = {.code = ERR_INTERNAL, .msg = "The gateway ran out of memory."};
    struct err *kept = failure == NULL ? NULL : arena_alloc(a, sizeof(*kept));

    if (kept != NULL)
        *kept = *failure;
    return failure == NULL ? NULL : kept != NULL ? kept : &lost;
}
