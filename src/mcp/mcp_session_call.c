/* mcp_session_call.c -- calls of tools: waiting, under way, asked again, answered.
 *
 *     QUEUED -> SENT -> done          QUEUED again: the session was lost (MCP 5.7), or the
 *                |  \-> RELISTING     server's version (-32022); in its old place of the queue
 *                |        |           RELISTING: wrong headers, new ones come with the next
 *                \<-------/           listing (MCP 6.4)
 *
 * Each of these reasons to ask again counts once for a call. A tool that wants input is asked
 * again at once (MCP 3.4). Otherwise a call is sent once: tools have effects. */
#include "mcp/mcp_session_internal.h"

#include <stdlib.h>

#include "json/json_read.h"
#include "json/json_text.h"

enum place { QUEUED, SENT, RELISTING, REFUSED };

struct mcp_session_call {
    struct mcp_session *session;
    const struct mcp_session_call_handler *handler;
    void *arg;
    struct mcp_session_call *next;
    struct arena arena; /* of the next three */
    str tool, tool_escaped;
    str arguments;
    const struct mcp_mirror *mirrors;

    enum place place;
    bool is_doomed; /* fails with all others that waited when the connection ended */
    struct mcp_pending pending;
    uint64_t idle_ms, total_ms; /* as given */
    uint64_t sent_ms, idle_until_ms, until_ms;

    bool has_lost_session, has_lost_version, has_relisted; /* and was asked again for it */
    bool is_in_listing; /* RELISTING: the listing that runs began after the refusal */
    struct buf refusal; /* RELISTING: the error that is reported if nothing helps */
    unsigned n_rounds;
    struct buf responses, state; /* of the last round (MCP 3.4); no bytes: absent */
};

/* ---- the list of calls */

static void count(const struct mcp_session_call *c, int by)
{
    size_t *n = c->place == QUEUED ? &c->session->n_queued : &c->session->n_active;

    if (c->place != REFUSED)
        *n += (size_t)by;
}

static void place(struct mcp_session_call *c, enum place to)
{
    count(c, -1);
    c->place = to;
    count(c, 1);
}

static void unlink_call(struct mcp_session_call *c)
{
    struct mcp_session *s = c->session;
    struct mcp_session_call **at = &s->first;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    if (s->last == &c->next)
        s->last = at;
    count(c, -1);
    mcp_pending_remove(&s->pending, &c->pending);
}

static void call_free(struct mcp_session_call *c)
{
    arena_fini(&c->arena);
    buf_fini(&c->refusal);
    buf_fini(&c->responses);
    buf_fini(&c->state);
    free(c);
}

/* ---- the end of a call */

static void done(struct mcp_session_call *c, const struct mcp_failure *failure,
                 const struct mcp_call_result *result)
{
    struct mcp_session *s = c->session;

    unlink_call(c);
    mcp_session_wake(s); /* there is room for another */
    if (failure != NULL && mcp_failure_wants_refresh(failure))
        mcp_session_refresh(s);
    c->handler->on_done(c->arg, failure, result);
    call_free(c);
}

static void fail(struct mcp_session_call *c, struct mcp_failure f)
{
    struct buf message = {.limit = 0};

    mcp_report_text(c->session, f.message, &message);
    f.label = c->session->conf.server->label;
    f.tool = c->tool;
    f.message = buf_str(&message);
    done(c, &f, NULL);
    buf_fini(&message);
}

static void fail_result(struct mcp_session_call *c, const char *message)
{
    fail(c, (struct mcp_failure){.cause = MCP_FAILED_RESULT, .message = str_from_c(message)});
}

static void fail_limit(struct mcp_session_call *c, const char *message)
{
    fail(c, (struct mcp_failure){.cause = MCP_FAILED_LIMIT, .message = str_from_c(message)});
}

static void fail_rpc(struct mcp_session_call *c, int64_t code, str escaped)
{
    struct buf message = {.limit = 0};

    json_text_decode(escaped, &message);
    fail(c,
         (struct mcp_failure){.cause = MCP_FAILED_RPC, .code = code, .message = buf_str(&message)});
    buf_fini(&message);
}

static uint64_t seconds_since(const struct mcp_session *s, uint64_t then_ms)
{
    return (loop_now_ms(s->loop) - then_ms + 500) / 1000;
}

static void fail_link(struct mcp_session_call *c, const struct mcp_link_failure *why)
{
    fail(c, (struct mcp_failure){.cause = why->cause,
                                 .code = why->http_status,
                                 .seconds = (int64_t)seconds_since(c->session, c->sent_ms),
                                 .message = why->message});
}

/* What a tool says about its own failure leaves us as an error, so secrets go. A text that
 * is no JSON without them is not shown at all. */
static str without_secrets(const struct mcp_session *s, str raw, struct buf *out)
{
    if (str_is_none(raw))
        return raw;
    mcp_report_text(s, raw, out);
    return jr_is_valid(buf_str(out)) ? buf_str(out) : STR("[]");
}

static void fail_tool(struct mcp_session_call *c, const struct mcp_call_result *result)
{
    struct mcp_call_result shown = *result;
    struct buf content = {.limit = 0}, structured = {.limit = 0};

    shown.content = without_secrets(c->session, result->content, &content);
    shown.structured = without_secrets(c->session, result->structured, &structured);
    fail(c, (struct mcp_failure){.cause = MCP_FAILED_TOOL, .result = &shown});
    buf_fini(&content);
    buf_fini(&structured);
}

/* ---- sending */

static void on_answer(void *arg, const struct mcp_reply *a);

static str given(const struct buf *b)
{
    return b->len > 0 ? buf_str(b) : STR_NONE;
}

static void send_call(struct mcp_session_call *c, const struct mcp_mirror *mirrors)
{
    struct mcp_session *s = c->session;
    struct mcp_request r = {.method = MCP_CALL_TOOL,
                            .version = s->version,
                            .tool = c->tool_escaped,
                            .arguments = c->arguments,
                            .input_responses = given(&c->responses),
                            .request_state = given(&c->state)};
    struct mcp_link_message lm = {.tool = c->tool, .arguments = c->arguments, .mirrors = mirrors};
    uint64_t now_ms = loop_now_ms(s->loop);
    struct err e;

    place(c, SENT);
    c->pending.on_answer = on_answer;
    c->pending.arg = c;
    c->sent_ms = now_ms;
    c->idle_until_ms = now_ms + c->idle_ms;
    if (s->n_active == 1)
        s->liveness.heard_ms = now_ms; /* silence counts from here */
    if (mcp_session_ask(s, &c->pending, &r, &lm, &e))
        mcp_watch_arm(s);
    else
        fail_limit(c, e.msg);
}

/* ---- asking again */

static bool ask_in_new_session(struct mcp_session_call *c, const struct mcp_reply *a)
{
    struct mcp_session *s = c->session;
    bool has_lost_version = mcp_reply_lost_version(a);
    bool *was_asked_again = has_lost_version ? &c->has_lost_version : &c->has_lost_session;

    if (!has_lost_version && !mcp_reply_lost_session(a))
        return false;
    if (*was_asked_again)
        return false;
    *was_asked_again = true;
    place(c, QUEUED);
    mcp_handshake_again(s, c->pending.epoch, has_lost_version);
    mcp_session_wake(s);
    return true;
}

/* The server wants other headers than its last listing said. */
static bool ask_with_new_headers(struct mcp_session_call *c, const struct mcp_reply *a)
{
    if (a->m == NULL || a->m->kind != JSONRPC_ERROR || a->m->code != MCP_HEADER_MISMATCH ||
        c->has_relisted || !mcp_session_is_modern(c->session))
        return false;
    c->has_relisted = true;
    c->is_in_listing = false;
    buf_reset(&c->refusal);
    buf_append(&c->refusal, a->m->message);
    place(c, RELISTING);
    mcp_list_soon(c->session, 0);
    return true;
}

void mcp_calls_listing_begins(struct mcp_session *s)
{
    for (struct mcp_session_call *c = s->first; c != NULL; c = c->next)
        c->is_in_listing = c->place == RELISTING;
}

static const struct mcp_listed_tool *find_tool(const struct mcp_listing *listing, str name)
{
    const struct mcp_listed_tool *t = listing == NULL ? NULL : listing->first;

    while (t != NULL && !str_eq(t->name, name))
        t = t->next;
    return t;
}

static struct mcp_session_call *first_in_listing(const struct mcp_session *s)
{
    struct mcp_session_call *c = s->first;

    while (c != NULL && !(c->place == RELISTING && c->is_in_listing))
        c = c->next;
    return c;
}

void mcp_calls_listing_ended(struct mcp_session *s, const struct mcp_listing *listing)
{
    struct mcp_session_call *c;

    while ((c = first_in_listing(s)) != NULL) {
        const struct mcp_listed_tool *t = find_tool(listing, c->tool);

        if (t != NULL)
            send_call(c, t->mirrors);
        else
            fail_rpc(c, MCP_HEADER_MISMATCH, buf_str(&c->refusal));
    }
}

/* ---- answers */

/* MCP 3.4: what is asked for is declined, and the state goes back as it came. */
static void answer_input(struct mcp_session_call *c, const struct mcp_call_result *result)
{
    struct err e;

    if (!mcp_session_is_modern(c->session)) {
        fail_result(c, "The tool asked for input that this version of the protocol does not have.");
        return;
    }
    if (++c->n_rounds > MCP_INPUT_ROUNDS) {
        fail_result(c, "The tool asked for input again and again.");
        return;
    }
    buf_reset(&c->responses);
    buf_reset(&c->state);
    if (mcp_decline_inputs(result->input_requests, &c->responses, &e) == -1) {
        fail_result(c, e.msg);
        return;
    }
    if (!str_is_none(result->request_state))
        buf_append(&c->state, result->request_state);
    if (buf_failed(&c->responses) || buf_failed(&c->state))
        fail_limit(c, "Out of memory.");
    else
        send_call(c, c->mirrors);
}

static void take_result(struct mcp_session_call *c, str raw)
{
    struct mcp_call_result result;
    struct err e;

    if (mcp_read_call(raw, &result, &e) == -1)
        fail_result(c, e.msg);
    else if (result.needs_input)
        answer_input(c, &result);
    else if (result.is_error)
        fail_tool(c, &result);
    else
        done(c, NULL, &result);
}

static void on_answer(void *arg, const struct mcp_reply *a)
{
    struct mcp_session_call *c = arg;

    if (ask_in_new_session(c, a) || ask_with_new_headers(c, a))
        return;
    if (a->failure != NULL)
        fail_link(c, a->failure);
    else if (a->m->kind == JSONRPC_RESULT)
        take_result(c, a->m->result);
    else
        fail_rpc(c, a->m->code, a->m->message);
}

/* It restarts the idle timer only (MCP 8.4). */
void mcp_calls_progress(struct mcp_session *s, int64_t token, str message)
{
    struct mcp_pending *p = mcp_pending_find(&s->pending, token);
    struct buf plain = {.limit = 0}, shown = {.limit = 0};
    struct mcp_session_call *c;

    if (p == NULL || p->method != MCP_CALL_TOOL)
        return;
    c = p->arg;
    c->idle_until_ms = loop_now_ms(s->loop) + c->idle_ms;
    if (c->handler->on_progress == NULL)
        return;
    json_text_decode(message, &plain);
    mcp_report_text(s, buf_str(&plain), &shown);
    c->handler->on_progress(c->arg, str_is_none(message) ? STR_NONE : buf_str(&shown));
    buf_fini(&plain);
    buf_fini(&shown);
}

/* ---- deadlines */

/* 0: none. */
static uint64_t deadline(const struct mcp_session_call *c)
{
    uint64_t until_ms = c->total_ms == 0 ? UINT64_MAX : c->until_ms;

    if (c->place == SENT && c->idle_ms != 0 && c->idle_until_ms < until_ms)
        until_ms = c->idle_until_ms;
    return c->place == REFUSED ? UINT64_MAX : until_ms;
}

uint64_t mcp_calls_deadline(const struct mcp_session *s)
{
    uint64_t first_ms = UINT64_MAX;

    for (const struct mcp_session_call *c = s->first; c != NULL; c = c->next)
        first_ms = deadline(c) < first_ms ? deadline(c) : first_ms;
    return first_ms;
}

static void time_out(struct mcp_session_call *c, uint64_t now_ms)
{
    bool is_total = c->total_ms != 0 && now_ms >= c->until_ms;
    uint64_t limit_ms = is_total ? c->total_ms : c->idle_ms;

    mcp_session_give_up(c->session, &c->pending, "timeout");
    fail(c, (struct mcp_failure){.cause = MCP_FAILED_TIMEOUT,
                                 .seconds = (int64_t)((limit_ms + 500) / 1000)});
}

static struct mcp_session_call *first_late(const struct mcp_session *s, uint64_t now_ms)
{
    struct mcp_session_call *c = s->first;

    while (c != NULL && deadline(c) > now_ms)
        c = c->next;
    return c;
}

void mcp_calls_time_out(struct mcp_session *s, uint64_t now_ms)
{
    struct mcp_session_call *c;

    while ((c = first_late(s, now_ms)) != NULL)
        time_out(c, now_ms);
}

/* ---- all of them */

static struct mcp_session_call *first_at(const struct mcp_session *s, enum place at)
{
    struct mcp_session_call *c = s->first;

    while (c != NULL && c->place != at)
        c = c->next;
    return c;
}

static struct mcp_session_call *first_doomed(const struct mcp_session *s)
{
    struct mcp_session_call *c = s->first;

    while (c != NULL && !c->is_doomed)
        c = c->next;
    return c;
}

/* Those that are made meanwhile are not meant. */
void mcp_calls_fail(struct mcp_session *s, const struct mcp_end *why)
{
    struct mcp_session_call *c;

    for (c = s->first; c != NULL; c = c->next)
        c->is_doomed = true;
    while ((c = first_doomed(s)) != NULL)
        fail(c, (struct mcp_failure){
                    .cause = why->cause, .code = why->http_status, .message = why->text});
}

void mcp_calls_pump(struct mcp_session *s)
{
    struct mcp_session_call *c;

    while ((c = first_at(s, REFUSED)) != NULL)
        fail_limit(c, "Too many calls wait for this MCP server.");
    if (!s->is_connected && s->is_leaving && !s->opens_when_closed) {
        mcp_calls_fail(s, &(struct mcp_end){.cause = s->transport == MCP_TRANSPORT_STDIO
                                                         ? MCP_FAILED_CLOSED
                                                         : MCP_FAILED_UNREACHABLE});
        return;
    }
    while (s->is_connected && s->n_active < s->conf.server->max_concurrency &&
           (c = first_at(s, QUEUED)) != NULL)
        send_call(c, c->mirrors);
}

void mcp_calls_drop(struct mcp_session *s)
{
    while (s->first != NULL) {
        struct mcp_session_call *c = s->first;

        unlink_call(c);
        call_free(c);
    }
}

/* ---- the owner's */

static bool keep_conf(struct mcp_session_call *c, const struct mcp_session_call_conf *conf)
{
    struct buf escaped = {.limit = 0};
    bool is_kept;

    json_text_escape(conf->tool, &escaped);
    c->tool = arena_dup(&c->arena, conf->tool);
    c->tool_escaped = arena_dup(&c->arena, buf_str(&escaped));
    c->arguments = arena_dup(&c->arena, conf->arguments);
    c->mirrors = conf->mirrors;
    c->idle_ms = conf->idle_timeout_ms;
    c->total_ms = conf->total_timeout_ms;
    is_kept = !buf_failed(&escaped) && !str_is_none(c->tool) && !str_is_none(c->tool_escaped) &&
              !str_is_none(c->arguments);
    buf_fini(&escaped);
    return is_kept;
}

struct mcp_session_call *mcp_session_call(struct mcp_session *s,
                                          const struct mcp_session_call_conf *conf,
                                          const struct mcp_session_call_handler *handler, void *arg,
                                          struct err *reterr)
{
    struct mcp_session_call *c = calloc(1, sizeof(*c));

    if (c == NULL || !keep_conf(c, conf)) {
        err_set_no_memory(reterr);
        if (c != NULL)
            call_free(c);
        return NULL;
    }
    c->session = s;
    c->handler = handler;
    c->arg = arg;
    c->until_ms = loop_now_ms(s->loop) + c->total_ms;
    c->place = s->n_queued < MCP_CALL_QUEUE + s->conf.server->max_concurrency - s->n_active
                   ? QUEUED
                   : REFUSED;
    count(c, 1);
    *s->last = c;
    s->last = &c->next;
    mcp_session_wake(s);
    mcp_watch_arm(s);
    return c;
}

void mcp_session_cancel(struct mcp_session_call *c, const char *reason)
{
    struct mcp_session *s = c->session;

    mcp_session_give_up(s, &c->pending, reason);
    unlink_call(c);
    mcp_session_wake(s);
    call_free(c);
}
