/* mcp_http_post.c -- one message goes out, its answer comes back (MCP 5.1 to 5.9, 6.1,
 * 6.2, 6.5).
 *
 *     POST -> 2xx, JSON or events with the answer ------------------------> answered
 *        \      \-> the stream ends early, its events had ids
 *         \            -> wait -> GET -> the rest of the events ----------> answered
 *          \                 \-- a try fails, three at most --/
 *           \-> a status of failure, with an error in its body -----------> answered
 *            \-> anything else -------------------------------------------> failed
 *
 * Notifications, and answers to the server, are done with any 2xx. */
#include "mcp/link/mcp_http.h"

enum {
    NOTICE_MS = 10 * 1000, /* nobody else watches over notifications */
    MAX_TRIES = 3,
};

/* ---- the request */

static void add_name(const struct mcp_link_message *m, struct mcp_fields *f)
{
    struct buf value = {.limit = 0};

    mcp_header_value(m->tool, &value);
    mcp_fields_add(f, STR("Mcp-Name"), buf_str(&value));
    f->text.failed = f->text.failed || buf_failed(&value);
    buf_fini(&value);
}

static void add_mirror(const struct mcp_mirror *mirror, str arguments, struct mcp_fields *f)
{
    struct buf value = {.limit = 0};

    if (mcp_mirror_value(mirror, arguments, &value))
        mcp_fields_add(f, mirror->header, buf_str(&value));
    f->text.failed = f->text.failed || buf_failed(&value);
    buf_fini(&value);
}

static void add_modern_fields(const struct mcp_link_message *m, struct mcp_fields *f)
{
    mcp_fields_add(f, STR("MCP-Protocol-Version"), mcp_version_name(m->version));
    if (m->method == MCP_METHOD_COUNT)
        return;
    mcp_fields_add(f, STR("Mcp-Method"), str_from_c(mcp_method_name(m->method)));
    if (m->method != MCP_CALL_TOOL)
        return;
    add_name(m, f);
    for (const struct mcp_mirror *mirror = m->mirrors; mirror != NULL; mirror = mirror->next)
        add_mirror(mirror, m->arguments, f);
}

static void add_fields(const struct mcp_http *h, const struct mcp_link_message *m,
                       struct mcp_fields *f)
{
    mcp_fields_add(f, STR("Content-Type"), STR("application/json"));
    mcp_fields_add(f, STR("Accept"), STR("application/json, text/event-stream"));
    mcp_fields_add_context(f, m);
    if (mcp_version_is_modern(m->version))
        add_modern_fields(m, f);
    else if (m->method != MCP_INITIALIZE)
        mcp_http_session_fields(h, f);
}

/* ---- going on with an answer that broke off */

static const struct mcp_link_failure broke_off = {
    .cause = MCP_FAILED_CLOSED,
    .was_sent = true,
    .message = STR_INIT("The MCP server ended the stream before its answer.")};

/* Only a legacy server keeps events for those who come back. */
static bool can_resume(const struct mcp_exchange *x)
{
    return !mcp_version_is_modern(x->version) && x->answer.has_id && x->n_tries < MAX_TRIES &&
           mcp_http_of(x->link)->state != MCP_HTTP_STOPPING;
}

static void resume_later(struct mcp_exchange *x)
{
    if (!can_resume(x)) {
        mcp_http_fail(x, &broke_off);
        return;
    }
    x->is_resuming = true;
    x->n_tries++;
    loop_timer_start(x->timer, x->answer.retry_ms);
}

static void on_timer(struct mcp_exchange *x)
{
    if (x->is_answered)
        mcp_http_drop(x);
    else if (mcp_http_get(x, NULL) == -1)
        mcp_http_fail(x, &broke_off);
}

static void resume_on_head(struct mcp_exchange *x, const struct mcp_fetch_head *head)
{
    if (mcp_status_is_good(x->status) && head->body == MCP_BODY_EVENTS) {
        mcp_answer_begin(&x->answer, MCP_BODY_EVENTS);
        return;
    }
    mcp_fetch_cancel(x->fetch);
    x->fetch = NULL;
    if (x->status >= 500)
        resume_later(x);
    else
        mcp_http_fail(x, &broke_off);
}

static void resume_on_end(struct mcp_exchange *x)
{
    if (x->answer.has_progress)
        x->n_tries = 0;
    resume_later(x);
}

/* ---- the answer */

static void fail_for_content(struct mcp_exchange *x, const char *message)
{
    const struct mcp_link_failure failure = {.cause = MCP_FAILED_UNREACHABLE,
                                             .http_status = x->status,
                                             .was_sent = true,
                                             .message = str_from_c(message)};

    mcp_http_fail(x, &failure);
}

/* Any body of a failure may turn out to be an error of JSON-RPC. */
static void on_bad_head(struct mcp_exchange *x, const struct mcp_fetch_head *head)
{
    struct mcp_link_failure failure = mcp_status_failure(x);

    if (x->status == 401 || x->status == 403)
        mcp_http_fail(x, &failure);
    else
        mcp_answer_begin(&x->answer,
                         head->body == MCP_BODY_EVENTS ? MCP_BODY_EVENTS : MCP_BODY_JSON);
}

static void on_head(struct mcp_exchange *x, const struct mcp_fetch_head *head)
{
    if (x->is_resuming) {
        resume_on_head(x, head);
    } else if (!mcp_status_is_good(x->status)) {
        on_bad_head(x, head);
    } else if (x->id == 0) {
        x->is_answered = true;
        if (head->body == MCP_BODY_EVENTS)
            mcp_http_drop(x);
    } else if (x->method == MCP_INITIALIZE &&
               !mcp_http_take_session(mcp_http_of(x->link), head->session_id)) {
        fail_for_content(x, "The MCP server sent a session id that is none.");
    } else if (head->body == MCP_BODY_OTHER) {
        fail_for_content(x, "The MCP server answered with neither JSON nor events.");
    } else {
        mcp_answer_begin(&x->answer, head->body);
    }
}

/* A request that opens a session, or needs none, cannot have lost one. */
static bool has_lost_session(const struct mcp_exchange *x, str message)
{
    return x->version != MCP_VERSION_NONE && !mcp_version_is_modern(x->version) &&
           mcp_is_lost_session(x->status, x->had_session, message);
}

static void on_message(struct mcp_exchange *x, const struct jsonrpc_message *m)
{
    if (mcp_status_is_good(x->status)) {
        mcp_http_deliver(x, m);
    } else if (m->kind == JSONRPC_ERROR) {
        x->is_lost = has_lost_session(x, m->message);
        if (!x->is_lost && x->id != 0)
            mcp_http_deliver(x, m);
    }
}

static void fail_for_status(struct mcp_exchange *x)
{
    struct mcp_link_failure failure;

    x->is_lost = x->is_lost || has_lost_session(x, STR_NONE);
    failure = mcp_status_failure(x);
    mcp_http_fail(x, &failure);
}

/* Ends an answer that came whole without the reply, which another stream may bring (MCP 5.5). */
static void end_empty(struct mcp_exchange *x)
{
    const struct mcp_exchange *stream = mcp_http_of(x->link)->stream;

    if (x->answer.body == MCP_BODY_JSON)
        fail_for_content(x, "The MCP server answered with what is no answer.");
    else if (stream == NULL || stream->answer.body != MCP_BODY_EVENTS)
        fail_for_content(x, "The MCP server took the message and answered nothing.");
}

static void on_end(struct mcp_exchange *x, const struct mcp_link_failure *failure)
{
    if (x->is_answered)
        mcp_http_drop(x);
    else if (x->status != 0 && !mcp_status_is_good(x->status) && !x->is_resuming)
        fail_for_status(x);
    else if (failure != NULL && failure->cause == MCP_FAILED_LIMIT)
        mcp_http_fail(x, failure);
    else if (x->is_resuming)
        resume_on_end(x);
    else if (x->answer.body == MCP_BODY_EVENTS && can_resume(x))
        resume_later(x);
    else if (failure != NULL)
        mcp_http_fail(x, failure);
    else if (x->answer.body == MCP_BODY_EVENTS)
        mcp_http_fail(x, &broke_off);
    else
        end_empty(x);
}

static const struct mcp_exchange_kind post = {
    .on_head = on_head, .on_message = on_message, .on_end = on_end, .on_timer = on_timer};

bool mcp_http_post(struct mcp_http *h, const struct mcp_link_message *m, struct err *reterr)
{
    struct mcp_exchange *x = mcp_exchange_new(&h->exchanges, &h->link, &h->site, &post);
    struct mcp_fields fields = {.n = 0};
    const struct mcp_fetch_conf conf = {.method = "POST",
                                        .url = h->site.conf.server->url.hidden,
                                        .fields = &fields,
                                        .body = m->json,
                                        .total_timeout_ms = m->id == 0 ? NOTICE_MS : 0,
                                        .is_unique = m->method == MCP_CALL_TOOL};

    if (x == NULL) {
        err_set_no_memory(reterr);
        return false;
    }
    x->id = m->id;
    x->method = m->method;
    x->version = m->version;
    x->had_session = h->session.len > 0 && m->method != MCP_INITIALIZE;
    add_fields(h, m, &fields);
    if (mcp_exchange_fetch(x, &conf, reterr) == 0)
        return true;
    mcp_exchange_drop(x);
    return false;
}
