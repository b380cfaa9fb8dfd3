/* turn_work.c -- steps of a turn that take long for large requests.
 *
 * Reading 32 MiB, or writing it for the upstream, takes tenths of a second, in which the worker
 * would answer nobody else. So a step says how much it has to do, and what is large is done on the
 * pool of threads (flight_offload()) while the turn waits. A turn that is small never comes here but
 * for one comparison. */
#include "ev/loop_hold.h"
#include "gateway/turn_internal.h"

size_t turn_weight(const struct turn *t)
{
    return t->flight.body_bytes + t->flight.arena.used + t->echo.len +
           (t->has_response ? t->response.used_bytes : 0);
}

static int run_step(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    if (flight_is_gone(&t->flight) && !t->step->needs_no_client)
        return 0; /* end_step() ends the turn */
    return t->step->work(t, reterr);
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

static void end_step(void *arg, const struct err *failure)
{
    struct turn *t = arg;
    const struct turn_step *step = t->step;
    struct err e;

    loop_hold_by(step->name);
    t->step = NULL;
    if (t->flight.x == NULL && !step->needs_no_client)
        return;
    if (failure != NULL)
        e = *failure;
    if (failure != NULL || step->then(t, &e) == -1)
        fail_step(t, &e);
}

int turn_step(struct turn *t, size_t weight, const struct turn_step *step, struct err *reterr)
{
    if (weight < WORKER_LARGE_BYTES)
        return step->work(t, reterr) == -1 ? -1 : step->then(t, reterr);
    if (!step->hears_call)
        flight_cancel_call(&t->flight); /* it may be reading its end, and would report that */
    t->step = step;
    flight_offload(&t->flight, run_step, end_step);
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
