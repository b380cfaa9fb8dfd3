/* turn.c -- one client request to /v1/responses, from parse to last byte: its stages.
 *
 *     ROUTE -> RECOGNISE -> PARSE -> LOAD -> RESOLVE -> ACCEPT -> TOOLS -> LIST -> OFFER -> APPROVED -> CALLS -> DECIDE
 *                      \_____________^ \__________\_____________________________________________________^
 *
 *       DECIDE -> WRITE -> COUNT -> COMPACT -> FIT -> ADMIT -> ASK -> ROUND -> CLOSE -> CALLS
 *           \______________________^          v      ^  v      ^     ^ v      v
 *                                            SHORTEN-+  REWRITE    HEAR    RETRY -> ADMIT, or SHORTEN
 *
 *     a round, as often as DECIDE says so; what was too long is sent again, and what an upstream has failed
 *     to answer. In ADMIT the turn waits for a place at an upstream; that may be another one than the request
 *     was written for. When the context is to be replaced by a summary, that is a round of its own:
 *
 *       COMPACT -> ROUTE_SUMMARY -> WRITE_SUMMARY -> ADMIT_SUMMARY -> ASK_SUMMARY -> SUMMARY -> COMPACTED -> WRITE
 *                                        ^________________/_____________________________________/
 *                                          or the response has ended, if it was made for that; asked again, for less
 *
 *     a response for the background is stored in ACCEPT, and the turn is DONE. When it is time another turn
 *     (turn_run.h) begins at ROUTE with the same request, and passes there.
 *
 *     at any time, when the response has ended:       RECORD -> SAVE -> CONCLUDE -> DONE
 *     when it cannot be begun:                        DONE
 *
 * The table below names each stage, what it does, and what follows; turn_stages.h says it of each,
 * turn_drive.h how they are driven. Most turns refer to nothing that is stored and use no server's tools,
 * and go past those stages.
 *
 * Only the bytes of an answer do not wake a turn, which are most of what ever happens: on_body() hands them
 * to the round, and drives the turn on when that is over. */
#include "turn/turn.h"

#include "flight/flight_admission.h"
#include "flight/flight_spans.h"
#include "flight/peer_context.h"
#include "flight/reach.h"
#include "turn/turn_log.h"
#include "turn/turn_stages.h"
#include "upstream/upstream_options.h"
#include "upstream/upstream_watch.h"

/* ---- the first stage */

static int look_at_upstream(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    (void)reterr;
    t->awaits_upstream = reach_must_be_known(&t->flight);
    return 0;
}

static enum turn_next await_upstream(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    (void)reterr;
    if (t->awaits_upstream)
        return TURN_WAIT;
    t->facts = upstream_watch_facts(turn_watch(t));
    return TURN_GO;
}

/* ---- the table */

static const struct turn_stage stages[] = {
    [TURN_ROUTE] = {"route", turn_route_weight, turn_look_for_model, turn_find_route,
                    .next = TURN_RECOGNISE},
    [TURN_RECOGNISE] = {"recognise", NULL, look_at_upstream, await_upstream, .next = TURN_PARSE},
    [TURN_PARSE] = {"parse", turn_body_weight, turn_read_request, turn_check_request,
                    .next = TURN_LOAD, .otherwise = TURN_RESOLVE},
    [TURN_LOAD] = {"load", NULL, turn_start_loading, turn_await_loaded, .next = TURN_RESOLVE,
                   .span = "antiphon.load"},
    [TURN_RESOLVE] = {"resolve", turn_weight, turn_complete_request, turn_pass_tools,
                      .next = TURN_ACCEPT, .otherwise = TURN_DECIDE},
    [TURN_ACCEPT] = {"accept", turn_accept_weight, turn_compose_accepted, turn_accept,
                     .next = TURN_TOOLS, .otherwise = TURN_DECIDE, .span = "antiphon.save"},
    [TURN_TOOLS] = {"tools", .run = turn_look_for_tools, .next = TURN_LIST,
                    .span = "antiphon.tools"},
    [TURN_LIST] = {"list", NULL, turn_start_listings, turn_await_listings, .next = TURN_OFFER,
                   .span = "antiphon.tools"},
    [TURN_OFFER] = {"offer", turn_weight, turn_offer_tools, .next = TURN_APPROVED},
    [TURN_APPROVED] = {"approved", .run = turn_announce_approved, .next = TURN_CALLS},
    [TURN_CALLS] = {"calls", turn_calls_weight, turn_gather_calls, turn_run_calls,
                    .next = TURN_DECIDE},
    [TURN_DECIDE] = {"decide", .run = turn_decide, .next = TURN_WRITE, .otherwise = TURN_COMPACT},
    [TURN_WRITE] = {"write", turn_weight, turn_write_request, .next = TURN_COUNT},
    [TURN_COUNT] = {"count", turn_estimate_weight, turn_estimate_written, turn_count_written,
                    .next = TURN_COMPACT},
    [TURN_COMPACT] = {"compact", turn_compact_weight, turn_begin_summary, turn_wants_summary,
                      .next = TURN_ROUTE_SUMMARY, .otherwise = TURN_FIT,
                      .span = "antiphon.compaction"},
    [TURN_ROUTE_SUMMARY] = {"route_summary", .run = turn_route_summary, .next = TURN_WRITE_SUMMARY,
                            .span = "antiphon.compaction"},
    [TURN_WRITE_SUMMARY] = {"write_summary", turn_weight, turn_write_summary_question,
                            .next = TURN_ADMIT_SUMMARY, .span = "antiphon.compaction"},
    [TURN_ADMIT_SUMMARY] = {"admit_summary", .run = turn_admit_summary, .next = TURN_ASK_SUMMARY,
                            .otherwise = TURN_WRITE_SUMMARY, .span = "antiphon.queue"},
    [TURN_ASK_SUMMARY] = {"ask_summary", .run = turn_ask_for_summary, .next = TURN_SUMMARY,
                          .span = "antiphon.compaction"},
    [TURN_SUMMARY] = {"summary", .run = turn_await_summary, .next = TURN_COMPACTED, .listens = true,
                      .span = "antiphon.compaction"},
    [TURN_COMPACTED] = {"compacted", turn_weight, turn_take_summary, turn_judge_summary,
                        .next = TURN_WRITE, .otherwise = TURN_WRITE_SUMMARY,
                        .span = "antiphon.compaction"},
    [TURN_FIT] = {"fit", turn_fit_weight, turn_clamp_output, turn_judge_size, .next = TURN_ADMIT,
                  .otherwise = TURN_SHORTEN},
    [TURN_ADMIT] = {"admit", .run = turn_admit, .next = TURN_ASK, .otherwise = TURN_REWRITE,
                    .span = "antiphon.queue"},
    [TURN_REWRITE] = {"rewrite", turn_weight, turn_write_again, .next = TURN_ASK},
    [TURN_ASK] = {"ask", .run = turn_ask, .next = TURN_ROUND},
    [TURN_ROUND] = {"round", .run = turn_await_round, .next = TURN_CLOSE, .otherwise = TURN_HEAR,
                    .listens = true},
    [TURN_HEAR] = {"hear", turn_unread_weight, turn_hear_unread, turn_send_heard,
                   .next = TURN_ROUND, .listens = true},
    [TURN_CLOSE] = {"close", turn_round_weight, turn_close_round, turn_judge_round,
                    .next = TURN_CALLS, .otherwise = TURN_RETRY},
    [TURN_RETRY] = {"retry", .run = turn_retries, .next = TURN_ADMIT, .otherwise = TURN_SHORTEN},
    [TURN_SHORTEN] = {"shorten", turn_weight, turn_write_shorter, .next = TURN_ADMIT},
    [TURN_RECORD] = {"record", turn_record_weight, turn_compose_record, turn_await_row,
                     .next = TURN_SAVE, .needs_no_client = true},
    [TURN_SAVE] = {"save", NULL, turn_start_saving, turn_await_saved, .next = TURN_CONCLUDE,
                   .needs_no_client = true, .span = "antiphon.save"},
    [TURN_CONCLUDE] = {"conclude", turn_end_weight, turn_write_end, turn_send_end,
                       .next = TURN_DONE},
    [TURN_DONE] = {.name = "done"},
};

/* A request that is only counted: nothing is listed, run, sent or stored. */
static const struct turn_stage count_stages[] = {
    [TURN_ROUTE] = {"route", turn_route_weight, turn_look_for_model, turn_find_route,
                    .next = TURN_RECOGNISE},
    [TURN_RECOGNISE] = {"recognise", NULL, look_at_upstream, await_upstream, .next = TURN_PARSE},
    [TURN_PARSE] = {"parse", turn_body_weight, turn_read_request, turn_check_request,
                    .next = TURN_LOAD, .otherwise = TURN_RESOLVE},
    [TURN_LOAD] = {"load", NULL, turn_start_loading, turn_await_loaded, .next = TURN_RESOLVE},
    [TURN_RESOLVE] = {"resolve", turn_weight, turn_complete_request, turn_pass_tools,
                      .next = TURN_TOOLS, .otherwise = TURN_WRITE},
    [TURN_TOOLS] = {"tools", .run = turn_look_for_tools, .next = TURN_OFFER},
    [TURN_OFFER] = {"offer", turn_weight, turn_offer_tools, .next = TURN_WRITE},
    [TURN_WRITE] = {"write", turn_weight, turn_write_request, .next = TURN_COUNT},
    [TURN_COUNT] = {"count", .run = turn_count_written, .next = TURN_ANSWER},
    [TURN_ANSWER] = {"answer", .run = turn_send_count, .next = TURN_DONE},
    [TURN_DONE] = {.name = "done"},
};

/* What fails is the response, if the client has seen anything of it or waits for its conversation to be
 * unlocked, and else the request: an HTTP error, which SDKs retry. */
static void fail_response(struct turn *t, const struct err *e)
{
    const bool is_accepting = t->flight.stage == TURN_ACCEPT && t->run == NULL;

    turn_stop_waiting(t);
    flight_leave_upstream(&t->flight);
    if (t->run != NULL)
        flight_cancel_call(&t->flight); /* its end may not be stored soon */
    if (t->run != NULL && !t->has_response) {
        turn_run_give_up(t, e);
    } else if (t->has_response && !is_accepting &&
               (t->is_begun || t->run != NULL || !str_is_none(t->lock))) {
        response_fail(&t->response, e, turn_out(t));
        turn_move(&t->flight, TURN_RECORD);
    } else {
        turn_answer_error(t, e);
    }
}

static void fail_turn(void *arg, const struct err *failure)
{
    struct turn *t = arg;
    struct err e = *failure;

    turn_explain_size(t, &e);
    fail_response(t, &e);
}

static const struct turn_front front = {
    .stages = stages,
    .n_new = TURN_ACCEPT + 1,
    .ended = TURN_RECORD,
    .done = TURN_DONE,
    .send = turn_send_events,
    .fail = fail_turn,
};

/* The turn of a response that was accepted, and now runs. */
static const struct turn_front run_front = {
    .stages = stages,
    .n_new = 0,
    .ended = TURN_RECORD,
    .done = TURN_DONE,
    .send = turn_send_events,
    .fail = fail_turn,
};

static const struct turn_front count_front = {
    .stages = count_stages,
    .n_new = TURN_RESOLVE + 1,
    .ended = TURN_DONE,
    .done = TURN_DONE,
    .send = turn_send_events,
    .fail = fail_turn,
};

/* ---- for all stages */

size_t turn_weight(const void *arg)
{
    const struct turn *t = arg;

    return t->flight.body_bytes + t->flight.arena.used + t->echo.len +
           (t->before == NULL ? 0 : peer_context_bytes(t->before)) +
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

/* ---- reports of the upstream call */

static void on_head(void *arg, int status, const struct http_header *headers, size_t n_headers)
{
    struct turn *t = arg;

    flight_spans_head(&t->flight, status);
    upstream_answer_head(&t->flight.answer, status, headers, n_headers);
    upstream_watch_hear_head(turn_watch(t), t->facts, headers, n_headers);
    if (!turn_listens(&t->flight) || !upstream_answer_is_good(&t->flight.answer) ||
        !t->request.stream)
        return;
    turn_begin_stream(t);
    flight_free_if_over(&t->flight);
}

static void on_body(void *arg, str bytes)
{
    struct turn *t = arg;
    struct buf *const out = turn_fresh_out(t);
    bool is_over;

    if (t->flight.answer.n_bytes == 0)
        flight_spans_first_bytes(&t->flight, bytes);
    t->flight.answer.n_bytes += bytes.len;
    if (t->flight.first_byte_ms == 0) {
        t->flight.first_byte_ms = loop_now_ms(t->flight.worker->loop);
        upstream_watch_hear_body(turn_watch(t), t->facts, bytes);
        upstream_watch_hear_model(turn_watch(t), t->facts, turn_upstream_model(t));
    }
    if (!turn_listens(&t->flight))
        return;
    if (!upstream_answer_is_good(&t->flight.answer))
        is_over = turn_hear_refusal(&t->flight, bytes);
    else if (t->flight.stage == TURN_SUMMARY)
        is_over = turn_hear_summary(t, bytes);
    else
        is_over = turn_hear(t, bytes, out);
    turn_note_heard(t);
    if (is_over)
        turn_drive(&t->flight); /* with what is in the buffer */
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
    flight_spans_call_ended(&t->flight, failure);
    if (turn_listens(&t->flight)) {
        /* Gone, or broken off: another server may be there next time. */
        if (failure != NULL && failure->code != ERR_UPSTREAM_TIMEOUT)
            upstream_watch_lose(turn_watch(t));
        upstream_watch_hear_end(turn_watch(t), failure);
        t->flight.has_call_ended = true;
        t->failure = turn_keep_failure(&t->kept, failure);
    }
    turn_wake(&t->flight);
}

const struct http_call_handler turn_call_handler = {on_head, on_body, on_end};

/* ---- what a flight asks of its owner */

static void tell_gone(void *arg)
{
    turn_tell_gone(arg);
}

static void on_timer(void *arg)
{
    struct turn *t = arg;

    if (t->flight.stage == TURN_TOOLS) {
        (void)turn_fresh_out(t);
        turn_drive(&t->flight);
        return;
    }
    if (!t->request.stream ||
        ((!t->is_window_open || t->flight.stage >= TURN_RECORD) && !t->is_begun))
        return; /* nothing to show yet, or not any more */
    turn_begin_stream(t);
    if (flight_has_client(&t->flight))
        turn_keep_alive(t);
}

static void on_upstream_known(void *arg)
{
    struct turn *t = arg;

    t->awaits_upstream = false;
    if (t->flight.stage != TURN_ROUTE && t->flight.stage != TURN_RECOGNISE)
        return;
    (void)turn_fresh_out(t);
    turn_drive(&t->flight);
}

/* A response that has ended is told to the client as it is. */
void turn_end_early(struct turn *t, const struct err *e)
{
    if (t->flight.stage >= TURN_RECORD)
        return;
    (void)turn_fresh_out(t);
    fail_response(t, e);
    turn_drive(&t->flight);
}

/* In the background there is no client to ask to try again: what was begun has failed, what was not is
 * given back. */
static void end_turn(void *arg, const struct err *e)
{
    struct turn *t = arg;
    struct err stopped;

    if (t->run != NULL && t->flight.stage == TURN_SAVE && t->flight.n_tasks == 0) {
        turn_run_give_up(t, t->failure); /* which the store does not take */
        return;
    }
    err_set(&stopped, ERR_INTERNAL,
            "The gateway was shut down while the response was in progress.");
    turn_end_early(t, t->run != NULL && t->has_response ? &stopped : e);
}

void turn_stop_waiting(struct turn *t)
{
    turn_calls_cancel(&t->calls);
    turn_cancel_tools(t);
    turn_cancel_count(t);
}

static void cancel_turn(void *arg)
{
    turn_stop_waiting(arg);
}

static void end_flight(void *arg)
{
    struct turn *t = arg;

    turn_unlock(t);
    if (t->run != NULL)
        turn_run_report(t);
}

static void finish_turn(void *arg)
{
    struct turn *t = arg;

    turn_cancel_count(t);
    turn_leave_table(t);
    turn_left_free(t);
    if (t->has_round)
        round_fini(&t->round);
    turn_fini_summary(t);
    if (t->has_response)
        response_fini(&t->response);
    turn_free_tools(t);
    turn_calls_fini(&t->calls);
    turn_free_context(t);
    upstream_facts_unref(t->facts);
    buf_fini(&t->chat_body);
    buf_fini(&t->echo);
    buf_fini(&t->opening);
    buf_fini(&t->large);
    buf_fini(&t->unread);
    arena_fini(&t->kept);
    turn_run_free(t->flight.worker, t->run);
}

#define TURN_OPS(front_of_it, name)                                                                \
    {                                                                                              \
        .size = sizeof(struct turn), .span = (name), .leaves_line = true, .front = (front_of_it),  \
        .log_gone = tell_gone, .may_go_on = turn_left_may_go_on, .go_on = turn_left_go_on,         \
        .on_timer = on_timer, .on_upstream_known = on_upstream_known, .fail = end_turn,            \
        .describe = turn_describe, .stop = turn_stop, .cancel = cancel_turn,                       \
        .on_over = end_flight, .fini = finish_turn,                                                \
    }

static const struct flight_ops ops = TURN_OPS(&front, NULL),
                               count_ops = TURN_OPS(&count_front, NULL),
                               run_ops = TURN_OPS(&run_front, "antiphon.background");

/* ---- the beginning */

/* NULL when out of memory: then nobody has heard of it. */
static struct turn *new_turn(const struct flight_ops *of, struct worker *w, struct peer client,
                             const struct http_request *r, const struct caller *caller)
{
    struct turn *t = flight_new(of, w, client, r, caller);

    if (t == NULL)
        return NULL;
    t->is_count = of == &count_ops;
    t->last_event_ms = t->flight.start_ms;
    t->calls.flight = &t->flight;
    t->calls.close = turn_close_call;
    arena_init(&t->kept, w->config->max_request_memory_bytes);
    buf_init(&t->chat_body, w->config->max_request_memory_bytes);
    return t;
}

/* What is asked for, beside the request. */
struct beginning {
    bool is_compact;
    str key_lock; /* STR_NONE: it has no key in the store */
    bool may_be_joined;
};

static void begin_turn(const struct flight_ops *of, struct worker *w, struct peer client,
                       const struct http_request *r, const struct caller *caller,
                       struct beginning how)
{
    struct turn *t = new_turn(of, w, client, r, caller);
    struct err e;

    if (t == NULL) {
        if (!str_is_none(how.key_lock))
            store_release_lock(w->store, how.key_lock);
        err_set_no_memory(&e);
        peer_respond_error(client, &e);
        return;
    }
    t->is_compact = how.is_compact;
    t->may_be_joined = how.may_be_joined;
    turn_hold_key(t, how.key_lock);
    turn_wake(&t->flight);
}

void turn_begin(struct worker *w, struct peer client, const struct http_request *r,
                const struct caller *caller)
{
    begin_turn(&ops, w, client, r, caller, (struct beginning){.key_lock = STR_NONE});
}

void turn_begin_keyed(struct worker *w, struct peer client, const struct http_request *r,
                      const struct caller *caller, str lock, bool is_stream)
{
    begin_turn(&ops, w, client, r, caller,
               (struct beginning){.key_lock = lock, .may_be_joined = is_stream});
}

void turn_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                const struct caller *caller)
{
    turn_begin(w, peer_of_exchange(x), r, caller);
}

void turn_start_count(struct worker *w, struct http_exchange *x, const struct http_request *r,
                      const struct caller *caller)
{
    begin_turn(&count_ops, w, peer_of_exchange(x), r, caller,
               (struct beginning){.key_lock = STR_NONE});
}

void turn_begin_compact(struct worker *w, struct peer client, const struct http_request *r,
                        const struct caller *caller)
{
    begin_turn(&ops, w, client, r, caller,
               (struct beginning){.key_lock = STR_NONE, .is_compact = true});
}

void turn_start_compact(struct worker *w, struct http_exchange *x, const struct http_request *r,
                        const struct caller *caller)
{
    turn_begin_compact(w, peer_of_exchange(x), r, caller);
}

struct turn *turn_new_run(struct worker *w, struct peer nobody, const struct http_request *r,
                          const struct caller *caller)
{
    return new_turn(&run_ops, w, nobody, r, caller);
}
