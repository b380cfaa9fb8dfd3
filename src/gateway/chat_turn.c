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
 * A turn is freed when the exchange and the upstream call have ended. Tasks of the hub are
 * cancelled before, and report nothing any more. */
#include "gateway/chat_turn.h"

#include <stdlib.h>

#include "base/budget.h"
#include "ev/log.h"
#include "gateway/chat_turn_internal.h"
#include "gateway/relay.h"
#include "gateway/request_body.h"
#include "gateway/upstream_options.h"
#include "gateway/upstream_watch.h"
#include "wire/chat_rewrite.h"

/* ---- end of life */

static void turn_free(struct chat_turn *t)
{
    *t->link = t->next;
    if (t->next != NULL)
        t->next->link = t->link;
    chat_turn_cancel(t);
    loop_timer_free(t->timer);
    chat_merge_fini(&t->merge);
    mcp_snapshot_unref(t->snapshot);
    buf_fini(&t->rewritten);
    buf_fini(&t->offer);
    buf_fini(&t->body);
    buf_fini(&t->history);
    upstream_answer_fini(&t->answer);
    arena_fini(&t->arena);
    budget_free(t, sizeof(*t));
}

void chat_turn_cancel(struct chat_turn *t)
{
    if (t->call != NULL)
        http_call_cancel(t->call);
    t->call = NULL;
    chat_turn_cancel_tools(t);
}

void chat_turn_free_if_over(struct chat_turn *t)
{
    if (t->x == NULL && t->call == NULL && t->held == NULL)
        turn_free(t);
}

void chat_turn_end_all(struct worker *w, const struct err *e)
{
    for (struct chat_turn *t = w->chat_turns, *next; t != NULL; t = next) {
        next = t->next;
        if (t->x != NULL && t->held == NULL) /* else it is asked again: the worker waits for that */
            chat_turn_fail(t, e, chat_turn_fresh_out(t));
        chat_turn_free_if_over(t);
    }
}

void chat_turn_drop_all(struct worker *w)
{
    for (struct chat_turn *t = w->chat_turns, *next; t != NULL; t = next) {
        next = t->next;
        turn_free(t);
    }
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
        upstream_answer_failed(&t->answer, t->call);
        worker_hide_keys(t->worker, t->http, &t->merge.error);
        chat_turn_fail(t, &t->merge.error, out);
    } else if (end == CHAT_ROUND_LAST) {
        chat_turn_finish(t, out);
    } else if (end == CHAT_ROUND_CALLS && t->n_rounds >= t->worker->config->max_tool_rounds) {
        fail_limit(t, out);
    } else {
        t->is_mixed = end == CHAT_ROUND_MIXED;
        chat_turn_send(t);
        if (t->x != NULL)
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
    return t->x != NULL && t->state == CHAT_TURN_MODEL;
}

static void on_head(void *arg, int status, const struct http_header *headers, size_t n_headers)
{
    struct chat_turn *t = arg;
    struct err e;

    if (!is_listening(t))
        return;
    upstream_answer_head(&t->answer, status, headers, n_headers);
    if (!upstream_answer_is_good(&t->answer) && !t->is_begun) {
        chat_turn_relay_head(t, headers, n_headers);
    } else if (upstream_answer_is_good(&t->answer) && t->request.stream) {
        chat_turn_begin(t, headers, n_headers);
    } else if (upstream_answer_is_good(&t->answer) && !chat_turn_keep_head(t, headers, n_headers)) {
        err_set_no_memory(&e);
        chat_turn_fail(t, &e, chat_turn_fresh_out(t));
        chat_turn_free_if_over(t);
    }
}

/* A later round was refused, and the stream has begun. */
static void refused(struct chat_turn *t)
{
    struct err e;

    upstream_answer_failed(&t->answer, NULL);
    upstream_answer_error(&t->answer, worker_passes_key(t->worker, t->http), &e);
    worker_hide_keys(t->worker, t->http, &e);
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
    t->answer.n_bytes += bytes.len;
    if (t->first_byte_ms == 0)
        t->first_byte_ms = loop_now_ms(t->worker->loop);
    if (t->is_relayed) {
        http_exchange_write(t->x, bytes);
    } else if (upstream_answer_is_good(&t->answer)) {
        on_answer(t, bytes);
    } else if (!upstream_answer_keep(&t->answer, bytes)) {
        refused(t);
    }
    chat_turn_free_if_over(t);
}

static void on_end(void *arg, const struct err *failure)
{
    struct chat_turn *t = arg;

    if (failure != NULL)
        upstream_answer_failed(&t->answer, t->call);
    upstream_watch_hear_end(t->worker->watch, failure);
    t->call = NULL;
    if (is_listening(t)) {
        if (t->is_relayed)
            chat_turn_relay_end(t, failure);
        else if (t->answer.status == 0)
            chat_turn_fail(t, failure, chat_turn_fresh_out(t));
        else if (upstream_answer_is_good(&t->answer))
            end_round(t, failure, chat_turn_fresh_out(t));
        else
            refused(t);
    }
    chat_turn_free_if_over(t);
}

const struct http_call_handler chat_turn_call_handler = {on_head, on_body, on_end};

/* ---- reports of the exchange */

static void on_gone(void *arg)
{
    struct chat_turn *t = arg;

    t->x = NULL;
    if (t->held != NULL)
        return; /* the work will notice */
    chat_turn_log(t, "client_gone", NULL);
    chat_turn_cancel(t);
    chat_turn_free_if_over(t);
}

static void on_blocked(void *arg, bool blocked)
{
    struct chat_turn *t = arg;

    t->is_blocked = blocked;
    if (t->call == NULL)
        return;
    if (blocked)
        http_call_pause(t->call);
    else
        http_call_resume(t->call);
}

static const struct http_exchange_handler exchange_handler = {on_gone, on_blocked};

static void on_timer(void *arg)
{
    struct chat_turn *t = arg;

    if (t->x == NULL && t->held != NULL)
        return;
    if (t->state == CHAT_TURN_DONE)
        chat_turn_cancel(t);
    else
        chat_turn_keep_alive(t);
    chat_turn_free_if_over(t);
}

/* ---- the beginning */

static struct chat_turn *turn_new(struct worker *w, struct http_exchange *x,
                                  const struct http_request *r, struct mcp_snapshot *snapshot)
{
    struct chat_turn *t = budget_alloc(sizeof(*t), sizeof(*t));

    if (t == NULL)
        return NULL;
    t->timer = loop_timer_new(w->loop, on_timer, t);
    if (t->timer == NULL) {
        budget_free(t, sizeof(*t));
        return NULL;
    }
    t->worker = w;
    t->x = x;
    t->http = r;
    t->start_ms = t->last_write_ms = loop_now_ms(w->loop);
    t->snapshot = mcp_snapshot_ref(snapshot);
    arena_init(&t->arena, w->config->max_request_memory_bytes);
    buf_init(&t->body, w->config->max_request_memory_bytes);
    buf_init(&t->history, w->config->max_request_memory_bytes);
    upstream_answer_init(&t->answer);
    t->next = w->chat_turns;
    t->link = &w->chat_turns;
    if (t->next != NULL)
        t->next->link = &t->next;
    w->chat_turns = t;
    return t;
}

/* Reads what the client has sent; -1 when it is better passed on as it is. */
static int read_request(struct chat_turn *t, struct err *reterr)
{
    const struct name_list aliases = upstream_model_aliases(t->worker->config);
    str body;

    if (http_exchange_body(t->held == NULL ? t->x : t->held, &body, reterr) == -1)
        return -1; /* the upstream's to judge */
    t->body_bytes = body.len;
    if (chat_rewrite(aliases, body, &t->rewritten))
        body = buf_str(&t->rewritten);
    if (!buf_failed(&t->rewritten) && chat_loop_request_read(body, &t->arena, &t->request) &&
        chat_turn_offer(t) > 0)
        return 0;
    err_set_no_memory(reterr); /* or there is nothing to offer: nobody asks */
    return -1;
}

static void init_merge(struct chat_turn *t)
{
    const struct config *c = t->worker->config;
    const struct chat_merge_conf conf = {
        .tools = &t->names,
        .ids = &t->worker->ids,
        .is_stream = t->request.stream,
        .wants_usage = t->request.include_usage,
        .hides_rounds = c->chat_tool_rounds == CONFIG_CHAT_TOOL_ROUNDS_HIDE,
        .max_event_bytes = c->max_line_bytes,
        .max_output_bytes = c->max_response_bytes,
    };

    chat_merge_init(&t->merge, &conf);
}

/* ---- work that takes long */

static void run_work(void *arg)
{
    struct chat_turn *t = arg;

    t->rc = t->work(t, &t->error);
}

/* What the log shows of the request of a client that has left goes with the exchange. */
static void on_work_done(void *arg)
{
    struct chat_turn *t = arg;
    struct http_exchange *const held = t->held;

    t->held = NULL;
    if (t->x == NULL)
        chat_turn_log(t, "client_gone", NULL);
    http_exchange_release(held);
    if (t->x != NULL)
        t->then(t, t->rc == -1 ? &t->error : NULL);
    chat_turn_free_if_over(t);
}

bool chat_turn_work(struct chat_turn *t, size_t weight,
                    int (*work)(struct chat_turn *t, struct err *reterr),
                    void (*then)(struct chat_turn *t, const struct err *failure))
{
    t->work = work;
    t->then = then;
    t->held = weight >= WORKER_LARGE_BYTES ? t->x : NULL;
    if (t->held != NULL) {
        http_exchange_hold(t->held);
        t->job = (struct loop_job){.work = run_work, .done = on_work_done, .arg = t};
        loop_offload(t->worker->loop, &t->job);
        return false;
    }
    t->rc = work(t, &t->error);
    then(t, t->rc == -1 ? &t->error : NULL);
    return true;
}

/* ---- the beginning, again */

static void relay_instead(struct chat_turn *t)
{
    struct worker *const w = t->worker;
    struct http_exchange *const x = t->x;
    const struct http_request *const r = t->http;

    t->x = NULL; /* which is the relay's */
    relay_start(w, x, r, &t->caller);
}

static void begin_turn(struct chat_turn *t, const struct err *failure)
{
    if (failure != NULL) {
        relay_instead(t);
        return;
    }
    init_merge(t);
    http_exchange_watch(t->x, &exchange_handler, t);
    chat_turn_ask(t);
}

void chat_turn_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                     const struct caller *caller)
{
    struct mcp_snapshot *snapshot = NULL;
    struct chat_turn *t = NULL;

    if (w->config->chat_tools != CONFIG_CHAT_TOOLS_OFF)
        snapshot = worker_mcp_servers(w);
    if (snapshot != NULL)
        chat_turn_want_servers(w, snapshot);
    if (snapshot != NULL && chat_turn_has_offer(w, snapshot))
        t = turn_new(w, x, r, snapshot);
    mcp_snapshot_unref(snapshot);
    if (t == NULL) {
        relay_start(w, x, r, caller);
        return;
    }
    t->request_id = arena_dup(&t->arena, http_exchange_request_id(x));
    t->client = arena_dup(&t->arena, r->peer);
    t->caller = *caller;
    if (!chat_turn_work(t, request_body_weight(r), read_request, begin_turn))
        http_exchange_watch(x, &exchange_handler, t);
    chat_turn_free_if_over(t);
}
