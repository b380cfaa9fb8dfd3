/* mcp_session_notice.c -- what a server says without being asked (MCP 3.2, 3.3, 6.6). */
#include "mcp/session/mcp_session_internal.h"

/* A server's ids may be equal to ours, so they are only sent back (MCP 3.2). */
void mcp_notice_request(struct mcp_session *s, const struct jsonrpc_message *m)
{
    struct buf json = {.limit = 0};
    struct mcp_link_message lm = {.method = MCP_METHOD_COUNT, .version = s->version};

    mcp_request_answer(m, &json);
    lm.json = buf_str(&json);
    if (!buf_failed(&json))
        (void)mcp_link_send(s->link, &lm, NULL); /* a server that does not read gets none */
    buf_fini(&json);
}

/* ---- subscriptions/listen */

static void open_subscription_later(struct mcp_session *s)
{
    struct mcp_subscription *sub = &s->subscription;

    sub->has_ended_before = true;
    loop_timer_start(
        sub->timer, mcp_backoff_next_ms(&sub->backoff, loop_now_ms(s->loop), mcp_session_chance()));
}

/* A refusal is meant for good: the timer finds changes as well. */
static bool is_subscription_refused(const struct mcp_reply *reply)
{
    if (reply->m != NULL)
        return reply->m->kind == JSONRPC_ERROR;
    return reply->http_status >= 400 && reply->http_status < 500;
}

static void on_ended(void *arg, const struct mcp_reply *reply)
{
    struct mcp_session *s = arg;

    if (!is_subscription_refused(reply))
        open_subscription_later(s);
}

void mcp_subscription_open(void *arg)
{
    struct mcp_session *s = arg;
    struct mcp_request r = {.method = MCP_LISTEN, .version = s->version};

    s->subscription.pending.on_answer = on_ended;
    s->subscription.pending.arg = s;
    if (!mcp_session_ask(s, &s->subscription.pending, &r, NULL, NULL))
        open_subscription_later(s);
}

void mcp_subscription_end(struct mcp_session *s)
{
    loop_timer_stop(s->subscription.timer);
    mcp_session_give_up(s, &s->subscription.pending, NULL);
    s->subscription.has_ended_before = false;
    s->subscription.backoff = (struct mcp_backoff){.failures = 0};
}

static void on_acknowledged(struct mcp_session *s)
{
    mcp_backoff_ready(&s->subscription.backoff, loop_now_ms(s->loop));
    if (s->subscription.has_ended_before)
        mcp_list_changed(s); /* perhaps, while nobody listened */
}

/* The server may give up one request of ours, the subscription, since only that lasts for its sake.
 */
static void on_cancelled(struct mcp_session *s, const struct jsonrpc_id *id)
{
    struct mcp_pending *p = &s->subscription.pending;

    if (p->id == 0 || !jsonrpc_id_is(id, p->id))
        return;
    mcp_count_request(s, p, "cancelled");
    mcp_pending_remove(&s->pending, p);
    open_subscription_later(s);
}

/* ---- notifications */

void mcp_notice_take(struct mcp_session *s, const struct jsonrpc_message *m)
{
    struct mcp_notice n = mcp_read_notification(m);

    switch (n.kind) {
    case MCP_NOTICE_PROGRESS:
        if (n.id.kind == JSONRPC_ID_INT)
            mcp_calls_progress(s, n.id.number);
        break;
    case MCP_NOTICE_TOOLS_CHANGED:
        mcp_list_changed(s);
        break;
    case MCP_NOTICE_CANCELLED:
        on_cancelled(s, &n.id);
        break;
    case MCP_NOTICE_ACKNOWLEDGED:
        on_acknowledged(s);
        break;
    case MCP_NOTICE_LOG:
        mcp_report_message(s, &n);
        break;
    case MCP_NOTICE_OTHER:
        break;
    }
}
