/* sandbox_task.c -- work for a worker, as an errand at the hub's loop. */
#include "sandbox/sandbox_internal.h"

#include <stdlib.h>

/* ---- on the worker's thread: the end */

static void task_free(void *arg)
{
    struct sandbox_task *t = arg;

    arena_fini(&t->memory);
    free(t);
}

static void task_report(void *arg)
{
    struct sandbox_task *t = arg;

    t->handler->on_done(t->arg, &t->outcome);
    task_free(t);
}

/* ---- on the hub's thread */

void sandbox_task_end(struct sandbox_task *t, const struct sandbox_outcome *outcome)
{
    t->outcome = *outcome;
    t->outcome.message =
        outcome->message.len == 0 ? STR("") : arena_dup(&t->memory, outcome->message);
    if (str_is_none(t->outcome.message))
        t->outcome.message = STR("The gateway ran out of memory.");
    errand_report(&t->errand);
}

void sandbox_task_fail(struct sandbox_task *t, enum sandbox_failure failure, str message)
{
    sandbox_task_end(t, &(struct sandbox_outcome){.failure = failure, .message = message});
}

static void task_begin(void *arg)
{
    sandbox_work_begin(arg);
}

static void task_abort(void *arg)
{
    sandbox_work_abort(arg);
}

/* ---- on the worker's thread: the start */

/* Copies a text; STR_NONE becomes "". */
static str copy_text(struct sandbox_task *t, str text)
{
    return arena_dup(&t->memory, str_is_none(text) ? STR("") : text);
}

static bool copy_request(struct sandbox_task *t, const struct sandbox_request *from)
{
    struct sandbox_request *r = &t->request;

    *r = *from;
    r->owner = copy_text(t, from->owner);
    r->container_id = copy_text(t, from->container_id);
    r->code = copy_text(t, from->code);
    r->name = copy_text(t, from->name);
    r->file_id = copy_text(t, from->file_id);
    return !str_is_none(r->owner) && !str_is_none(r->container_id) && !str_is_none(r->code) &&
           !str_is_none(r->name) && !str_is_none(r->file_id);
}

struct sandbox_task *sandbox_start(struct sandbox_hub *hub, struct loop *loop,
                                   const struct sandbox_request *request,
                                   const struct sandbox_handler *handler, void *arg,
                                   struct err *reterr)
{
    static const struct errand_kind kind = {task_begin, task_abort, task_report, task_free};
    struct sandbox_task *t = calloc(1, sizeof(*t));

    if (t != NULL)
        *t = (struct sandbox_task){.hub = hub, .handler = handler, .arg = arg};
    if (t == NULL || !copy_request(t, request)) {
        if (t != NULL)
            task_free(t);
        err_set_no_memory(reterr);
        return NULL;
    }
    errand_begin(&t->errand, &kind, t, loop, hub->loop);
    return t;
}

void sandbox_cancel(struct sandbox_task *t)
{
    errand_cancel(&t->errand);
}
