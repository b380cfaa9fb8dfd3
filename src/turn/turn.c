/* turn.c -- one client request to /v1/responses, from parse to last byte: what drives it.
 *
 *     RECOGNISE -> PARSE -> LOAD -> RESOLVE -> TOOLS -> LIST -> OFFER -> APPROVED -> CALLS -> DECIDE
 *                      \_____________^ \______________________________________________________^
 *
 *       DECIDE -> ASK -> ROUND -> CLOSE -> CALLS       a round, as often as DECIDE says so
 *                   \     ^ v  \    v
 *                    \   HEAR   \  SHORTEN -> ROUND    what was too long for the model is sent again
 *
 *     at any time, when the response has ended:       RECORD -> SAVE -> CONCLUDE -> DONE
 *     when it cannot be begun:                        DONE
 *
 * The table below names each stage, what it does, and what follows; turn_stages.h says it of each. Most
 * turns refer to nothing that is stored and use no server's tools, and go past those stages.
 *
 * Stages run one after the other until one waits. Whatever a turn waits for, the upstream, the store, a
 * tool, the timer, the pool, ends in a callback that leaves what it brought in the turn and wakes it:
 * turn_wake() goes on with the stage that waits. Only the bytes of an answer do not, which are most of
 * what ever happens: on_body() hands them to the round, and wakes the turn when that is over.
 *
 * What stages write goes into one buffer, and leaves before the turn waits. A turn is freed in turn_wake()
 * or by the flight that it is, when nobody has anything left to report to it. */
#include "turn/turn.h"

#include "base/budget.h"
#include "ev/log.h"
#include "ev/loop_hold.h"
#include "turn/turn_log.h"
#include "turn/turn_stages.h"
#include "upstream/upstream_watch.h"

/* ---- the first stage, and the last */

static enum turn_next await_upstream(struct turn *t, struct err *reterr)
{
    (void)reterr;
    if (t->awaits_upstream)
        return TURN_WAIT;
    t->facts = upstream_watch_facts(t->flight.worker->watch);
    return TURN_GO;
}

static enum turn_next is_done(struct turn *t, struct err *reterr)
{
    (void)t;
    (void)reterr;
    return TURN_WAIT;
}

/* ---- the table */

static const struct stage {
    const char *name;
    size_t (*weigh)(const struct turn *t);           /* how much work there is; NULL: never much */
    int (*work)(struct turn *t, struct err *reterr); /* or NULL */
    enum turn_next (*run)(struct turn *t, struct err *reterr); /* NULL: goes on */
    enum turn_state next, otherwise;                           /* after TURN_GO and TURN_ELSE */
    bool hears_call;      /* the upstream's call is paused during much work, else it is cancelled */
    bool needs_no_client; /* goes on when that has left */
} stages[] = {
    [TURN_RECOGNISE] = {"recognise", .run = await_upstream, .next = TURN_PARSE},
    [TURN_PARSE] = {"parse", turn_body_weight, turn_read_request, turn_check_request,
                    .next = TURN_LOAD, .otherwise = TURN_RESOLVE},
    [TURN_LOAD] = {"load", NULL, turn_start_loading, turn_await_loaded, .next = TURN_RESOLVE},
    [TURN_RESOLVE] = {"resolve", turn_weight, turn_complete_request, turn_pass_tools,
                      .next = TURN_TOOLS, .otherwise = TURN_DECIDE},
    [TURN_TOOLS] = {"tools", .run = turn_look_for_tools, .next = TURN_LIST},
    [TURN_LIST] = {"list", NULL, turn_start_listings, turn_await_listings, .next = TURN_OFFER},
    [TURN_OFFER] = {"offer", turn_weight, turn_offer_tools, .next = TURN_APPROVED},
    [TURN_APPROVED] = {"approved", .run = turn_announce_approved, .next = TURN_CALLS},
    [TURN_CALLS] = {"calls", NULL, turn_gather_calls, turn_run_calls, .next = TURN_DECIDE},
    [TURN_DECIDE] = {"decide", .run = turn_decide, .next = TURN_ASK},
    [TURN_ASK] = {"ask", turn_weight, turn_write_request, turn_ask, .next = TURN_ROUND},
    [TURN_ROUND] = {"round", .run = turn_await_round, .next = TURN_CLOSE, .otherwise = TURN_HEAR},
    [TURN_HEAR] = {"hear", turn_unread_weight, turn_hear_unread, turn_send_heard,
                   .next = TURN_ROUND, .hears_call = true},
    [TURN_CLOSE] = {"close", turn_round_weight, turn_close_round, turn_judge_round,
                    .next = TURN_CALLS, .otherwise = TURN_SHORTEN},
    [TURN_SHORTEN] = {"shorten", turn_weight, turn_write_shorter, turn_ask_again,
                      .next = TURN_ROUND},
    [TURN_RECORD] = {"record", turn_record_weight, turn_compose_record, .next = TURN_SAVE,
                     .needs_no_client = true},
    [TURN_SAVE] = {"save", NULL, turn_start_saving, turn_await_saved, .next = TURN_CONCLUDE,
                   .needs_no_client = true},
    [TURN_CONCLUDE] = {"conclude", turn_end_weight, turn_write_end, turn_send_end,
                       .next = TURN_DONE},
    [TURN_DONE] = {"done", .run = is_done},
};

/* ---- the driver */

static void move_turn(struct turn *t, enum turn_state to)
{
    loop_hold_by(stages[to].name);
    if (log_is_on(LOG_DEBUG))
        log_line(LOG_DEBUG, "turn_state",
                 (struct log_field[]){LOG_STR("request_id", t->flight.request_id),
                                      LOG_STR("from", str_from_c(stages[t->state].name)),
                                      LOG_STR("to", str_from_c(stages[to].name)), LOG_END});
    t->state = to;
    t->has_worked = false;
}

/* What fails is the response, if the client has seen anything of it or waits for its conversation to be
 * unlocked, and else the request: an HTTP error, which SDKs retry. */
static void fail_turn(struct turn *t, const struct err *e)
{
    turn_cancel_calls(t);
    turn_cancel_tools(t);
    if (t->has_response && (t->is_begun || !str_is_none(t->lock))) {
        response_fail(&t->response, e, turn_out(t));
        move_turn(t, TURN_RECORD);
    } else {
        turn_answer_error(t, e);
    }
}

static void drive(struct turn *t);

/* For a client that has left before it begins, most of it is left out: drive() ends the turn. */
static int work_elsewhere(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    if (flight_is_gone(&t->flight) && !stages[t->state].needs_no_client)
        return 0;
    return stages[t->state].work(t, reterr);
}

static void on_worked(void *arg, const struct err *failure)
{
    struct turn *t = arg;
    struct err e;

    loop_hold_by(stages[t->state].name);
    (void)turn_fresh_out(t);
    if (failure != NULL && t->flight.x != NULL) {
        e = *failure;
        turn_explain_size(t, &e);
        fail_turn(t, &e);
    }
    drive(t);
}

static enum turn_next do_work(struct turn *t, const struct stage *s, struct err *reterr)
{
    if (s->weigh == NULL || s->weigh(t) < WORKER_LARGE_BYTES)
        return s->work(t, reterr) == -1 ? TURN_FAIL : TURN_GO;
    turn_send_events(t);
    if (t->state == TURN_DONE)
        return TURN_WAIT;
    if (!s->hears_call)
        flight_cancel_call(&t->flight); /* it may be reading its end, and would report that */
    flight_offload(&t->flight, work_elsewhere, on_worked);
    return TURN_WAIT;
}

static enum turn_next run_stage(struct turn *t, struct err *reterr)
{
    const struct stage *s = &stages[t->state];
    enum turn_next next = TURN_GO;

    if (s->work != NULL && !t->has_worked) {
        t->has_worked = true;
        next = do_work(t, s, reterr);
    }
    if (next == TURN_GO && t->state != TURN_DONE && s->run != NULL)
        next = s->run(t, reterr);
    return t->state == TURN_DONE ? TURN_WAIT : next;
}

static bool may_go_on(const struct turn *t)
{
    return !t->flight.is_on_pool && (t->flight.x != NULL || stages[t->state].needs_no_client);
}

/* Runs stages until one waits, or the turn is not to go on. */
static void drive(struct turn *t)
{
    const bool is_new = t->state <= TURN_RESOLVE;
    const enum budget_use before = is_new ? budget_use_for(BUDGET_NEW_WORK) : BUDGET_UNDER_WAY;
    enum turn_next next = TURN_GO;
    struct err e;

    while (next != TURN_WAIT && may_go_on(t)) {
        next = run_stage(t, &e);
        if (next == TURN_GO) {
            move_turn(t, stages[t->state].next);
        } else if (next == TURN_ELSE) {
            move_turn(t, stages[t->state].otherwise);
        } else if (next == TURN_END) {
            move_turn(t, TURN_RECORD);
        } else if (next == TURN_FAIL) {
            turn_explain_size(t, &e);
            fail_turn(t, &e);
        }
    }
    turn_send_events(t);
    if (is_new)
        (void)budget_use_for(before);
}

static void wake_turn(struct turn *t)
{
    (void)turn_fresh_out(t);
    drive(t);
}

void turn_wake(struct turn *t)
{
    wake_turn(t);
    flight_free_if_over(&t->flight);
}

/* ---- for all stages */

size_t turn_weight(const struct turn *t)
{
    return t->flight.body_bytes + t->flight.arena.used + t->echo.len +
           (t->has_response ? t->response.used_bytes : 0);
}

void turn_explain_size(const struct turn *t, struct err *e)
{
    const bool is_memory = e->code == ERR_INTERNAL || e->code == ERR_OVERLOADED;

    if (is_memory && (t->flight.arena.is_full || t->kept.is_full || t->chat_body.is_full))
        err_set(e, ERR_REQUEST_TOO_LARGE,
                "The request needs more than %zu bytes of memory (max_request_memory).",
                t->flight.worker->config->max_request_memory_bytes);
}

void turn_keep_failure(struct turn *t, const struct err *failure)
{
    static const struct err lost = {.code = ERR_INTERNAL, .msg = "The gateway ran out of memory."};
    struct err *kept = failure == NULL ? NULL : arena_alloc(&t->kept, sizeof(*kept));

    if (kept != NULL)
        *kept = *failure;
    t->failure = failure == NULL ? NULL : kept != NULL ? kept : &lost;
}

void turn_answered(struct turn *t)
{
    move_turn(t, TURN_DONE);
    flight_answered(&t->flight, t->has_round && t->round.stream.body.is_done);
}

/* ---- reports of the upstream call */

/* Is the model still speaking? Later the upstream may only end its body. */
static bool is_listening(const struct turn *t)
{
    return t->flight.x != NULL && (t->state == TURN_ROUND || t->state == TURN_HEAR);
}

static void on_head(void *arg, int status, const struct http_header *headers, size_t n_headers)
{
    struct turn *t = arg;

    upstream_answer_head(&t->flight.answer, status, headers, n_headers);
    upstream_watch_hear_head(t->flight.worker->watch, t->facts, headers, n_headers);
    if (!is_listening(t) || !upstream_answer_is_good(&t->flight.answer) || !t->request.stream)
        return;
    turn_begin_stream(t);
    flight_free_if_over(&t->flight);
}

/* An error that is too long is not waited for: it may have no end. */
static bool hear_refusal(struct turn *t, str bytes)
{
    if (upstream_answer_keep(&t->flight.answer, bytes))
        return false;
    flight_cancel_call(&t->flight);
    t->has_call_ended = true;
    return true;
}

static void on_body(void *arg, str bytes)
{
    struct turn *t = arg;
    struct buf *const out = turn_fresh_out(t);
    bool is_over;

    t->flight.answer.n_bytes += bytes.len;
    if (t->flight.first_byte_ms == 0) {
        t->flight.first_byte_ms = loop_now_ms(t->flight.worker->loop);
        upstream_watch_hear_body(t->flight.worker->watch, t->facts, bytes);
    }
    if (!is_listening(t))
        return;
    is_over = upstream_answer_is_good(&t->flight.answer) ? turn_hear(t, bytes, out)
                                                         : hear_refusal(t, bytes);
    if (is_over)
        drive(t); /* with what is in the buffer */
    else
        turn_send_events(t);
    flight_free_if_over(&t->flight);
}

static void on_end(void *arg, const struct err *failure)
{
    struct turn *t = arg;

    if (failure != NULL)
        upstream_answer_failed(&t->flight.answer, t->flight.call);
    t->flight.call = NULL;
    if (is_listening(t)) {
        /* Gone, or broken off: another server may be there next time. */
        if (failure != NULL && failure->code != ERR_UPSTREAM_TIMEOUT)
            upstream_watch_lose(t->flight.worker->watch);
        upstream_watch_hear_end(t->flight.worker->watch, failure);
        t->has_call_ended = true;
        turn_keep_failure(t, failure);
    }
    turn_wake(t);
}

const struct http_call_handler turn_call_handler = {on_head, on_body, on_end};

/* ---- what a flight asks of its owner */

static void log_gone(void *arg)
{
    struct turn_summary s = turn_summarize(arg);

    turn_log_gone(&s);
}

static void on_timer(void *arg)
{
    struct turn *t = arg;

    if (t->state == TURN_TOOLS) {
        wake_turn(t);
        return;
    }
    if (!t->request.stream || (t->state != TURN_ROUND && !t->is_begun))
        return; /* nothing to show yet, or not any more */
    turn_begin_stream(t);
    if (t->flight.x != NULL)
        turn_keep_alive(t);
}

static void on_upstream_known(void *arg)
{
    struct turn *t = arg;

    t->awaits_upstream = false;
    if (t->state == TURN_RECOGNISE)
        wake_turn(t);
}

/* A response that has ended is told to the client as it is. */
static void end_turn(void *arg, const struct err *e)
{
    struct turn *t = arg;

    if (t->state >= TURN_RECORD)
        return;
    (void)turn_fresh_out(t);
    fail_turn(t, e);
    drive(t);
}

static void cancel_turn(void *arg)
{
    turn_cancel_calls(arg);
    turn_cancel_tools(arg);
}

static void unlock_turn(void *arg)
{
    turn_unlock(arg);
}

static void finish_turn(void *arg)
{
    struct turn *t = arg;

    if (t->has_round)
        round_fini(&t->round);
    if (t->has_response)
        response_fini(&t->response);
    turn_free_tools(t);
    turn_free_web(t);
    upstream_facts_unref(t->facts);
    buf_fini(&t->chat_body);
    buf_fini(&t->echo);
    buf_fini(&t->opening);
    buf_fini(&t->large);
    buf_fini(&t->unread);
    arena_fini(&t->kept);
}

static const struct flight_ops ops = {
    .size = sizeof(struct turn),
    .log_gone = log_gone,
    .on_timer = on_timer,
    .on_upstream_known = on_upstream_known,
    .fail = end_turn,
    .cancel = cancel_turn,
    .on_over = unlock_turn,
    .fini = finish_turn,
};

/* ---- the beginning */

void turn_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                const struct caller *caller)
{
    struct turn *t = flight_new(&ops, w, x, r, caller);
    struct err e;

    if (t == NULL) {
        err_set_no_memory(&e);
        http_exchange_respond_error(x, &e, NULL, 0);
        return;
    }
    t->last_event_ms = t->flight.start_ms;
    arena_init(&t->kept, w->config->max_request_memory_bytes);
    buf_init(&t->chat_body, w->config->max_request_memory_bytes);
    t->awaits_upstream = worker_awaits_upstream(w);
    turn_wake(t);
}
