/* agent.c -- one worker's part: it claims when it is told to, and hears the time. */
#include "background/agents.h"

#include <stdlib.h>

#include "base/budget.h"

enum { LOOK_EVERY_MS = 1000 };

/* ---- claiming */

/* Whose turn it was last is noted inside: claims of several agents, which the store takes one after the
 * other, are to go around as well. */
static str copy_last_owner(struct background *b, struct arena *a)
{
    str copy;

    uv_mutex_lock(&b->lock);
    copy = b->last_owner.len == 0 ? STR_NONE : arena_dup(a, buf_str(&b->last_owner));
    uv_mutex_unlock(&b->lock);
    return copy;
}

static void note_last_owner(struct background *b, str owner)
{
    uv_mutex_lock(&b->lock);
    buf_reset(&b->last_owner);
    buf_append(&b->last_owner, owner);
    uv_mutex_unlock(&b->lock);
}

static int claim_work(struct store_session *s, void *arg, struct err *reterr)
{
    struct work *work = arg;
    struct background *b = work->agent->background;
    const str last = copy_last_owner(b, &work->arena);

    if (store_claim_work(s, last, &work->arena, &work->claimed, &work->has_place, reterr) == -1)
        return -1;
    if (work->has_place)
        note_last_owner(b, work->claimed.owner);
    return 0;
}

static void on_claimed(void *arg, const struct err *failure)
{
    struct work *work = arg;
    struct agent *a = work->agent;
    const bool has_found = failure == NULL && work->has_place;
    const bool is_wanted = has_found && !a->worker->is_draining;

    a->claiming = NULL;
    if (has_found && !is_wanted)
        store_release_work(a->worker->store, work->claimed.lock);
    background_end_claim(a, is_wanted);
    if (is_wanted)
        work_start(work);
    else
        work_free(work);
}

/* Queued work waits for memory too: work that has begun may take the last of it. */
static bool may_claim(const struct agent *a)
{
    struct err e;

    return !a->worker->is_draining && !budget_is_short() &&
           !store_refuses(a->worker->store, STORE_WRITE, &e);
}

static void start_claim(struct agent *a)
{
    a->claiming = may_claim(a) ? work_new(a) : NULL;
    if (a->claiming == NULL) {
        background_end_claim(a, false); /* the next look has it tried again */
        return;
    }
    a->task = (struct store_task){.access = STORE_WRITE,
                                  .work = claim_work,
                                  .done = on_claimed,
                                  .arg = a->claiming,
                                  .loop = a->worker->loop};
    store_start(a->worker->store, &a->task);
}

static void on_wake(void *arg)
{
    struct agent *a = arg;
    bool is_to_claim;

    uv_mutex_lock(&a->background->lock);
    is_to_claim = a->is_claiming && a->claiming == NULL;
    uv_mutex_unlock(&a->background->lock);
    if (is_to_claim)
        start_claim(a);
    agent_hear_wishes(a);
}

/* ---- time */

/* Work whose end the store did not take is nobody's when the worker ends: others find it lost, or queued
 * if it was not begun. */
static void finish_unended(struct agent *a)
{
    struct work *work = LIST_FIRST(&a->unended), *next;

    for (; work != NULL; work = next) {
        next = LIST_NEXT(work, unended);
        LIST_REMOVE(work, unended);
        work_finish_again(work);
    }
}

/* A worker that rests may serve again, and what was queued meanwhile then waits for it. */
static void close_or_open_claims(struct agent *a)
{
    uv_mutex_lock(&a->background->lock);
    if (a->is_closed && !a->worker->is_draining)
        a->background->may_have_work = true;
    a->is_closed = a->worker->is_draining;
    background_dispatch(a->background);
    uv_mutex_unlock(&a->background->lock);
}

static void on_timer(void *arg)
{
    struct agent *a = arg;

    close_or_open_claims(a);
    finish_unended(a);
    agent_look(a);
    loop_timer_start(a->timer, LOOK_EVERY_MS);
}

/* ---- begin and end */

/* Accepted responses go on, whoever may ask now. */
static void ignore_keys(void *arg)
{
    (void)arg;
}

static void on_end(void *arg)
{
    struct agent *a = arg;
    struct background *b = a->background;

    worker_unwatch(&a->watcher);
    for (struct agent **at = &b->agents; *at != NULL; at = &(*at)->next) {
        if (*at == a) {
            *at = a->next;
            break;
        }
    }
    while (!LIST_EMPTY(&a->works)) {
        struct work *work = LIST_FIRST(&a->works);

        LIST_REMOVE(work, next);
        work_free(work);
    }
    if (a->claiming != NULL)
        work_free(a->claiming);
    agent_forget_look(a);
    loop_timer_free(a->timer);
    free(a);
}

int background_open_agent(struct background *b, struct worker *w, struct err *reterr)
{
    struct agent *a = calloc(1, sizeof(*a));

    if (a == NULL)
        return err_set_no_memory(reterr);
    *a = (struct agent){.background = b, .worker = w, .next = b->agents};
    a->timer = loop_timer_new(w->loop, on_timer, a);
    if (a->timer == NULL) {
        free(a);
        return err_set_no_memory(reterr);
    }
    a->wake = (struct loop_message){.fn = on_wake, .arg = a};
    a->watcher = (struct worker_watcher){.on_keys = ignore_keys, .on_end = on_end, .arg = a};
    b->agents = a;
    w->background = b;
    w->on_accepted = background_hint;
    worker_watch(w, &a->watcher);
    loop_timer_start(a->timer, 0);
    return 0;
}
