/* mcp_session_traffic.c -- requests to the server, and who gets what comes back. */
#include "mcp/session/mcp_session_internal.h"

/* ---- to the server */

static bool send_message(struct mcp_session *s, const struct mcp_request *r,
                         struct mcp_link_message *lm, struct err *reterr)
{
    struct buf json = {.limit = 0};
    bool is_sent = false;

    mcp_request_write(r, &json);
    lm->json = buf_str(&json);
    lm->id = r->id;
    lm->method = r->method;
    lm->version = r->version;
    if (buf_failed(&json))
        err_set_no_memory(reterr);
    else
        is_sent = mcp_link_send(s->link, lm, reterr);
    buf_fini(&json);
    return is_sent;
}

bool mcp_session_ask(struct mcp_session *s, struct mcp_pending *p, struct mcp_request *r,
                     const struct mcp_link_message *call, struct err *reterr)
{
    struct mcp_link_message lm = {.id = 0};

    if (call != NULL)
        lm = *call;
    p->method = r->method;
    p->epoch = s->epoch;
    mcp_pending_add(&s->pending, p);
    r->id = p->id;
    p->asked_ms = loop_now_ms(s->loop);
    p->is_timed = true;
    if (r->method == MCP_CALL_TOOL)
        r->progress_token = p->id; /* as unique as it has to be (MCP 8.4) */
    if (send_message(s, r, &lm, reterr))
        return true;
    p->is_timed = false;
    mcp_pending_remove(&s->pending, p);
    return false;
}

/* A notification that cannot be queued is lost: nobody waits for an answer to it. */
void mcp_session_notify(struct mcp_session *s, struct mcp_request *r)
{
    struct mcp_link_message lm = {.id = 0};

    r->version = s->version;
    (void)send_message(s, r, &lm, NULL);
}

/* A modern server over HTTP is told by the end of the exchange. What is asked before a version is
 * agreed on is never cancelled (MCP 2.2, 8.5). */
void mcp_session_give_up(struct mcp_session *s, struct mcp_pending *p, const char *reason)
{
    int64_t id = p->id;
    bool is_told = s->version != MCP_VERSION_NONE &&
                   (s->transport == MCP_TRANSPORT_STDIO || !mcp_session_is_modern(s));

    mcp_count_request(s, p, s->is_leaving ? mcp_failure_word(MCP_FAILED_CLOSED) : "cancelled");
    mcp_pending_remove(&s->pending, p);
    if (id == 0 || s->link == NULL || s->is_leaving)
        return;
    if (is_told)
        mcp_session_notify(s, &(struct mcp_request){
                                  .method = MCP_CANCELLED, .cancelled_id = id, .reason = reason});
    mcp_link_forget(s->link, id);
}

/* ---- from the server */

static void deliver_reply(struct mcp_session *s, struct mcp_pending *p,
                          const struct mcp_reply *reply)
{
    if (p->method != MCP_CALL_TOOL)
        mcp_count_request(s, p, mcp_reply_error(reply));
    mcp_pending_remove(&s->pending, p);
    p->on_answer(p->arg, reply);
}

static void take_answer(struct mcp_session *s, const struct jsonrpc_message *m, int64_t carrier,
                        int http_status)
{
    struct mcp_pending *p = mcp_pending_match(&s->pending, m, carrier);
    struct mcp_reply reply = {.m = m, .http_status = http_status};

    if (p != NULL)
        deliver_reply(s, p, &reply);
    else
        mcp_report_late(s, m);
}

void mcp_session_on_message(void *arg, const struct jsonrpc_message *m, int64_t carrier,
                            int http_status)
{
    struct mcp_session *s = arg;

    if (s->is_leaving)
        return;
    s->liveness.heard_ms = loop_now_ms(s->loop);
    s->liveness.misses = 0;
    if (m->kind == JSONRPC_REQUEST)
        mcp_notice_request(s, m);
    else if (m->kind == JSONRPC_NOTIFICATION)
        mcp_notice_take(s, m);
    else if (m->kind == JSONRPC_RESULT || m->kind == JSONRPC_ERROR)
        take_answer(s, m, carrier, http_status);
}

void mcp_session_on_failed(void *arg, int64_t id, const struct mcp_link_failure *why)
{
    struct mcp_session *s = arg;
    struct mcp_pending *p = mcp_pending_find(&s->pending, id);
    struct mcp_reply reply = {.failure = why, .http_status = why->http_status};

    if (s->is_leaving)
        return;
    mcp_report_failure(s, p == NULL ? MCP_METHOD_COUNT : p->method, why);
    if (p != NULL)
        deliver_reply(s, p, &reply);
}
