/* mcp_http_stream.c -- the stream on which a legacy server says what nobody asked for,
 * kept open as long as the session lives (MCP 5.8).
 *
 * A stream that cannot be had, or is lost, says nothing about the session. */
#include "mcp/link/mcp_http.h"

enum { FIRST_DELAY_MS = 1000, MOST_DELAY_MS = 30 * 1000 };

/* The delay doubles as long as nothing comes. A delay that the server asks for counts as it is
 * after progress, else only when it is longer. */
static uint64_t next_delay(struct mcp_exchange *x)
{
    uint64_t asked_ms = x->answer.has_retry ? x->answer.retry_ms : 0;

    if (x->answer.has_progress)
        x->delay_ms = 0;
    if (x->answer.has_progress && asked_ms > 0)
        return asked_ms;
    x->delay_ms = x->delay_ms == 0 ? FIRST_DELAY_MS : x->delay_ms * 2;
    if (x->delay_ms > MOST_DELAY_MS)
        x->delay_ms = MOST_DELAY_MS;
    return asked_ms > x->delay_ms ? asked_ms : x->delay_ms;
}

static void open_stream_later(struct mcp_exchange *x)
{
    loop_timer_start(x->timer, next_delay(x));
    mcp_answer_begin(&x->answer, MCP_BODY_NONE);
}

static void on_timer(struct mcp_exchange *x)
{
    if (mcp_http_get(x, NULL) == -1)
        open_stream_later(x);
}

/* True for statuses of trouble that may pass, among them that another stream is open already. */
static bool may_pass(int status)
{
    return status == 408 || status == 409 || status == 429 ||
           (status >= 500 && status != 501 && status != 505);
}

static void on_head(struct mcp_exchange *x, const struct mcp_fetch_head *head)
{
    struct mcp_http *h = mcp_http_of(x->link);

    if (mcp_status_is_good(x->status) && head->body == MCP_BODY_EVENTS) {
        mcp_answer_begin(&x->answer, MCP_BODY_EVENTS);
    } else if (may_pass(x->status)) {
        mcp_fetch_cancel(x->fetch);
        x->fetch = NULL;
        open_stream_later(x);
    } else {
        h->has_no_stream = true;
        h->stream = NULL;
        mcp_http_drop(x);
    }
}

static void on_message(struct mcp_exchange *x, const struct jsonrpc_message *m)
{
    mcp_http_deliver(x, m);
}

/* A message that was too large would come again behind the last id. */
static void on_end(struct mcp_exchange *x, const struct mcp_link_failure *failure)
{
    if (failure != NULL && failure->cause == MCP_FAILED_LIMIT)
        x->answer.has_id = false;
    open_stream_later(x);
}

static const struct mcp_exchange_kind stream = {
    .on_head = on_head, .on_message = on_message, .on_end = on_end, .on_timer = on_timer};

void mcp_http_listen(struct mcp_http *h)
{
    if (h->stream != NULL || h->has_no_stream)
        return;
    h->stream = mcp_exchange_new(&h->exchanges, &h->link, &h->site, &stream);
    if (h->stream == NULL)
        h->has_no_stream = true;
    else
        on_timer(h->stream);
}
