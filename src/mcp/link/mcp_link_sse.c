/* mcp_link_sse.c -- a server that is spoken to over HTTP+SSE of 2024-11-05 (MCP 7).
 *
 *     GET the URL -> event "endpoint" -> up -> POST there ... answers on the stream
 *        \              \                        \-> the stream ends -> down
 *         \-> anything else, or nothing in time -----------------------> down
 *
 * The stream is the session: nothing is opened again here. */
#include <stdlib.h>

#include "mcp/link/mcp_exchange.h"
#include "mcp/proto/mcp_reference.h"

enum { POST_MS = 10 * 1000 };

enum state { STARTING, UP, DOWN, STOPPING };

struct mcp_sse {
    struct mcp_link link; /* first */
    struct mcp_site site;
    struct loop_timer *timer; /* for the endpoint, and for the end */
    enum state state;
    bool is_down_told;
    struct mcp_exchange *exchanges; /* the stream and all POSTs */
    struct buf endpoint;            /* a secret: it names the session */
};

static struct mcp_sse *sse_of(struct mcp_link *link)
{
    return (struct mcp_sse *)link;
}

static void drop_exchanges(struct mcp_sse *s)
{
    while (s->exchanges != NULL)
        mcp_exchange_drop(s->exchanges);
}

static void tell_down(struct mcp_sse *s, const struct mcp_link_failure *why)
{
    if (s->is_down_told)
        return;
    s->is_down_told = true;
    s->link.handler->on_down(s->link.arg, why);
}

/* Takes the link down. What why points into may be dropped here, so the challenge is copied. */
static void sse_down(struct mcp_sse *s, const struct mcp_link_failure *why)
{
    struct buf challenge = {.limit = 0};
    struct mcp_link_failure failure = *why;

    buf_append(&challenge, why->challenge);
    if (!str_is_none(why->challenge))
        failure.challenge = buf_str(&challenge);
    s->state = DOWN;
    loop_timer_stop(s->timer);
    drop_exchanges(s);
    tell_down(s, &failure);
    buf_fini(&challenge);
}

static void sse_down_because(struct mcp_exchange *x, enum mcp_cause cause, bool is_hopeless,
                             const char *message)
{
    const struct mcp_link_failure failure = {.cause = cause,
                                             .http_status = x->status,
                                             .was_sent = true,
                                             .is_hopeless = is_hopeless,
                                             .message = str_from_c(message)};

    sse_down(sse_of(x->link), &failure);
}

/* ---- the stream */

static void stream_on_head(struct mcp_exchange *x, const struct mcp_fetch_head *head)
{
    struct mcp_link_failure failure = mcp_status_failure(x);

    if (!mcp_status_is_good(x->status))
        sse_down(sse_of(x->link), &failure);
    else if (head->body != MCP_BODY_EVENTS)
        sse_down_because(x, MCP_FAILED_UNREACHABLE, false,
                         "The MCP server answered with no events.");
    else
        mcp_answer_begin(&x->answer, MCP_BODY_EVENTS);
}

/* Servers repeat the ids that they put into the query. */
static void hide_endpoint(struct mcp_sse *s)
{
    str url = buf_str(&s->endpoint);
    str query = str_skip(url, str_find_char(url, '?') + 1);

    mcp_site_set_session(&s->site, query);
    while (query.len > 0) {
        str pair = str_from(query.p, str_find_char(query, '&'));

        secrets_add(s->site.conf.secrets, str_skip(pair, str_find_char(pair, '=') + 1));
        query = str_skip(query, pair.len + 1);
    }
}

static void stream_on_event(struct mcp_exchange *x, str name, str data)
{
    struct mcp_sse *s = sse_of(x->link);
    enum mcp_reference to;

    if (s->state != STARTING || !str_eq(name, STR("endpoint")))
        return;
    to = mcp_reference_resolve(mcp_fetch_url(x->fetch), data, &s->endpoint);
    if (to == MCP_REFERENCE_FOREIGN) {
        sse_down_because(x, MCP_FAILED_UNREACHABLE, true,
                         "The MCP server wants messages sent to another origin.");
    } else if (to == MCP_REFERENCE_BAD || buf_failed(&s->endpoint)) {
        sse_down_because(x, MCP_FAILED_UNREACHABLE, false,
                         "The MCP server sent an endpoint that is no URL.");
    } else {
        hide_endpoint(s);
        s->state = UP;
        loop_timer_stop(s->timer);
        s->link.handler->on_up(s->link.arg);
    }
}

/* An answer may come before the server has answered the POST. */
static void stream_on_message(struct mcp_exchange *x, const struct jsonrpc_message *m)
{
    struct mcp_sse *s = sse_of(x->link);
    struct mcp_exchange *asker = NULL;

    if (mcp_is_answer(m) && m->id.kind == JSONRPC_ID_INT)
        asker = mcp_exchange_find(s->exchanges, m->id.number);
    if (asker != NULL)
        asker->is_answered = true;
    s->link.handler->on_message(s->link.arg, m, 0, x->status);
}

static void stream_on_end(struct mcp_exchange *x, const struct mcp_link_failure *failure)
{
    if (failure != NULL)
        sse_down(sse_of(x->link), failure);
    else
        sse_down_because(x, MCP_FAILED_CLOSED, false, "The MCP server closed the stream.");
}

static const struct mcp_exchange_kind stream = {.on_head = stream_on_head,
                                                .on_message = stream_on_message,
                                                .on_event = stream_on_event,
                                                .on_end = stream_on_end};

static int open_stream(struct mcp_sse *s, struct err *reterr)
{
    struct mcp_exchange *x = mcp_exchange_new(&s->exchanges, &s->link, &s->site, &stream);
    struct mcp_fields fields = {.n = 0};
    const struct mcp_fetch_conf conf = {
        .method = "GET", .url = s->site.conf.server->url.hidden, .fields = &fields};

    if (x == NULL)
        return err_set_no_memory(reterr);
    mcp_fields_add(&fields, STR("Accept"), STR("text/event-stream"));
    return mcp_exchange_fetch(x, &conf, reterr);
}

/* ---- messages to the server */

static void post_on_head(struct mcp_exchange *x, const struct mcp_fetch_head *head)
{
    struct mcp_link_failure failure = mcp_status_failure(x);

    (void)head;
    if (mcp_status_is_good(x->status))
        x->is_answered = true; /* what was asked comes on the stream */
    else if (x->status == 401 || x->status == 403)
        mcp_exchange_fail(x, &failure);
    else
        mcp_answer_begin(&x->answer, MCP_BODY_JSON);
}

/* An error in the body of a POST that has failed answers the request. */
static void post_on_message(struct mcp_exchange *x, const struct jsonrpc_message *m)
{
    struct jsonrpc_message message = *m;

    if (m->kind != JSONRPC_ERROR || x->id == 0 || x->is_answered)
        return;
    x->is_answered = true;
    message.id = (struct jsonrpc_id){.kind = JSONRPC_ID_INT, .number = x->id};
    x->link->handler->on_message(x->link->arg, &message, x->id, x->status);
}

static void post_on_end(struct mcp_exchange *x, const struct mcp_link_failure *failure)
{
    struct mcp_link_failure status = mcp_status_failure(x);

    if (x->is_answered)
        mcp_exchange_drop(x);
    else
        mcp_exchange_fail(x, failure != NULL && x->status == 0 ? failure : &status);
}

static const struct mcp_exchange_kind post = {
    .on_head = post_on_head, .on_message = post_on_message, .on_end = post_on_end};

static bool sse_send(struct mcp_link *link, const struct mcp_link_message *m, struct err *reterr)
{
    struct mcp_sse *s = sse_of(link);
    struct mcp_exchange *x = NULL;
    struct mcp_fields fields = {.n = 0};
    const struct mcp_fetch_conf conf = {.method = "POST",
                                        .url = buf_str(&s->endpoint),
                                        .fields = &fields,
                                        .body = m->json,
                                        .total_timeout_ms = POST_MS,
                                        .is_unique = m->method == MCP_CALL_TOOL};

    if (s->state != UP) {
        err_set(reterr, ERR_UPSTREAM_UNAVAILABLE, "The MCP server is not connected.");
        return false;
    }
    if (m->id == 0 && !mcp_exchange_may_notify(s->exchanges, &s->site, m->method)) {
        err_set(reterr, ERR_UPSTREAM_UNAVAILABLE, "The MCP server does not take what it is sent.");
        return false;
    }
    x = mcp_exchange_new(&s->exchanges, &s->link, &s->site, &post);
    if (x == NULL) {
        err_set_no_memory(reterr);
        return false;
    }
    x->id = m->id;
    mcp_fields_add(&fields, STR("Content-Type"), STR("application/json"));
    mcp_fields_add(&fields, STR("Accept"), STR("application/json, text/event-stream"));
    mcp_fields_add_context(&fields, m);
    if (mcp_exchange_fetch(x, &conf, reterr) == 0)
        return true;
    mcp_exchange_drop(x);
    return false;
}

/* ---- the link */

static void sse_free(struct mcp_sse *s)
{
    drop_exchanges(s);
    secret_buf_fini(&s->endpoint);
    mcp_site_fini(&s->site);
    loop_timer_free(s->timer);
    free(s);
}

static void on_timer(void *arg)
{
    static const struct mcp_link_failure stopped = {.cause = MCP_FAILED_CLOSED};
    static const struct mcp_link_failure no_endpoint = {
        .cause = MCP_FAILED_UNREACHABLE,
        .was_sent = true,
        .message = STR_INIT("The MCP server did not say in time where to send messages.")};
    struct mcp_sse *s = arg;
    const struct mcp_link_handler *handler = s->link.handler;
    void *handler_arg = s->link.arg;

    if (s->state == STARTING) {
        sse_down(s, &no_endpoint);
        return;
    }
    tell_down(s, &stopped);
    sse_free(s);
    handler->on_closed(handler_arg);
}

static void sse_forget(struct mcp_link *link, int64_t id)
{
    struct mcp_exchange *x = mcp_exchange_find(sse_of(link)->exchanges, id);

    if (x != NULL)
        mcp_exchange_drop(x);
}

static void sse_listen(struct mcp_link *link, enum mcp_version version)
{
    (void)link; /* its stream is always there */
    (void)version;
}

static void sse_reset_session(struct mcp_link *link)
{
    (void)link; /* the session is the stream */
}

static void sse_stop(struct mcp_link *link)
{
    struct mcp_sse *s = sse_of(link);

    s->state = STOPPING;
    drop_exchanges(s);
    loop_timer_start(s->timer, 0);
}

struct mcp_link *mcp_link_sse_new(struct loop *loop, const struct mcp_link_conf *conf,
                                  const struct mcp_link_handler *handler, void *arg,
                                  struct err *reterr)
{
    static const struct mcp_link_ops ops = {sse_send, sse_forget, sse_listen, sse_reset_session,
                                            sse_stop};
    struct mcp_sse *s = calloc(1, sizeof(*s));

    if (s != NULL)
        s->timer = loop_timer_new(loop, on_timer, s);
    if (s == NULL || s->timer == NULL) {
        free(s);
        err_set_no_memory(reterr);
        return NULL;
    }
    s->link = (struct mcp_link){&ops, handler, arg};
    mcp_site_init(&s->site, loop, conf);
    if (open_stream(s, reterr) == -1) {
        sse_free(s);
        return NULL;
    }
    loop_timer_start(s->timer, conf->server->startup_timeout_ms);
    return &s->link;
}
