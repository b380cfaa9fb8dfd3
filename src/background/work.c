/* work.c -- a claimed response, from its turn to its end in the store. */
#include "background/work.h"

#include <stdlib.h>

#include "background/agents.h"
#include "background/poll_cache.h"
#include "background/unfinished.h"
#include "ev/log.h"
#include "turn/turn.h"

struct work *work_new(struct agent *a)
{
    struct work *work = calloc(1, sizeof(*work));

    if (work == NULL)
        return NULL;
    work->agent = a;
    arena_init(&work->arena, 0);
    arena_init(&work->end_arena, 0);
    return work;
}

void work_free(struct work *work)
{
    arena_fini(&work->arena);
    arena_fini(&work->end_arena);
    buf_fini(&work->ask.out);
    free(work);
}

/* The work is done with; an ask under way still needs it. */
static void end_work(struct work *work)
{
    background_end_work(work->agent, work);
    work->is_over = true;
    if (!work->is_asking)
        work_free(work);
}

/* A response that has ended is not shown as running. */
static void forget_polls(const struct work *work)
{
    poll_cache_drop(work->agent->background->polls, work->claimed.owner, work->claimed.id);
}

/* ---- not now */

static void give_up(struct work *work)
{
    store_release_work(work->agent->worker->store, work->claimed.lock);
    end_work(work);
}

/* Work that cannot be done now is done in a while, by this worker or by another gateway. */
static void put_off(struct work *work)
{
    struct agent *a = work->agent;

    arena_fini(&work->end_arena); /* all is read again then, and what waits may be many */
    if (a->worker->is_draining)
        give_up(work);
    else
        LIST_INSERT_HEAD(&a->unended, work, unended);
}

/* ---- a turn */

/* The worker ends, memory is short, or the store fails: as turn.h says. */
static bool may_be_made_later(const struct err *failure)
{
    return failure->code == ERR_OVERLOADED || failure->code == ERR_STORE ||
           failure->code == ERR_STORE_AWAY;
}

static void on_turn_end(void *arg, const struct err *failure)
{
    struct work *work = arg;

    forget_polls(work);
    if (failure == NULL) {
        end_work(work);
    } else if (may_be_made_later(failure)) {
        work->is_given_back = true;
        put_off(work);
    } else {
        work_finish(work, failure);
    }
}

/* Claims of one response that was never begun, most: it may end the process, or never find room. They are
 * a second apart at least. */
enum { CLAIMS_MOST = 100 };

static void refuse_claim(struct work *work)
{
    struct err why;

    err_set(&why, ERR_INTERNAL, "The response could not be begun, although it was tried %d times.",
            CLAIMS_MOST);
    background_add_work(work->agent, work);
    work_finish(work, &why);
}

static void start_turn(struct work *work)
{
    const struct store_work *c = &work->claimed;
    const struct turn_work turn = {.id = c->id,
                                   .owner = c->owner,
                                   .lock = c->lock,
                                   .created_at = c->created_at,
                                   .request = c->request.body,
                                   .is_cancelled = c->is_cancelled,
                                   .on_end = on_turn_end,
                                   .arg = work};

    background_add_work(work->agent, work);
    turn_begin_work(work->agent->worker, &turn);
}

void work_start(struct work *work)
{
    if (work->claimed.n_claims > CLAIMS_MOST)
        refuse_claim(work);
    else
        start_turn(work);
}

static void on_answered(void *arg, enum running_outcome outcome)
{
    struct work *work = arg;

    (void)outcome;
    work->is_asking = false;
    if (work->is_over)
        work_free(work);
}

void work_cancel(struct work *work)
{
    const struct worker *w = work->agent->worker;

    if (work->is_asking)
        return;
    work->ask = (struct running_ask){.wish = RUNNING_CANCEL,
                                     .owner = work->claimed.owner,
                                     .id = work->claimed.id,
                                     .report = on_answered,
                                     .arg = work};
    work->is_asking = running_ask(w->running, &work->ask, w->loop);
}

/* ---- an end that is made here */

static void log_finished(const struct work *work)
{
    log_line(LOG_WARN, "background",
             (struct log_field[]){LOG_STR("response_id", work->claimed.id),
                                  LOG_STR("outcome", work->record.status == STORE_CANCELLED
                                                         ? STR("cancelled")
                                                         : STR("failed")),
                                  LOG_STR("message", str_from_c(work->why.msg)), LOG_END});
}

static void start_task(struct work *work, enum store_access access,
                       int (*task)(struct store_session *s, void *arg, struct err *reterr),
                       void (*done)(void *arg, const struct err *failure))
{
    work->task = (struct store_task){.access = access,
                                     .work = task,
                                     .done = done,
                                     .arg = work,
                                     .loop = work->agent->worker->loop};
    store_start(work->agent->worker->store, &work->task);
}

static int store_end(struct store_session *s, void *arg, struct err *reterr)
{
    struct work *work = arg;

    return store_finish_work(s, work->claimed.owner, &work->record, &work->outcome, reterr);
}

static void on_end_stored(void *arg, const struct err *failure)
{
    struct work *work = arg;

    forget_polls(work);
    if (failure != NULL) {
        put_off(work);
        return;
    }
    if (work->outcome == STORE_GO_ON)
        log_finished(work);
    end_work(work);
}

/* On the pool: much may have been said. */
static void make_end(void *arg)
{
    struct work *work = arg;
    const struct unfinished u = {.head = work->events.response.head,
                                 .tail = work->events.response.tail,
                                 .rows = work->events.rows,
                                 .n_rows = work->events.n_rows};
    struct err e;

    work->is_failed = unfinished_end(&u, &work->why, work->agent->worker->config, &work->end_arena,
                                     &work->record, &e) == -1;
    work->record.id = work->claimed.id;
    work->record.lock = work->claimed.lock;
}

static void on_end_made(void *arg)
{
    struct work *work = arg;

    if (work->is_failed)
        put_off(work);
    else
        start_task(work, STORE_WRITE, store_end, on_end_stored);
}

static int read_events(struct store_session *s, void *arg, struct err *reterr)
{
    struct work *work = arg;

    arena_fini(&work->end_arena); /* it may be the second run */
    return unfinished_load(s, work->claimed.owner, work->claimed.id, &work->end_arena,
                           &work->events, reterr);
}

static void on_events(void *arg, const struct err *failure)
{
    struct work *work = arg;

    if (failure != NULL && failure->code != ERR_NOT_FOUND) {
        put_off(work);
    } else if (failure != NULL || store_status_is_terminal(work->events.status)) {
        forget_polls(work);
        end_work(work); /* it was deleted, or has ended otherwise */
    } else {
        work->job = (struct loop_job){.work = make_end, .done = on_end_made, .arg = work};
        loop_offload(work->agent->worker->loop, &work->job);
    }
}

void work_finish(struct work *work, const struct err *why)
{
    work->why = *why;
    start_task(work, STORE_READ, read_events, on_events);
}

void work_finish_again(struct work *work)
{
    struct err e;

    if (work->agent->worker->is_draining || work->is_given_back)
        give_up(work);
    else if (store_refuses(work->agent->worker->store, STORE_WRITE, &e))
        put_off(work);
    else
        start_task(work, STORE_READ, read_events, on_events);
}
