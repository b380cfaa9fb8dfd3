/* chat_turn.c -- one request to /v1/chat/completions that has tools of the gateway: its stages.
 *
 *     TOOLS -> ROUTE -> READ -> WRITE -> ADMIT -> ASK -> ROUND -> CLOSE -> CALLS -> WRITE ...
 *                         \               ^________________________/ \       \_____> CONCLUDE -> DONE
 *                          \_ relayed       another attempt           \______________^     any -> DONE
 *
 * TOOLS     servers whose tools join every request are waited for while they start
 * ROUTE     who may serve its model
 * READ      the request is read, elsewhere if it is large; it may still come to be relayed
 * WRITE     the client's body is written with our tools and what the rounds before have brought
 * ADMIT     there is a place for it at an upstream
 * ASK       it is sent
 * ROUND     the upstream answers; a client that streams gets its words at once
 * CLOSE     it has said all of this round
 * CALLS     the tools that the model has called are running. Then it is asked again; or, when it has called
 *           tools of the client as well, the answer is complete
 * CONCLUDE  the answer is ended: what is left of the stream, or the whole object, is sent
 * DONE      the client has its answer; the upstream call may still be reading the end of its body, so that
 *           the connection can be used again
 *
 * The table below is what flight/turn_drive.h drives, as it does the stages of /v1/responses.
 *
 * In a round with calls of both kinds the gateway's are run, and only the client's are
 * returned. What the client sends next holds its own calls alone: what the others have
 * brought is not kept, since nothing in this API could name it, and the model asks again
 * if it still needs it.
 *
 * Tasks of the hub are cancelled before a turn is freed, and report nothing any more. */
#include "front/chat_turn.h"

#include "call/tool_offer.h"
#include "flight/flight_admission.h"
#include "flight/flight_limits.h"
#include "flight/flight_spans.h"
#include "flight/reach.h"
#include "flight/request_body.h"
#include "front/chat_turn_internal.h"
#include "front/chat_turn_spans.h"
#include "front/relay.h"
#include "front/relay_model.h"
#include "upstream/upstream_live.h"
#include "upstream/upstream_options.h"
#include "upstream/upstream_table.h"
#include "upstream/upstream_watch.h"
#include "wire/chat/chat_rewrite.h"

/* ---- TOOLS */

static enum turn_next await_servers(void *arg, struct err *reterr)
{
    struct chat_turn *t = arg;
    const struct worker *w = t->flight.worker;

    (void)reterr;
    mcp_snapshot_unref(t->snapshot);
    t->snapshot = worker_mcp_servers(w);
    if (t->snapshot == NULL ||
        loop_now_ms(w->loop) - t->flight.start_ms >= chat_turn_patience_ms(w, t->snapshot))
        return TURN_GO;
    loop_timer_start(t->flight.timer, TOOL_OFFER_LOOK_AGAIN_MS);
    return TURN_WAIT;
}

/* ---- READ */

static size_t body_weight(const void *arg)
{
    const struct flight *f = arg;

    return request_body_weight(f->http);
}

/* A request that is not understood is the upstream's to judge; so is one when memory is out. */
static int read_request(void *arg, struct err *reterr)
{
    struct chat_turn *t = arg;
    const struct name_list names = flight_names(&t->flight);
    str body;

    if (peer_body(t->flight.peer, &body, reterr) == -1)
        return 0;
    t->flight.body_bytes = body.len;
    t->is_refused = allowance_is_choosy(t->flight.caller.allowance) &&
                    !relay_model_is_allowed(t->flight.caller.allowance, body, &t->flight.arena,
                                            &t->refused_model);
    if (chat_rewrite(names, body, &t->rewritten))
        body = buf_str(&t->rewritten);
    t->has_offer = t->snapshot != NULL && !buf_failed(&t->rewritten) &&
                   chat_loop_request_read(body, &t->flight.arena, &t->request) &&
                   chat_turn_offer(t);
    return 0;
}

static void init_merge(struct chat_turn *t)
{
    const struct config *c = t->flight.worker->config;
    const struct chat_merge_conf conf = {
        .tools = &t->names,
        .ids = &t->flight.worker->ids,
        .is_stream = t->request.stream,
        .wants_usage = t->request.include_usage,
        .hides_rounds = c->chat_tool_rounds == CONFIG_CHAT_TOOL_ROUNDS_HIDE,
        .max_event_bytes = c->max_line_bytes,
        .max_output_bytes = c->max_response_bytes,
    };

    chat_merge_init(&t->merge, &conf);
}

static int admit_turn(struct chat_turn *t, struct err *reterr)
{
    if (t->is_refused && flight_limits_check_model(&t->flight, t->refused_model, reterr) == -1)
        return -1;
    if (flight_limits_admit(&t->flight, reterr) == -1)
        return -1;
    if (t->no_route == NULL)
        return 0;
    *reterr = *t->no_route;
    return -1;
}

/* A request that gets no tools is better passed on as it is. */
static enum turn_next begin_or_relay(void *arg, struct err *reterr)
{
    struct chat_turn *t = arg;
    const struct peer client = t->flight.peer;

    if (t->has_offer) {
        init_merge(t);
        return admit_turn(t, reterr) == -1 ? TURN_FAIL : TURN_GO;
    }
    t->flight.peer = (struct peer){.ops = NULL}; /* it is the relay's */
    flight_spans_forget(&t->flight);
    relay_begin(t->flight.worker, client, t->flight.http, &t->flight.caller);
    return TURN_WAIT;
}

/* ---- ROUND, CLOSE, CONCLUDE */

static enum turn_next await_round(void *arg, struct err *reterr)
{
    struct chat_turn *t = arg;

    (void)reterr;
    return t->flight.has_call_ended || chat_merge_is_over(&t->merge) ? TURN_GO : TURN_WAIT;
}

static enum turn_next fail_limit(const struct chat_turn *t, struct err *reterr)
{
    err_set(reterr, ERR_INTERNAL, "The model kept calling tools for %u rounds (max_tool_rounds).",
            t->n_rounds);
    (void)snprintf(reterr->own_code, sizeof(reterr->own_code), "tool_iteration_limit");
    return TURN_FAIL;
}

static enum turn_next judge_round(struct chat_turn *t, struct err *reterr)
{
    switch (chat_merge_end(&t->merge, t->failure, chat_turn_out(t))) {
    case CHAT_ROUND_FAILED:
        upstream_answer_failed(&t->flight.answer, t->flight.call);
        *reterr = t->merge.error;
        reach_hide_keys(&t->flight, reterr);
        return chat_turn_plans_retry(t, reterr) ? TURN_ELSE : TURN_FAIL;
    case CHAT_ROUND_LAST:
        flight_end_attempt(&t->flight, NULL);
        return TURN_END;
    case CHAT_ROUND_MIXED:
        t->is_mixed = true;
        flight_end_attempt(&t->flight, NULL);
        return TURN_GO;
    case CHAT_ROUND_CALLS:
        break;
    }
    flight_end_attempt(&t->flight, NULL);
    return t->n_rounds < t->flight.worker->config->max_tool_rounds ? TURN_GO
                                                                   : fail_limit(t, reterr);
}

static enum turn_next close_round(void *arg, struct err *reterr)
{
    struct chat_turn *t = arg;

    if (t->is_relayed) {
        flight_end_attempt(&t->flight, t->failure);
        chat_turn_relay_end(t, t->failure);
        return TURN_WAIT;
    }
    chat_turn_spans_heard(t);
    if (upstream_answer_is_good(&t->flight.answer))
        return judge_round(t, reterr);
    turn_read_refusal(&t->flight, t->failure, reterr);
    if (chat_turn_plans_retry(t, reterr))
        return TURN_ELSE;
    if (!t->is_held)
        return TURN_FAIL;
    chat_turn_release(t);
    chat_turn_relay_end(t, t->failure);
    return TURN_WAIT;
}

static enum turn_next conclude(void *arg, struct err *reterr)
{
    (void)reterr;
    chat_turn_finish(arg);
    return TURN_WAIT;
}

/* ---- the table */

enum {
    CHAT_TURN_TOOLS,
    CHAT_TURN_ROUTE,
    CHAT_TURN_READ,
    CHAT_TURN_WRITE,
    CHAT_TURN_ADMIT,
    CHAT_TURN_ASK,
    CHAT_TURN_ROUND,
    CHAT_TURN_CLOSE,
    CHAT_TURN_CALLS,
    CHAT_TURN_CONCLUDE,
    CHAT_TURN_DONE,
};

static const struct turn_stage stages[] = {
    [CHAT_TURN_TOOLS] = {"tools", .run = await_servers, .next = CHAT_TURN_ROUTE,
                         .span = "antiphon.tools"},
    [CHAT_TURN_ROUTE] = {"route", chat_turn_route_weight, chat_turn_look_for_model,
                         chat_turn_find_route, .next = CHAT_TURN_READ},
    [CHAT_TURN_READ] = {"read", body_weight, read_request, begin_or_relay, .next = CHAT_TURN_WRITE},
    [CHAT_TURN_WRITE] = {"write", chat_turn_weight, chat_turn_write_request,
                         .next = CHAT_TURN_ADMIT},
    [CHAT_TURN_ADMIT] = {"admit", .run = chat_turn_admit, .next = CHAT_TURN_ASK,
                         .span = "antiphon.queue"},
    [CHAT_TURN_ASK] = {"ask", chat_turn_weight, chat_turn_name_model, chat_turn_ask,
                       .next = CHAT_TURN_ROUND},
    [CHAT_TURN_ROUND] = {"round", .run = await_round, .next = CHAT_TURN_CLOSE, .listens = true},
    [CHAT_TURN_CLOSE] = {"close", .run = close_round, .next = CHAT_TURN_CALLS,
                         .otherwise = CHAT_TURN_ADMIT},
    [CHAT_TURN_CALLS] = {"calls", NULL, chat_turn_gather_calls, chat_turn_run_calls,
                         .next = CHAT_TURN_WRITE},
    [CHAT_TURN_CONCLUDE] = {"conclude", .run = conclude},
    [CHAT_TURN_DONE] = {.name = "done"},
};

static const struct turn_front front = {
    .stages = stages,
    .ended = CHAT_TURN_CONCLUDE,
    .done = CHAT_TURN_DONE,
    .send = chat_turn_send,
    .fail = chat_turn_fail,
};

/* ---- reports of the upstream call */

static void on_head(void *arg, int status, const struct http_header *headers, size_t n_headers)
{
    struct chat_turn *t = arg;
    struct err e;

    if (!turn_listens(&t->flight))
        return;
    flight_spans_head(&t->flight, status);
    upstream_answer_head(&t->flight.answer, status, headers, n_headers);
    if (!upstream_answer_is_good(&t->flight.answer) && !t->is_begun) {
        if (!chat_turn_holds(t, headers, n_headers))
            chat_turn_relay_head(t, headers, n_headers);
    } else if (upstream_answer_is_good(&t->flight.answer) && t->request.stream) {
        chat_turn_begin(t, headers, n_headers);
    } else if (upstream_answer_is_good(&t->flight.answer) &&
               !chat_turn_keep_head(t, headers, n_headers)) {
        err_set_no_memory(&e);
        chat_turn_fail(t, &e);
        flight_free_if_over(&t->flight);
    }
}

/* The next bytes of an answer; returns whether nothing that follows can change the round. */
static bool hear(struct chat_turn *t, str bytes)
{
    buf_reset(chat_turn_out(t));
    if (!upstream_answer_is_good(&t->flight.answer))
        return turn_hear_refusal(&t->flight, bytes);
    chat_merge_feed(&t->merge, bytes, chat_turn_out(t));
    return chat_merge_is_over(&t->merge);
}

/* What a stream brings is there at once; when an answer without one was begun is not known. */
static void note_first_token(struct chat_turn *t)
{
    if (t->flight.first_token_ms == 0 && t->is_begun && chat_turn_out(t)->len > 0)
        t->flight.first_token_ms = loop_now_ms(t->flight.worker->loop);
}

static void on_body(void *arg, str bytes)
{
    struct chat_turn *t = arg;

    if (!turn_listens(&t->flight))
        return;
    if (t->flight.answer.n_bytes == 0)
        flight_spans_first_bytes(&t->flight, bytes);
    t->flight.answer.n_bytes += bytes.len;
    if (t->flight.first_byte_ms == 0)
        t->flight.first_byte_ms = loop_now_ms(t->flight.worker->loop);
    if (t->is_relayed) {
        peer_write(t->flight.peer, bytes);
    } else if (hear(t, bytes)) {
        turn_drive(&t->flight); /* with what is in the buffer */
    } else {
        t->has_shown = t->has_shown || chat_turn_out(t)->len > 0;
        note_first_token(t);
        chat_turn_send(t);
    }
    flight_free_if_over(&t->flight);
}

static void on_end(void *arg, const struct err *failure)
{
    struct chat_turn *t = arg;

    if (failure != NULL)
        upstream_answer_failed(&t->flight.answer, t->flight.call);
    upstream_watch_hear_end(t->flight.upstream->live->watch, failure);
    t->flight.call = NULL;
    flight_spans_call_ended(&t->flight, failure);
    if (turn_listens(&t->flight)) {
        t->flight.has_call_ended = true;
        t->failure = turn_keep_failure(&t->flight.arena, failure);
    }
    turn_wake(&t->flight);
}

const struct http_call_handler chat_turn_call_handler = {on_head, on_body, on_end};

/* ---- what a flight asks of its owner */

static void log_gone(void *arg)
{
    chat_turn_log(arg, "client_gone", NULL);
}

static void on_timer(void *arg)
{
    struct chat_turn *t = arg;

    if (t->flight.stage != CHAT_TURN_TOOLS) {
        flight_keep_alive(&t->flight, 0);
        return;
    }
    buf_reset(chat_turn_out(t));
    turn_drive(&t->flight);
}

static void end_turn(void *arg, const struct err *e)
{
    buf_reset(chat_turn_out(arg));
    chat_turn_fail(arg, e);
}

static void cancel_turn(void *arg)
{
    struct chat_turn *t = arg;

    turn_calls_cancel(&t->calls);
}

static void finish_turn(void *arg)
{
    struct chat_turn *t = arg;

    chat_merge_fini(&t->merge);
    turn_calls_fini(&t->calls);
    chat_turn_forget_results(t);
    mcp_snapshot_unref(t->snapshot);
    buf_fini(&t->rewritten);
    buf_fini(&t->offer);
    buf_fini(&t->body);
    buf_fini(&t->named);
    buf_fini(&t->history);
}

static void describe_turn(const void *arg, struct flight_view *ret)
{
    const struct chat_turn *t = arg;

    ret->model = t->request.model;
    ret->is_stream = t->request.stream;
}

static const struct flight_ops ops = {
    .size = sizeof(struct chat_turn),
    .leaves_line = true,
    .front = &front,
    .log_gone = log_gone,
    .on_timer = on_timer,
    .on_upstream_known = chat_turn_on_known,
    .fail = end_turn,
    .describe = describe_turn,
    .cancel = cancel_turn,
    .fini = finish_turn,
};

/* ---- the beginning */

static bool has_offer(const struct worker *w, const struct mcp_snapshot *snapshot)
{
    if (snapshot == NULL)
        return false;
    chat_turn_want_servers(w, snapshot);
    return chat_turn_has_offer(w, snapshot) || chat_turn_patience_ms(w, snapshot) > 0;
}

void chat_turn_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                     const struct caller *caller)
{
    const bool has_tools = w->config->chat_tools != CONFIG_CHAT_TOOLS_OFF;
    struct mcp_snapshot *snapshot = has_tools ? worker_mcp_servers(w) : NULL;
    struct chat_turn *t =
        has_offer(w, snapshot) ? flight_new(&ops, w, peer_of_exchange(x), r, caller) : NULL;

    if (t == NULL) {
        mcp_snapshot_unref(snapshot);
        relay_start(w, x, r, caller);
        return;
    }
    t->snapshot = snapshot;
    t->calls.flight = &t->flight;
    t->calls.close = chat_turn_close_call;
    t->calls.form = w->config->chat_results == CONFIG_CHAT_RESULTS_JSON ? MCP_RESULT_JSON_ARRAY
                                                                        : MCP_RESULT_TEXT;
    buf_init(&t->body, w->config->max_request_memory_bytes);
    buf_init(&t->history, w->config->max_request_memory_bytes);
    turn_wake(&t->flight);
}
