/* turn_run.c -- begin and end of background work. */
#include "turn/turn_run.h"

#include "base/budget.h"
#include "turn/turn_internal.h"
#include "turn/work_request.h"

enum { POOL_LOOK_AGAIN_MS = 20, SAVE_AGAIN_MS = 1000 };

/* ---- the beginning */

static bool copy_text(struct arena *a, str text, str *ret)
{
    *ret = str_is_none(text) ? STR_NONE : arena_dup(a, text);
    return str_is_none(text) || !str_is_none(*ret);
}

static bool copy_work(struct turn_run *run, const struct turn_work *work)
{
    run->work = *work;
    return copy_text(&run->arena, work->id, &run->work.id) &&
           copy_text(&run->arena, work->owner, &run->work.owner) &&
           copy_text(&run->arena, work->lock, &run->work.lock) &&
           copy_text(&run->arena, work->request, &run->work.request);
}

static void add_header(struct turn_run *run, size_t *n, str name, str value)
{
    if (!str_is_none(value))
        run->headers[(*n)++] = (struct http_header){name, value};
}

/* What the client had sent, as far as it counts. */
static int make_nobody(struct turn_run *run, const struct worker *w, struct err *reterr)
{
    struct work_request r;
    struct owner_seal seal;
    size_t n = 0;

    owner_seal_init(&seal, w->request_keys, run->work.owner);
    if (work_request_read(run->work.request, &seal.text, &run->arena, &r, reterr) == -1)
        return -1;
    run->scope = r.scope;
    run->is_named = r.is_named;
    add_header(run, &n, STR("authorization"), r.authorization);
    add_header(run, &n, STR("traceparent"), r.traceparent);
    add_header(run, &n, STR("tracestate"), r.tracestate);
    run->nobody = (struct nobody){
        .request = {.method = STR("POST"),
                    .path = STR("/v1/responses"),
                    .query = STR(""),
                    .headers = run->headers,
                    .n_headers = n,
                    .body = r.body,
                    .has_body = true,
                    .peer = r.client},
        .body = r.body,
        .request_id = r.request_id,
    };
    return 0;
}

static void free_run(struct turn_run *run)
{
    loop_timer_free(run->deadline);
    loop_timer_free(run->clock);
    loop_timer_free(run->pulse);
    turn_journal_fini(&run->journal);
    arena_fini(&run->arena);
    budget_free(run, sizeof(*run));
}

/* The work's age is known in seconds, by a clock that may be set back. */
static uint64_t queued_ms(const struct turn_work *work)
{
    const int64_t s = clock_unix_s() - work->created_at;

    return s > 0 ? (uint64_t)s * 1000 : 0;
}

static struct turn_run *new_run(struct worker *w, const struct turn_work *work, struct err *reterr)
{
    struct turn_run *run = budget_alloc(sizeof(*run), sizeof(*run));

    if (run == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    arena_init(&run->arena, w->config->max_request_memory_bytes);
    run->is_cancelled = work->is_cancelled;
    run->queue_ms = queued_ms(work);
    if (!copy_work(run, work))
        err_set_no_memory(reterr);
    else if (make_nobody(run, w, reterr) == 0)
        return run;
    free_run(run);
    return NULL;
}

void turn_run_free(struct worker *w, struct turn_run *run)
{
    if (run == NULL)
        return;
    if (!run->is_reported)
        w->n_runs--;
    free_run(run);
}

/* ---- the end */

void turn_run_report(struct turn *t)
{
    struct turn_run *run = t->run;

    if (run->is_reported)
        return;
    run->is_reported = true;
    t->flight.worker->n_runs--;
    run->work.on_end(run->work.arg, run->failure);
}

void turn_run_give_up(struct turn *t, const struct err *e)
{
    t->run->failure = turn_keep_failure(&t->kept, e);
    turn_answer_nobody(t, e);
}

static void end_cancelled(struct turn *t)
{
    struct err e;

    (void)turn_fresh_out(t);
    flight_cancel_call(&t->flight);
    turn_stop_waiting(t);
    if (t->has_response) {
        response_cancel(&t->response, NULL);
        turn_move(&t->flight, TURN_RECORD);
    } else {
        err_set(&e, ERR_RESPONSE_CANCELLED, "The response was cancelled.");
        turn_run_give_up(t, &e);
    }
    turn_wake(&t->flight);
}

void turn_run_cancel(struct turn *t)
{
    struct turn_run *run = t->run;

    if (t->flight.stage >= TURN_RECORD)
        return;
    run->is_cancelled = t->flight.is_on_pool;
    if (run->is_cancelled)
        loop_timer_start(run->clock, POOL_LOOK_AGAIN_MS);
    else
        end_cancelled(t);
}

bool turn_run_saves_again(struct turn *t)
{
    const bool may_help =
        t->failure != NULL && (t->failure->code == ERR_STORE || t->failure->code == ERR_STORE_AWAY);

    if (may_help)
        loop_timer_start(t->run->clock, SAVE_AGAIN_MS);
    else
        t->run->failure = t->failure;
    return may_help;
}

/* ---- time */

static void on_clock(void *arg)
{
    struct turn *t = arg;

    if (!flight_has_client(&t->flight))
        return;
    if (t->flight.is_on_pool)
        loop_timer_start(t->run->clock, POOL_LOOK_AGAIN_MS);
    else if (t->flight.stage == TURN_SAVE && t->flight.n_tasks == 0)
        turn_save_again(t);
    else if (t->flight.stage >= TURN_RECORD)
        return;
    else if (t->run->is_cancelled)
        turn_run_cancel(t);
    else
        turn_journal_write(t);
}

/* An end that was not stored by then is not waited for any longer. */
static void on_deadline(void *arg)
{
    struct turn *t = arg;
    struct err e;

    if (!flight_has_client(&t->flight))
        return;
    if (t->flight.is_on_pool || (t->flight.stage >= TURN_RECORD && t->flight.n_tasks > 0)) {
        loop_timer_start(t->run->deadline, POOL_LOOK_AGAIN_MS);
        return;
    }
    err_set(&e, ERR_INTERNAL, "The response was not complete after %llu s (background_timeout).",
            (unsigned long long)(t->flight.worker->config->background_timeout_ms / 1000));
    if (t->flight.stage == TURN_SAVE)
        turn_run_give_up(t, t->failure);
    else if (t->flight.stage < TURN_RECORD)
        turn_end_early(t, &e);
    flight_free_if_over(&t->flight);
}

/* Readers get `keepalive` as a client does: it has a number, so it is an event like others. */
static void on_pulse(void *arg)
{
    struct turn *t = arg;
    const uint64_t interval_ms = t->flight.worker->config->keepalive_interval_ms;
    uint64_t next_ms = 0;

    if (!flight_has_client(&t->flight) || t->flight.stage >= TURN_RECORD)
        return;
    if (t->flight.is_on_pool) {
        next_ms = POOL_LOOK_AGAIN_MS;
    } else if (flight_is_due(&t->flight, &t->last_event_ms, interval_ms, &next_ms) &&
               t->run->is_started) {
        response_keepalive(&t->response, NULL);
        turn_journal_note(t);
    }
    loop_timer_start(t->run->pulse, next_ms);
}

static int start_run(struct turn *t, struct err *reterr)
{
    struct turn_run *run = t->run;
    const uint64_t timeout_ms = t->flight.worker->config->background_timeout_ms;
    const uint64_t keepalive_ms = t->flight.worker->config->keepalive_interval_ms;

    run->clock = loop_timer_new(t->flight.worker->loop, on_clock, t);
    run->deadline = loop_timer_new(t->flight.worker->loop, on_deadline, t);
    run->pulse = loop_timer_new(t->flight.worker->loop, on_pulse, t);
    if (run->clock == NULL || run->deadline == NULL || run->pulse == NULL)
        return err_set_no_memory(reterr);
    replay_init(&run->journal.walk);
    t->memory_scope = run->scope;
    if (timeout_ms > 0)
        loop_timer_start(run->deadline, timeout_ms);
    if (keepalive_ms > 0)
        loop_timer_start(run->pulse, keepalive_ms);
    if (run->is_cancelled)
        loop_timer_start(run->clock, 0);
    return 0;
}

static struct turn *new_turn(struct worker *w, struct turn_run *run, struct err *reterr)
{
    const struct caller caller = {.owner = run->work.owner,
                                  .name = run->is_named ? run->work.owner : STR_NONE,
                                  .allowance = api_keys_allowance(w->keys, run->work.owner)};
    struct turn *t = turn_new_run(w, peer_nobody(&run->nobody), &run->nobody.request, &caller);

    if (t == NULL) {
        err_set_no_memory(reterr);
        free_run(run);
        return NULL;
    }
    t->run = run;
    w->n_runs++;
    return t;
}

void turn_begin_work(struct worker *w, const struct turn_work *work)
{
    struct err e;
    struct turn_run *run = new_run(w, work, &e);
    struct turn *t = run == NULL ? NULL : new_turn(w, run, &e);

    if (t == NULL) {
        work->on_end(work->arg, &e);
        return;
    }
    if (start_run(t, &e) == -1)
        turn_run_give_up(t, &e);
    turn_wake(&t->flight);
}
