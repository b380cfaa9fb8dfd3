/* mcp_session.c -- states and the life of the link.
 *
 *     start -> open the link -> agree (mcp_handshake.c) -> list (mcp_session_list.c)
 *       ^           |               |                        |
 *       |  backoff  v               v                        v
 *       \----------- leave: calls fail, the link is stopped, closed
 *
 * There is one link at a time: the next one is opened when the last has reported its end. */
#include "mcp/session/mcp_session.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "mcp/session/mcp_session_internal.h"

static const char *const state_names[] = {
    [MCP_STOPPED] = "stopped",   [MCP_STARTING] = "starting", [MCP_READY] = "ready",
    [MCP_DEGRADED] = "degraded", [MCP_BACKOFF] = "backoff",   [MCP_FAILED] = "failed",
};

const char *mcp_state_name(enum mcp_state state)
{
    return state_names[state];
}

void mcp_session_move(struct mcp_session *s, enum mcp_state to, str error)
{
    struct buf text = {.limit = 0};
    bool is_new;

    if (s->is_stopping)
        return;
    mcp_report_text(s, error, &text);
    text.len = utf8_cut(buf_str(&text), MCP_FAILURE_MAX_CHARS); /* as long as that of a call */
    is_new = to != s->state || !str_eq(buf_str(&text), buf_str(&s->error));
    buf_fini(&s->error);
    s->error = text;
    s->state = to;
    if (is_new)
        s->handler->on_state(s->arg);
}

/* ---- leaving */

/* Stops the link: nothing more is sent, and what arrives is not looked at. */
static void disconnect(struct mcp_session *s)
{
    if (s->link != NULL && !s->is_leaving)
        mcp_link_stop(s->link);
    s->is_leaving = true;
    s->is_connected = s->is_available = s->opens_when_closed = false;
    s->version = MCP_VERSION_NONE;
    loop_timer_stop(s->timer);
    mcp_count_request(s, &s->handshake.pending, mcp_failure_word(MCP_FAILED_CLOSED));
    mcp_pending_remove(&s->pending, &s->handshake.pending);
    mcp_list_abandon(s);
    mcp_subscription_end(s);
    mcp_watch_reset(s);
}

uint32_t mcp_session_chance(void)
{
    uint32_t n;

    random_fill(NULL, &n, sizeof(n));
    return n;
}

void mcp_end_words(const struct mcp_session *s, const struct mcp_end *why, struct buf *out)
{
    struct mcp_failure f = {
        .cause = why->cause, .code = why->http_status, .label = s->conf.server->label};

    if (why->text.len > 0)
        buf_append(out, why->text);
    else
        mcp_failure_text(&f, out);
}

void mcp_session_leave(struct mcp_session *s, const struct mcp_end *why)
{
    uint64_t wait_ms = mcp_backoff_next_ms(&s->backoff, loop_now_ms(s->loop), mcp_session_chance());
    bool is_failed = why->is_hopeless || s->conf.starts_once;
    struct buf text = {.limit = 0};

    if (why->is_hopeless)
        wait_ms = MCP_BACKOFF_HOPELESS_MS;
    if (!s->is_connected && s->transport == MCP_TRANSPORT_STDIO)
        s->era = MCP_ERA_UNKNOWN; /* it may have died of the wrong question */
    disconnect(s);
    s->transport = s->home; /* what was tried last proved nothing */
    if (!s->conf.starts_once)
        loop_timer_start(s->timer, wait_ms);
    mcp_end_words(s, why, &text);
    mcp_session_move(s, is_failed ? MCP_FAILED : MCP_BACKOFF, buf_str(&text));
    mcp_report_lost(s, wait_ms);
    mcp_calls_fail(s, why);
    buf_fini(&text);
}

/* ---- the link's reports */

static void on_up(void *arg)
{
    struct mcp_session *s = arg;

    if (s->is_leaving)
        return;
    s->is_link_up = true;
    mcp_handshake_begin(s);
}

static void on_down(void *arg, const struct mcp_link_failure *why)
{
    struct mcp_session *s = arg;
    struct mcp_end end = {.cause = why->cause,
                          .http_status = why->http_status,
                          .is_hopeless = why->is_hopeless,
                          .text = s->conf.is_remote ? STR("") : why->message};

    if (s->is_leaving)
        return;
    if (!s->is_link_up && why->http_status >= 400 && why->http_status < 500)
        end.is_hopeless = true; /* the only thing it was asked is refused */
    mcp_report_failure(s, MCP_METHOD_COUNT, why);
    if (s->is_link_up || !mcp_handshake_link_down(s, why))
        mcp_session_leave(s, &end);
}

static void open_link(struct mcp_session *s);

static void on_closed(void *arg)
{
    struct mcp_session *s = arg;

    s->link = NULL;
    if (s->is_stopping)
        mcp_session_wake(s);
    else if (s->opens_when_closed)
        open_link(s);
}

/* ---- starting */

static mcp_link_opener *const real_links[] = {
    [MCP_TRANSPORT_STDIO] = mcp_link_stdio_new,
    [MCP_TRANSPORT_HTTP] = mcp_link_http_new,
    [MCP_TRANSPORT_SSE] = mcp_link_sse_new,
};

static void open_link(struct mcp_session *s)
{
    static const struct mcp_link_handler handler = {on_up, mcp_session_on_message,
                                                    mcp_session_on_failed, on_down, on_closed};
    struct mcp_link_conf conf = {.server = s->conf.server,
                                 .client = s->conf.client,
                                 .env = s->conf.env,
                                 .is_remote = s->conf.is_remote,
                                 .secrets = &s->secrets};
    uint64_t now_ms = loop_now_ms(s->loop);
    struct err e;

    s->opens_when_closed = s->is_link_up = s->is_leaving = false;
    s->has_tried[s->transport] = true;
    loop_timer_start(s->timer, s->start_until_ms > now_ms ? s->start_until_ms - now_ms : 0);
    s->link = s->openers[s->transport](s->loop, &conf, &handler, s, &e);
    if (s->link == NULL)
        mcp_session_leave(
            s, &(struct mcp_end){.cause = MCP_FAILED_UNREACHABLE, .text = str_from_c(e.msg)});
}

/* Opens a link as soon as the last one is closed, which it may be already. */
static void open_soon(struct mcp_session *s)
{
    if (s->link == NULL)
        open_link(s);
    else
        s->opens_when_closed = true;
}

void mcp_session_change_transport(struct mcp_session *s, enum mcp_transport to)
{
    disconnect(s);
    s->transport = to;
    open_soon(s);
}

void mcp_session_start_clock(struct mcp_session *s)
{
    uint64_t timeout_ms = s->conf.server->startup_timeout_ms;

    s->start_until_ms = loop_now_ms(s->loop) + timeout_ms;
    loop_timer_start(s->timer, timeout_ms);
}

static void start_connection(struct mcp_session *s)
{
    memset(s->has_tried, 0, sizeof(s->has_tried));
    s->transport = s->home;
    s->is_hurried = false;
    mcp_session_start_clock(s);
    if (s->state != MCP_STARTING)
        mcp_session_move(s, MCP_STARTING, buf_str(&s->error));
    if (!s->is_stopping)
        open_soon(s);
}

static void leave_for_silence(struct mcp_session *s)
{
    char text[96];

    (void)snprintf(text, sizeof(text), "The server did not answer within %llu s.",
                   (unsigned long long)(s->conf.server->startup_timeout_ms / 1000));
    mcp_session_leave(s,
                      &(struct mcp_end){.cause = MCP_FAILED_UNREACHABLE, .text = str_from_c(text)});
}

static void on_timer(void *arg)
{
    struct mcp_session *s = arg;

    if (s->link != NULL && !s->is_leaving)
        leave_for_silence(s);
    else
        start_connection(s);
}

void mcp_session_agreed(struct mcp_session *s)
{
    s->is_connected = true;
    s->home = s->transport;
    s->epoch++;
    loop_timer_stop(s->timer);
    mcp_watch_reset(s);
    if (mcp_session_is_modern(s)) {
        s->era = MCP_ERA_MODERN;
        if (s->has_tools_changed)
            mcp_subscription_open(s);
    } else {
        s->era = MCP_ERA_LEGACY;
        mcp_session_notify(s, &(struct mcp_request){.method = MCP_INITIALIZED});
        if (s->has_tools_changed)
            mcp_link_listen(s->link, s->version);
    }
    mcp_session_wake(s);
    mcp_list_begin(s);
}

/* ---- life */

void mcp_session_wake(struct mcp_session *s)
{
    loop_timer_start(s->soon, 0);
}

static void on_soon(void *arg)
{
    struct mcp_session *s = arg;

    if (!s->is_stopping) {
        mcp_calls_pump(s);
        return;
    }
    mcp_calls_fail(s, &(struct mcp_end){.cause = MCP_FAILED_CLOSED});
    if (s->link == NULL && !s->is_stopped) {
        s->is_stopped = true;
        s->handler->on_stopped(s->arg); /* last: it may free us */
    }
}

void mcp_session_set_openers(struct mcp_session *s, mcp_link_opener *const *openers)
{
    s->openers = openers;
}

struct mcp_session *mcp_session_new(struct loop *loop, const struct mcp_session_conf *conf,
                                    const struct mcp_session_handler *handler, void *arg,
                                    struct err *reterr)
{
    struct mcp_session *s = calloc(1, sizeof(*s));

    if (s == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    s->loop = loop;
    s->conf = *conf;
    s->handler = handler;
    s->arg = arg;
    s->openers = real_links;
    s->transport = s->home = mcp_handshake_first_transport(conf->server);
    s->last = &s->first;
    s->timer = loop_timer_new(loop, on_timer, s);
    s->soon = loop_timer_new(loop, on_soon, s);
    s->watch = loop_timer_new(loop, mcp_watch_fired, s);
    s->subscription.timer = loop_timer_new(loop, mcp_subscription_open, s);
    if (!mcp_list_init(s) || s->timer == NULL || s->soon == NULL || s->watch == NULL ||
        s->subscription.timer == NULL) {
        err_set_no_memory(reterr);
        mcp_session_free(s);
        return NULL;
    }
    mcp_link_secrets(conf->server, &s->secrets);
    return s;
}

void mcp_session_start(struct mcp_session *s)
{
    s->state = MCP_STARTING;
    loop_timer_start(s->timer, 0);
}

uint64_t mcp_session_hurry_ms(const struct mcp_session *s)
{
    if (s->state != MCP_BACKOFF || s->conf.starts_once || s->is_hurried)
        return UINT64_MAX;
    return mcp_backoff_hurry_ms(&s->backoff);
}

/* The timer starts the connection, since starting reports. */
bool mcp_session_hurry(struct mcp_session *s)
{
    const uint64_t now_ms = loop_now_ms(s->loop);

    if (now_ms < mcp_session_hurry_ms(s))
        return false;
    mcp_backoff_hurry(&s->backoff, now_ms);
    s->is_hurried = true;
    loop_timer_start(s->timer, 0);
    return true;
}

void mcp_session_stop(struct mcp_session *s)
{
    s->is_stopping = true;
    s->state = MCP_STOPPED;
    disconnect(s);
    mcp_session_wake(s);
}

void mcp_session_free(struct mcp_session *s)
{
    if (s == NULL)
        return;
    mcp_calls_drop(s);
    mcp_list_fini(s);
    loop_timer_free(s->timer);
    loop_timer_free(s->soon);
    loop_timer_free(s->watch);
    loop_timer_free(s->subscription.timer);
    secrets_fini(&s->secrets);
    buf_fini(&s->error);
    free(s);
}

enum mcp_state mcp_session_state(const struct mcp_session *s)
{
    return s->state;
}

bool mcp_session_is_available(const struct mcp_session *s)
{
    return s->is_available;
}

str mcp_session_error(const struct mcp_session *s)
{
    return buf_str(&s->error);
}

enum mcp_transport mcp_session_transport(const struct mcp_session *s)
{
    return s->transport;
}

enum mcp_version mcp_session_version(const struct mcp_session *s)
{
    return s->version;
}
