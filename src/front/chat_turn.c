/* chat_turn.c -- one request to /v1/chat/completions that has tools of the gateway.
 *
 *     READ -> MODEL -> TOOLS -> MODEL ... -> DONE      any -> DONE
 *
 * READ   the request is read, elsewhere if it is large; it may still come to be relayed
 * MODEL  the upstream is asked, and answers; a client that streams gets its words at once
 * TOOLS  the tools that the model has called are running. Then the model is asked again;
 *        or, when it has called tools of the client as well, the answer is complete
 * DONE   the client has its answer; the upstream call may still be reading the end of its
 *        body, so that the connection can be used again
 *
 * In a round with calls of both kinds the gateway's are run, and only the client's are
 * returned. What the client sends next holds its own calls alone: what the others have
 * brought is not kept, since nothing in this API could name it, and the model asks again
 * if it still needs it.
 *
 * Tasks of the hub are cancelled before a turn is freed, and report nothing any more. */
#include "front/chat_turn.h"

#include "ev/log.h"
#include "front/chat_turn_internal.h"
#include "front/relay.h"
#include "turn/request_body.h"
#include "upstream/upstream_options.h"
#include "upstream/upstream_watch.h"
#include "wire/chat/chat_rewrite.h"

/* ---- what a flight asks of its owner */

static void log_gone(void *arg)
{
    chat_turn_log(arg, "client_gone", NULL);
}

static void on_timer(void *arg)
{
    flight_keep_alive(arg, 0);
}

static void fail_turn(void *arg, const struct err *e)
{
    chat_turn_fail(arg, e, chat_turn_fresh_out(arg));
}

static void cancel_turn(void *arg)
{
    chat_turn_cancel_tools(arg);
}

static void finish_turn(void *arg)
{
    struct chat_turn *t = arg;

    chat_merge_fini(&t->merge);
    mcp_snapshot_unref(t->snapshot);
    buf_fini(&t->rewritten);
    buf_fini(&t->offer);
    buf_fini(&t->body);
    buf_fini(&t->history);
}

/* ---- the end of a round */

static void fail_limit(struct chat_turn *t, struct buf *out)
{
    struct err e;

    err_set(&e, ERR_INTERNAL, "The model kept calling tools for %u rounds (max_tool_rounds).",
            t->n_rounds);
    (void)snprintf(e.own_code, sizeof(e.own_code), "tool_iteration_limit");
    chat_turn_fail(t, &e, out);
}

static void end_round(struct chat_turn *t, const struct err *failure, struct buf *out)
{
    enum chat_round_end end = chat_merge_end(&t->merge, failure, out);

    if (end == CHAT_ROUND_FAILED) {
        upstream_answer_failed(&t->flight.answer, t->flight.call);
        worker_hide_keys(t->flight.worker, t->flight.http, &t->merge.error);
        chat_turn_fail(t, &t->merge.error, out);
    } else if (end == CHAT_ROUND_LAST) {
        chat_turn_finish(t, out);
    } else if (end == CHAT_ROUND_CALLS &&
               t->n_rounds >= t->flight.worker->config->max_tool_rounds) {
        fail_limit(t, out);
    } else {
        t->is_mixed = end == CHAT_ROUND_MIXED;
        chat_turn_send(t);
        if (t->flight.x != NULL)
            chat_turn_call_tools(t);
    }
}

void chat_turn_on_results(struct chat_turn *t)
{
    if (t->is_mixed) {
        chat_turn_finish(t, chat_turn_fresh_out(t));
    } else {
        chat_turn_remember(t);
        chat_turn_ask(t);
    }
}

/* ---- reports of the upstream call */

/* Is its answer still being read? Later the upstream may only end its body. */
static bool is_listening(const struct chat_turn *t)
{
    return t->flight.x != NULL && t->state == CHAT_TURN_MODEL;
}

static void on_head(void *arg, int status, const struct http_header *headers, size_t n_headers)
{
    struct chat_turn *t = arg;
    struct err e;

    if (!is_listening(t))
        return;
    upstream_answer_head(&t->flight.answer, status, headers, n_headers);
    if (!upstream_answer_is_good(&t->flight.answer) && !t->is_begun) {
        chat_turn_relay_head(t, headers, n_headers);
    } else if (upstream_answer_is_good(&t->flight.answer) && t->request.stream) {
        chat_turn_begin(t, headers, n_headers);
    } else if (upstream_answer_is_good(&t->flight.answer) &&
               !chat_turn_keep_head(t, headers, n_headers)) {
        err_set_no_memory(&e);
        chat_turn_fail(t, &e, chat_turn_fresh_out(t));
        flight_free_if_over(&t->flight);
    }
}

/* A later round was refused, and the stream has begun. */
static void refused(struct chat_turn *t)
{
    struct err e;

    upstream_answer_failed(&t->flight.answer, NULL);
    upstream_answer_error(&t->flight.answer, worker_passes_key(t->flight.worker, t->flight.http),
                          &e);
    worker_hide_keys(t->flight.worker, t->flight.http, &e);
    chat_turn_fail(t, &e, chat_turn_fresh_out(t));
}

static void on_answer(struct chat_turn *t, str bytes)
{
    struct buf *out = chat_turn_fresh_out(t);

    chat_merge_feed(&t->merge, bytes, out);
    if (chat_merge_is_over(&t->merge))
        end_round(t, NULL, out);
    else
        chat_turn_send(t);
}

static void on_body(void *arg, str bytes)
{
    struct chat_turn *t = arg;

    if (!is_listening(t))
        return;
    t->flight.answer.n_bytes += bytes.len;
    if (t->flight.first_byte_ms == 0)
        t->flight.first_byte_ms = loop_now_ms(t->flight.worker->loop);
    if (t->is_relayed) {
        http_exchange_write(t->flight.x, bytes);
    } else if (upstream_answer_is_good(&t->flight.answer)) {
        on_answer(t, bytes);
    } else if (!upstream_answer_keep(&t->flight.answer, bytes)) {
        refused(t);
    }
    flight_free_if_over(&t->flight);
}

static void on_end(void *arg, const struct err *failure)
{
    struct chat_turn *t = arg;

    if (failure != NULL)
        upstream_answer_failed(&t->flight.answer, t->flight.call);
    upstream_watch_hear_end(t->flight.worker->watch, failure);
    t->flight.call = NULL;
    if (is_listening(t)) {
        if (t->is_relayed)
            chat_turn_relay_end(t, failure);
        else if (t->flight.answer.status == 0)
            chat_turn_fail(t, failure, chat_turn_fresh_out(t));
        else if (upstream_answer_is_good(&t->flight.answer))
            end_round(t, failure, chat_turn_fresh_out(t));
        else
            refused(t);
    }
    flight_free_if_over(&t->flight);
}

const struct http_call_handler chat_turn_call_handler = {on_head, on_body, on_end};

/* ---- the beginning */

/* Reads what the client has sent; -1 when it is better passed on as it is. */
static int read_request(void *arg, struct err *reterr)
{
    struct chat_turn *t = arg;
    const struct name_list aliases = upstream_model_aliases(t->flight.worker->config);
    str body;

    if (http_exchange_body(t->flight.x, &body, reterr) == -1)
        return -1; /* the upstream's to judge */
    t->flight.body_bytes = body.len;
    if (chat_rewrite(aliases, body, &t->rewritten))
        body = buf_str(&t->rewritten);
    if (!buf_failed(&t->rewritten) && chat_loop_request_read(body, &t->flight.arena, &t->request) &&
        chat_turn_offer(t) > 0)
        return 0;
    err_set_no_memory(reterr); /* or there is nothing to offer: nobody asks */
    return -1;
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

static void relay_instead(struct chat_turn *t)
{
    struct http_exchange *const x = t->flight.x;

    t->flight.x = NULL; /* which is the relay's */
    relay_start(t->flight.worker, x, t->flight.http, &t->flight.caller);
}

static void begin_turn(void *arg, const struct err *failure)
{
    struct chat_turn *t = arg;

    if (t->flight.x == NULL)
        return;
    if (failure != NULL) {
        relay_instead(t);
        return;
    }
    init_merge(t);
    chat_turn_ask(t);
}

static const struct flight_ops ops = {
    .size = sizeof(struct chat_turn),
    .log_gone = log_gone,
    .on_timer = on_timer,
    .fail = fail_turn,
    .cancel = cancel_turn,
    .fini = finish_turn,
};

static bool has_offer(const struct worker *w, const struct mcp_snapshot *snapshot)
{
    if (snapshot == NULL)
        return false;
    chat_turn_want_servers(w, snapshot);
    return chat_turn_has_offer(w, snapshot);
}

void chat_turn_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                     const struct caller *caller)
{
    const bool has_tools = w->config->chat_tools != CONFIG_CHAT_TOOLS_OFF;
    struct mcp_snapshot *snapshot = has_tools ? worker_mcp_servers(w) : NULL;
    struct chat_turn *t = has_offer(w, snapshot) ? flight_new(&ops, w, x, r, caller) : NULL;

    if (t == NULL) {
        mcp_snapshot_unref(snapshot);
        relay_start(w, x, r, caller);
        return;
    }
    t->snapshot = snapshot;
    buf_init(&t->body, w->config->max_request_memory_bytes);
    buf_init(&t->history, w->config->max_request_memory_bytes);
    flight_work(&t->flight, request_body_weight(r), read_request, begin_turn);
    flight_free_if_over(&t->flight);
}
