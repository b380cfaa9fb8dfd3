/* turn.c -- one client request to /v1/responses, from parse to last byte.
 *
 *     [RECOGNISE] -> PARSE -> [LOAD] -> [TOOLS] -> [CALLS] -> ROUND -> [CALLS -> ROUND]*
 *                                                        -> [SAVE] -> DONE     any -> DONE
 * RECOGNISE  waits until it is known what the upstream is; only while that is being found out
 * PARSE    reads the request
 * LOAD     waits for what it continues; only if it continues something
 * TOOLS    waits for the tools of MCP servers; only if they are not known yet
 * CALLS    waits for tools that the gateway runs: those the client has approved, then what
 *          the model has called
 * ROUND    the model is asked. Events leave as the upstream's bytes arrive, if the client
 *          streams; until that has begun, when the upstream sends its status or
 *          early_error_window has passed, a failure is still an HTTP error. Another one
 *          follows at once when the model is to be asked for its answer alone
 * SAVE     the response has ended and waits for the store; only if it is to be kept,
 *          or has locked a conversation
 * DONE     the client has its answer; the upstream call may still be reading
 *          the end of its body, so that the connection can be used again
 *
 * A turn is freed when the exchange, the upstream call and the work on the store
 * have all ended. */
#include "gateway/turn.h"

#include <assert.h>

#include "base/budget.h"
#include "ev/log.h"
#include "ev/loop_hold.h"
#include "gateway/turn_internal.h"
#include "gateway/turn_log.h"
#include "gateway/upstream_watch.h"

static const struct {
    const char *name;
    unsigned may_move_to;
} states[] = {
    [TURN_RECOGNISE] = {"recognise", 1 << TURN_PARSE | 1 << TURN_DONE},
    [TURN_PARSE] = {"parse", 1 << TURN_LOAD | 1 << TURN_TOOLS | 1 << TURN_CALLS | 1 << TURN_ROUND |
                                 1 << TURN_DONE},
    [TURN_LOAD] = {"load", 1 << TURN_TOOLS | 1 << TURN_CALLS | 1 << TURN_ROUND | 1 << TURN_DONE},
    [TURN_TOOLS] = {"tools", 1 << TURN_CALLS | 1 << TURN_ROUND | 1 << TURN_SAVE | 1 << TURN_DONE},
    [TURN_CALLS] = {"calls", 1 << TURN_ROUND | 1 << TURN_SAVE | 1 << TURN_DONE},
    [TURN_ROUND] = {"round", 1 << TURN_CALLS | 1 << TURN_ROUND | 1 << TURN_SAVE | 1 << TURN_DONE},
    [TURN_SAVE] = {"save", 1 << TURN_DONE},
    [TURN_DONE] = {"done", 0},
};

void turn_move(struct turn *t, enum turn_state to)
{
    assert((states[t->state].may_move_to >> to & 1) != 0);
    loop_hold_by(states[to].name);
    if (log_is_on(LOG_DEBUG))
        log_line(LOG_DEBUG, "turn_state",
                 (struct log_field[]){LOG_STR("request_id", t->flight.request_id),
                                      LOG_STR("from", str_from_c(states[t->state].name)),
                                      LOG_STR("to", str_from_c(states[to].name)), LOG_END});
    t->state = to;
}

static uint64_t now_ms(const struct turn *t)
{
    return loop_now_ms(t->flight.worker->loop);
}

/* ---- end of life */

static void log_gone(void *arg)
{
    struct turn_summary s = turn_summarize(arg);

    turn_log_gone(&s);
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

/* ---- reports of the upstream call */

/* Is the model still speaking? Later the upstream may only end its body. */
static bool is_listening(const struct turn *t)
{
    return t->flight.x != NULL && t->state == TURN_ROUND;
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

/* The upstream has refused the request, and said why. */
static void refused(struct turn *t)
{
    struct err e;

    upstream_answer_failed(&t->flight.answer, NULL);
    upstream_answer_error(&t->flight.answer, worker_passes_key(t->flight.worker, t->flight.http),
                          &e);
    worker_hide_keys(t->flight.worker, t->flight.http, &e);
    if (!turn_retry_shorter(t, &e))
        turn_fail(t, &e);
}

/* An error that is too long is not waited for: it may have no end. */
static void on_error_body(struct turn *t, str bytes)
{
    if (!upstream_answer_keep(&t->flight.answer, bytes))
        refused(t);
    flight_free_if_over(&t->flight);
}

static void on_body(void *arg, str bytes)
{
    struct turn *t = arg;
    struct buf *out = turn_fresh_out(t);

    t->flight.answer.n_bytes += bytes.len;
    if (t->flight.first_byte_ms == 0) {
        t->flight.first_byte_ms = now_ms(t);
        upstream_watch_hear_body(t->flight.worker->watch, t->facts, bytes);
    }
    if (!is_listening(t))
        return;
    if (!upstream_answer_is_good(&t->flight.answer)) {
        on_error_body(t, bytes);
        return;
    }
    turn_hear(t, bytes, out);
    flight_free_if_over(&t->flight);
}

static void on_end(void *arg, const struct err *failure)
{
    struct turn *t = arg;

    if (failure != NULL)
        upstream_answer_failed(&t->flight.answer, t->flight.call);
    t->flight.call = NULL;
    /* Gone, or broken off: another server may be there next time. */
    if (t->flight.is_on_pool || is_listening(t)) {
        if (failure != NULL && failure->code != ERR_UPSTREAM_TIMEOUT)
            upstream_watch_lose(t->flight.worker->watch);
        upstream_watch_hear_end(t->flight.worker->watch, failure);
    }
    if (t->flight.is_on_pool) {
        t->has_call_ended = true;
        turn_keep_failure(t, failure);
    } else if (is_listening(t)) {
        if (t->flight.answer.status == 0)
            turn_fail(t, failure);
        else if (!upstream_answer_is_good(&t->flight.answer))
            refused(t);
        else
            turn_end_round(t, failure, turn_fresh_out(t));
    }
    flight_free_if_over(&t->flight);
}

const struct http_call_handler turn_call_handler = {on_head, on_body, on_end};

/* ---- time */

static void on_timer(void *arg)
{
    struct turn *t = arg;

    if (t->state == TURN_TOOLS && !t->has_response) {
        turn_look_for_tools(t);
        return;
    }
    if (!t->request.stream || (t->state != TURN_ROUND && !t->is_begun))
        return; /* nothing to show yet, or not any more */
    turn_begin_stream(t);
    if (t->flight.x != NULL)
        turn_keep_alive(t);
}

/* ---- the beginning */

static void begin_turn(struct turn *t)
{
    struct err e;

    t->facts = upstream_watch_facts(t->flight.worker->watch);
    if (turn_prepare(t, &e) == -1)
        turn_refuse(t, &e);
}

static void on_upstream_known(void *arg)
{
    struct turn *t = arg;
    enum budget_use before;

    if (t->state != TURN_RECOGNISE)
        return;
    turn_move(t, TURN_PARSE);
    before = budget_use_for(BUDGET_NEW_WORK);
    begin_turn(t);
    (void)budget_use_for(before);
}

static void fail_turn(void *arg, const struct err *e)
{
    turn_fail(arg, e);
}

static const struct flight_ops ops = {
    .size = sizeof(struct turn),
    .log_gone = log_gone,
    .on_timer = on_timer,
    .on_upstream_known = on_upstream_known,
    .fail = fail_turn,
    .cancel = cancel_turn,
    .on_over = unlock_turn,
    .fini = finish_turn,
};

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
    t->state = worker_awaits_upstream(w) ? TURN_RECOGNISE : TURN_PARSE;
    if (t->state == TURN_PARSE)
        begin_turn(t);
    flight_free_if_over(&t->flight);
}
