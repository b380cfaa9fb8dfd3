/* mcp_session_metrics.c -- how long the server takes to answer requests (OPERATIONS 1.3).
 *
 * A request is counted once: where its end is known first. That of a tool is known when its result has been
 * read, that of any other with its answer; one that is given up ends there. */
#include "mcp/session/mcp_session_internal.h"
#include "metrics/metrics.h"

static metric_cell *duration_of(const struct mcp_session *s, enum mcp_method method,
                                const char *error)
{
    const bool is_stdio = s->transport == MCP_TRANSPORT_STDIO;
    const struct metric_labels labels = {
        {metric_word(METRIC_DOMAIN_MCP_METHOD, str_from_c(mcp_method_name(method))),
         is_stdio ? METRIC_TRANSPORT_PIPE : METRIC_TRANSPORT_TCP,
         error == NULL ? METRIC_WORD_NONE : metric_word(METRIC_DOMAIN_CODE, str_from_c(error))}};

    return metrics_of(METRIC_MCP_DURATION, &labels);
}

void mcp_count_request(const struct mcp_session *s, struct mcp_pending *p, const char *error)
{
    if (!p->is_timed)
        return;
    p->is_timed = false;
    metrics_observe(METRIC_MCP_DURATION, duration_of(s, p->method, error),
                    1000 * (loop_now_ms(s->loop) - p->asked_ms));
}

const char *mcp_reply_error(const struct mcp_reply *reply)
{
    if (reply->failure != NULL)
        return mcp_failure_word(reply->failure->cause);
    return reply->m->kind == JSONRPC_ERROR ? mcp_failure_word(MCP_FAILED_RPC) : NULL;
}
