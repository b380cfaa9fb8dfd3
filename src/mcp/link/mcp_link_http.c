/* mcp_link_http.c -- a server that is spoken to over Streamable HTTP (MCP 5, 6).
 *
 * The link itself is no more than a list of exchanges and the id of a session; it is
 * up as soon as it is made, and down only when it is stopped. Stopping drops all that
 * somebody waits for, says good-bye to the session, and gives that and notifications
 * on their way a second. */
#include <stdlib.h>

#include "mcp/link/mcp_http.h"

enum {
    GOODBYE_MS = 1000, /* MCP 2.9 */
    LINGER_MS = 1000,  /* a stream whose answer has come; then its connection can be kept */
    SESSION_MAX_BYTES = 4096,
};

/* ---- the session */

static void forget_session(struct mcp_http *h)
{
    secret_wipe(buf_str(&h->session));
    buf_reset(&h->session);
    h->version = MCP_VERSION_NONE;
    h->has_no_stream = false;
    if (h->stream != NULL)
        mcp_exchange_drop(h->stream);
    h->stream = NULL;
}

bool mcp_http_take_session(struct mcp_http *h, str id)
{
    forget_session(h);
    if (str_is_none(id))
        return true;
    if (id.len == 0 || id.len > SESSION_MAX_BYTES || !str_is_visible(id))
        return false;
    buf_append(&h->session, id);
    mcp_site_set_session(&h->site, id);
    return !buf_failed(&h->session);
}

void mcp_http_session_fields(const struct mcp_http *h, struct mcp_fields *f)
{
    if (h->session.len > 0)
        mcp_fields_add(f, STR("Mcp-Session-Id"), buf_str(&h->session));
    if (h->version != MCP_VERSION_NONE)
        mcp_fields_add(f, STR("MCP-Protocol-Version"), mcp_version_name(h->version));
}

/* ---- what exchanges do to the link */

int mcp_http_get(struct mcp_exchange *x, struct err *reterr)
{
    struct mcp_http *h = mcp_http_of(x->link);
    struct mcp_fields fields = {.n = 0};
    const struct mcp_fetch_conf conf = {
        .method = "GET", .url = h->site.conf.server->url.hidden, .fields = &fields};

    mcp_fields_add(&fields, STR("Accept"), STR("text/event-stream"));
    mcp_http_session_fields(h, &fields);
    if (x->answer.has_id)
        mcp_fields_add(&fields, STR("Last-Event-ID"), buf_str(&x->answer.last_id));
    return mcp_exchange_fetch(x, &conf, reterr);
}

/* The exchange whose request the message answers, or NULL. An error that came with a status of
 * failure is about what was posted, whatever its id (MCP 5.9); else an id that is ours decides. */
static struct mcp_exchange *find_asker(struct mcp_exchange *x, const struct jsonrpc_message *m)
{
    struct mcp_exchange *asker = NULL;
    bool is_ours = m->id.kind == JSONRPC_ID_INT;

    if (is_ours && mcp_status_is_good(x->status))
        asker = mcp_exchange_find(mcp_http_of(x->link)->exchanges, m->id.number);
    if (asker != NULL || x->id == 0 || x->is_answered)
        return asker;
    if (m->kind == JSONRPC_ERROR || m->id.kind == JSONRPC_ID_ABSENT ||
        m->id.kind == JSONRPC_ID_NULL)
        return x;
    return NULL;
}

void mcp_http_deliver(struct mcp_exchange *x, const struct jsonrpc_message *m)
{
    struct mcp_link *link = x->link;
    struct jsonrpc_message message = *m;
    struct mcp_exchange *asker = mcp_is_answer(m) ? find_asker(x, m) : NULL;

    if (asker != NULL) {
        message.id = (struct jsonrpc_id){.kind = JSONRPC_ID_INT, .number = asker->id};
        asker->is_answered = true;
        loop_timer_start(asker->timer, LINGER_MS); /* its stream may answer others (MCP 5.5) */
    }
    link->handler->on_message(link->arg, &message, x->id, x->status);
}

static void end_stop_if_idle(struct mcp_http *h)
{
    if (h->state == MCP_HTTP_STOPPING && h->exchanges == NULL)
        loop_timer_start(h->timer, 0);
}

void mcp_http_drop(struct mcp_exchange *x)
{
    struct mcp_http *h = mcp_http_of(x->link);

    mcp_exchange_drop(x);
    end_stop_if_idle(h);
}

void mcp_http_fail(struct mcp_exchange *x, const struct mcp_link_failure *why)
{
    struct mcp_http *h = mcp_http_of(x->link);

    if (h->state == MCP_HTTP_STOPPING)
        mcp_exchange_drop(x);
    else
        mcp_exchange_fail(x, why);
    end_stop_if_idle(h);
}

/* ---- good-bye */

static void goodbye_on_head(struct mcp_exchange *x, const struct mcp_fetch_head *head)
{
    (void)head; /* 404 and 405 are as good */
    mcp_http_drop(x);
}

static void goodbye_on_message(struct mcp_exchange *x, const struct jsonrpc_message *m)
{
    (void)x;
    (void)m;
}

static void goodbye_on_end(struct mcp_exchange *x, const struct mcp_link_failure *failure)
{
    (void)failure;
    mcp_http_drop(x);
}

static const struct mcp_exchange_kind goodbye = {
    .on_head = goodbye_on_head, .on_message = goodbye_on_message, .on_end = goodbye_on_end};

static void say_goodbye(struct mcp_http *h)
{
    struct mcp_exchange *x = mcp_exchange_new(&h->exchanges, &h->link, &h->site, &goodbye);
    struct mcp_fields fields = {.n = 0};
    const struct mcp_fetch_conf conf = {.method = "DELETE",
                                        .url = h->site.conf.server->url.hidden,
                                        .fields = &fields,
                                        .total_timeout_ms = GOODBYE_MS};

    if (x == NULL)
        return;
    mcp_http_session_fields(h, &fields);
    if (mcp_exchange_fetch(x, &conf, NULL) == -1)
        mcp_exchange_drop(x);
}

/* ---- the link */

static void http_free(struct mcp_http *h)
{
    forget_session(h);
    while (h->exchanges != NULL)
        mcp_exchange_drop(h->exchanges);
    buf_fini(&h->session);
    mcp_site_fini(&h->site);
    loop_timer_free(h->timer);
    free(h);
}

static void close_http_link(struct mcp_http *h)
{
    const struct mcp_link_failure stopped = {.cause = MCP_FAILED_CLOSED};
    const struct mcp_link_handler *handler = h->link.handler;
    void *handler_arg = h->link.arg;

    while (h->exchanges != NULL)
        mcp_exchange_drop(h->exchanges);
    handler->on_down(handler_arg, &stopped);
    http_free(h);
    handler->on_closed(handler_arg);
}

static void on_timer(void *arg)
{
    struct mcp_http *h = arg;

    if (h->state == MCP_HTTP_STOPPING) {
        close_http_link(h);
        return;
    }
    h->state = MCP_HTTP_UP;
    h->link.handler->on_up(h->link.arg);
}

static bool http_send(struct mcp_link *link, const struct mcp_link_message *m, struct err *reterr)
{
    struct mcp_http *h = mcp_http_of(link);

    if (h->state == MCP_HTTP_STOPPING) {
        err_set(reterr, ERR_UPSTREAM_UNAVAILABLE, "The connection is being closed.");
        return false;
    }
    if (m->id == 0 && !mcp_exchange_may_notify(h->exchanges, &h->site, m->method)) {
        err_set(reterr, ERR_UPSTREAM_UNAVAILABLE, "The MCP server does not take what it is sent.");
        return false;
    }
    if (m->version != MCP_VERSION_NONE && !mcp_version_is_modern(m->version))
        h->version = m->version;
    return mcp_http_post(h, m, reterr);
}

static void http_forget(struct mcp_link *link, int64_t id)
{
    struct mcp_exchange *x = mcp_exchange_find(mcp_http_of(link)->exchanges, id);

    if (x != NULL)
        mcp_exchange_drop(x);
}

static void http_listen(struct mcp_link *link, enum mcp_version version)
{
    struct mcp_http *h = mcp_http_of(link);

    if (h->state == MCP_HTTP_STOPPING || mcp_version_is_modern(version))
        return;
    h->version = version;
    mcp_http_listen(h);
}

static void http_reset_session(struct mcp_link *link)
{
    forget_session(mcp_http_of(link));
}

static void http_stop(struct mcp_link *link)
{
    struct mcp_http *h = mcp_http_of(link);
    struct mcp_exchange *x = h->exchanges, *next;

    h->state = MCP_HTTP_STOPPING;
    for (; x != NULL; x = next) {
        next = x->next;
        if (x->id != 0 || x == h->stream)
            mcp_exchange_drop(x);
    }
    h->stream = NULL;
    if (h->session.len > 0)
        say_goodbye(h);
    loop_timer_start(h->timer, h->exchanges == NULL ? 0 : GOODBYE_MS);
}

struct mcp_link *mcp_link_http_new(struct loop *loop, const struct mcp_link_conf *conf,
                                   const struct mcp_link_handler *handler, void *arg,
                                   struct err *reterr)
{
    static const struct mcp_link_ops ops = {http_send, http_forget, http_listen, http_reset_session,
                                            http_stop};
    struct mcp_http *h = calloc(1, sizeof(*h));

    if (h != NULL)
        h->timer = loop_timer_new(loop, on_timer, h);
    if (h == NULL || h->timer == NULL) {
        free(h);
        err_set_no_memory(reterr);
        return NULL;
    }
    h->link = (struct mcp_link){&ops, handler, arg};
    mcp_site_init(&h->site, loop, conf);
    loop_timer_start(h->timer, 0);
    return &h->link;
}
