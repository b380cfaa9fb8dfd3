/* sandbox_task.c -- work for a worker: there, done, and back.
 *
 *     worker                    hub
 *     start    ---- begin ---->
 *              <--- report ----  it is over
 *     cancel   ---- abort ---->  ends it, if it is not over
 *              <--- release ---
 *
 * A task belongs to the hub from begin to report, but for what says so, and to its worker
 * afterwards. Who cancels waits for the release, which comes last even when a report has met the
 * abort on its way; so nobody ever sees a task that is gone. */
#include "sandbox/sandbox_internal.h"

#include <stdlib.h>

/* ---- on the worker's thread: the end */

static void task_free(struct sandbox_task *t)
{
    arena_fini(&t->memory);
    free(t);
}

static void task_release(void *arg)
{
    struct sandbox_task *t = arg;

    --*t->n_tasks;
    task_free(t);
}

static void task_report(void *arg)
{
    struct sandbox_task *t = arg;

    if (t->is_cancelled)
        return;
    t->handler->on_done(t->arg, &t->outcome);
    task_release(t);
}

/* ---- on the hub's thread */

void sandbox_task_end(struct sandbox_task *t, const struct sandbox_outcome *outcome)
{
    t->outcome = *outcome;
    t->outcome.message =
        outcome->message.len == 0 ? STR("") : arena_dup(&t->memory, outcome->message);
    if (str_is_none(t->outcome.message))
        t->outcome.message = STR("The gateway ran out of memory.");
    t->is_over = true;
    loop_post(t->loop, &t->report);
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
    struct sandbox_task *t = arg;

    if (!t->is_over)
        sandbox_work_abort(t);
    t->is_over = true;
    loop_post(t->loop, &t->release);
}

/* ---- on the worker's thread: the start */

/* STR_NONE is "". */
static str copy(struct sandbox_task *t, str text)
{
    return arena_dup(&t->memory, str_is_none(text) ? STR("") : text);
}

static bool copy_request(struct sandbox_task *t, const struct sandbox_request *from)
{
    struct sandbox_request *r = &t->request;

    *r = *from;
    r->owner = copy(t, from->owner);
    r->container_id = copy(t, from->container_id);
    r->code = copy(t, from->code);
    r->name = copy(t, from->name);
    r->file_id = copy(t, from->file_id);
    return !str_is_none(r->owner) && !str_is_none(r->container_id) && !str_is_none(r->code) &&
           !str_is_none(r->name) && !str_is_none(r->file_id);
}

struct sandbox_task *sandbox_start(struct sandbox_hub *hub, struct loop *loop, size_t *n_tasks,
                                   const struct sandbox_request *request,
                                   const struct sandbox_handler *handler, void *arg,
                                   struct err *reterr)
{
    struct sandbox_task *t = calloc(1, sizeof(*t));

    if (t != NULL)
        *t = (struct sandbox_task){
            .hub = hub,
            .begin = {.fn = task_begin, .arg = t},
            .report = {.fn = task_report, .arg = t},
            .abort = {.fn = task_abort, .arg = t},
            .release = {.fn = task_release, .arg = t},
            .loop = loop,
            .n_tasks = n_tasks,
            .handler = handler,
            .arg = arg,
        };
    if (t == NULL || !copy_request(t, request)) {
        if (t != NULL)
            task_free(t);
        err_set_no_memory(reterr);
        return NULL;
    }
    ++*n_tasks;
    loop_post(hub->loop, &t->begin);
    return t;
}

void sandbox_cancel(struct sandbox_task *t)
{
    t->is_cancelled = true;
    loop_post(t->hub->loop, &t->abort);
}
