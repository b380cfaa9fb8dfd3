/* mcp_session_call.c -- one call of a tool: sent, asked again, answered.
 *
 *     QUEUED -> SENT -> done          QUEUED again: the session was lost (MCP 5.7), or the
 *                |  \-> RELISTING     server's version (-32022); in its old place of the queue
 *                |        |           RELISTING: wrong headers, new ones come with the next
 *                \<-------/           listing (MCP 6.4)
 *
 * Each of these reasons to ask again counts once for a call. A tool that wants input is asked
 * again at once (MCP 3.4). Otherwise a call is sent once: tools have effects. */
#include "mcp/proto/mcp_redact.h"
#include "mcp/session/mcp_call.h"

#include "json/json_text.h"

/* ---- the end of a call */

static void end_call(struct mcp_session_call *c, const struct mcp_failure *failure,
                     const struct mcp_call_result *result)
{
    struct mcp_session *s = c->session;

    mcp_count_request(s, &c->pending, failure == NULL ? NULL : mcp_failure_word(failure->cause));
    mcp_call_unlink(c);
    mcp_session_wake(s); /* there is room for another */
    if (failure != NULL && mcp_failure_wants_refresh(failure))
        mcp_session_refresh(s);
    c->handler->on_done(c->arg, failure, result);
    mcp_call_free(c);
}

void mcp_call_fail(struct mcp_session_call *c, struct mcp_failure f)
{
    struct buf message = {.limit = 0};

    mcp_report_text(c->session, f.message, &message);
    f.label = c->session->conf.server->label;
    f.tool = c->tool;
    f.message = buf_str(&message);
    end_call(c, &f, NULL);
    buf_fini(&message);
}

static void fail_result(struct mcp_session_call *c, const char *message)
{
    mcp_call_fail(c,
                  (struct mcp_failure){.cause = MCP_FAILED_RESULT, .message = str_from_c(message)});
}

void mcp_call_fail_limit(struct mcp_session_call *c, const char *message)
{
    mcp_call_fail(c,
                  (struct mcp_failure){.cause = MCP_FAILED_LIMIT, .message = str_from_c(message)});
}

void mcp_call_fail_rpc(struct mcp_session_call *c, int64_t code, str escaped)
{
    struct buf message = {.limit = 0};

    json_text_decode(escaped, &message);
    mcp_call_fail(c, (struct mcp_failure){
                         .cause = MCP_FAILED_RPC, .code = code, .message = buf_str(&message)});
    buf_fini(&message);
}

static uint64_t seconds_since(const struct mcp_session *s, uint64_t then_ms)
{
    return (loop_now_ms(s->loop) - then_ms + 500) / 1000;
}

static void fail_link(struct mcp_session_call *c, const struct mcp_link_failure *why)
{
    mcp_call_fail(c, (struct mcp_failure){.cause = why->cause,
                                          .code = why->http_status,
                                          .seconds = (int64_t)seconds_since(c->session, c->sent_ms),
                                          .message = why->message});
}

/* A tool's own failure is reported as an error, so secrets are taken out. */
static void fail_tool(struct mcp_session_call *c, const struct mcp_call_result *result)
{
    const struct secrets *secrets = &c->session->secrets;
    struct mcp_call_result shown = *result;
    struct buf content = {.limit = 0}, structured = {.limit = 0};

    shown.content = mcp_redact_content(secrets, result->content, &content);
    shown.structured = mcp_redact_structured(secrets, result->structured, &structured);
    mcp_call_fail(c, (struct mcp_failure){.cause = MCP_FAILED_TOOL, .result = &shown});
    buf_fini(&content);
    buf_fini(&structured);
}

/* ---- sending */

static void on_answer(void *arg, const struct mcp_reply *reply);

static str text_or_none(const struct buf *b)
{
    return b->len > 0 ? buf_str(b) : STR_NONE;
}

void mcp_call_send(struct mcp_session_call *c, const struct mcp_mirror *mirrors)
{
    struct mcp_session *s = c->session;
    struct mcp_request r = {.method = MCP_CALL_TOOL,
                            .version = s->version,
                            .tool = c->tool_escaped,
                            .arguments = c->arguments,
                            .traceparent = c->traceparent,
                            .tracestate = c->tracestate,
                            .input_responses = text_or_none(&c->responses),
                            .request_state = text_or_none(&c->state)};
    struct mcp_link_message lm = {.tool = c->tool,
                                  .arguments = c->arguments,
                                  .mirrors = mirrors,
                                  .traceparent = c->traceparent,
                                  .tracestate = c->tracestate};
    uint64_t now_ms = loop_now_ms(s->loop);
    struct err e;

    mcp_call_place(c, MCP_CALL_SENT);
    c->pending.on_answer = on_answer;
    c->pending.arg = c;
    c->sent_ms = now_ms;
    c->idle_until_ms = now_ms + c->idle_ms;
    if (s->n_active == 1)
        s->liveness.heard_ms = now_ms; /* silence counts from here */
    if (mcp_session_ask(s, &c->pending, &r, &lm, &e)) {
        c->sent_id = c->pending.id;
        mcp_watch_arm(s);
    } else {
        mcp_call_fail_limit(c, e.msg);
    }
}

struct mcp_call_facts mcp_session_call_facts(const struct mcp_session_call *c)
{
    return (struct mcp_call_facts){.version = c->session->version,
                                   .request_id = c->sent_id,
                                   .is_stdio = c->session->transport == MCP_TRANSPORT_STDIO};
}

/* ---- asking again */

static bool ask_in_new_session(struct mcp_session_call *c, const struct mcp_reply *reply)
{
    struct mcp_session *s = c->session;
    bool has_lost_version = mcp_reply_lost_version(reply);
    bool *was_asked_again = has_lost_version ? &c->has_lost_version : &c->has_lost_session;

    if (!has_lost_version && !mcp_reply_lost_session(reply))
        return false;
    if (*was_asked_again)
        return false;
    *was_asked_again = true;
    mcp_count_request(s, &c->pending, mcp_reply_error(reply));
    mcp_call_place(c, MCP_CALL_QUEUED);
    mcp_handshake_again(s, c->pending.epoch, has_lost_version);
    mcp_session_wake(s);
    return true;
}

/* Waits for a new listing when the server wants other headers than the last one said. */
static bool ask_with_new_headers(struct mcp_session_call *c, const struct mcp_reply *reply)
{
    if (reply->m == NULL || reply->m->kind != JSONRPC_ERROR ||
        reply->m->code != MCP_HEADER_MISMATCH || c->has_relisted ||
        !mcp_session_is_modern(c->session))
        return false;
    c->has_relisted = true;
    mcp_count_request(c->session, &c->pending, mcp_reply_error(reply));
    c->is_in_listing = false;
    buf_reset(&c->refusal);
    buf_append(&c->refusal, reply->m->message);
    mcp_call_place(c, MCP_CALL_RELISTING);
    mcp_list_soon(c->session, 0);
    return true;
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
    mcp_count_request(c->session, &c->pending, NULL);
    if (++c->n_rounds > MCP_INPUT_ROUNDS) {
        fail_result(c, "The tool asked for input again and again.");
        return;
    }
    c->has_relisted = false; /* its headers were right, but those of a later listing are gone */
    buf_reset(&c->responses);
    buf_reset(&c->state);
    if (mcp_decline_inputs(result->input_requests, &c->responses, &e) == -1) {
        fail_result(c, e.msg);
        return;
    }
    if (!str_is_none(result->request_state))
        buf_append(&c->state, result->request_state);
    if (buf_failed(&c->responses) || buf_failed(&c->state))
        mcp_call_fail_limit(c, "Out of memory.");
    else
        mcp_call_send(c, c->mirrors);
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
        end_call(c, NULL, &result);
}

static void on_answer(void *arg, const struct mcp_reply *reply)
{
    struct mcp_session_call *c = arg;

    if (ask_in_new_session(c, reply) || ask_with_new_headers(c, reply))
        return;
    if (reply->failure != NULL)
        fail_link(c, reply->failure);
    else if (reply->m->kind == JSONRPC_RESULT)
        take_result(c, reply->m->result);
    else
        mcp_call_fail_rpc(c, reply->m->code, reply->m->message);
}
