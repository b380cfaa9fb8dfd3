/* turn_call_span.c -- attributes of calls, by the names of the conventions for generative AI and MCP. */
#include "call/turn_call_span.h"

#include <stdio.h>

#include "flight/flight_spans.h"
#include "mcp/proto/mcp_request.h"

static bool captures(const struct turn_call *c)
{
    return tracer_conf(c->of->flight->worker->tracer)->captures;
}

/* The name of a tool that there is; what the model made up is not told apart. */
static str tool_name(const struct turn_call *c)
{
    if (c->kind->name != NULL)
        return str_from_c(c->kind->name);
    return c->tool == NULL ? STR("unknown") : c->tool->tool->name;
}

void turn_call_span_begin(struct turn_call *c)
{
    const bool is_mcp = c->kind->name == NULL && c->tool != NULL;
    struct buf name = {.limit = 0};

    if (c->of->flight->spans == NULL)
        return;
    buf_c(&name, "execute_tool ");
    buf_append(&name, tool_name(c));
    c->span =
        flight_spans_child(c->of->flight, is_mcp ? SPAN_CLIENT : SPAN_INTERNAL, buf_str(&name));
    buf_fini(&name);
    span_text(c->span, "gen_ai.operation.name", STR("execute_tool"));
    span_text(c->span, "gen_ai.tool.name", tool_name(c));
    span_escaped(c->span, "gen_ai.tool.call.id", c->call_id);
    span_text(c->span, "gen_ai.tool.type", STR("extension"));
    if (captures(c))
        span_escaped(c->span, "gen_ai.tool.call.arguments", c->text);
}

static void give_span(struct turn_call *c)
{
    flight_spans_give(c->of->flight, c->span);
    c->span = NULL;
}

void turn_call_span_end(struct turn_call *c)
{
    const struct turn_call_result *r = &c->result;

    if (c->span == NULL)
        return;
    if (r->is_failed)
        span_error(c->span, str_from_c(r->error_type == NULL ? "tool_error" : r->error_type));
    if (captures(c))
        span_escaped(c->span, "gen_ai.tool.call.result", buf_str(&r->output));
    give_span(c);
}

void turn_call_span_cancel(struct turn_call *c)
{
    if (c->span == NULL)
        return;
    span_error(c->span, STR("cancelled"));
    give_span(c);
}

void turn_call_span_mcp(struct turn_call *c, const struct mcp_outcome *o)
{
    char code[24];

    if (c->span == NULL)
        return;
    span_text(c->span, "mcp.method.name", str_from_c(mcp_method_name(MCP_CALL_TOOL)));
    if (o->facts.version != MCP_VERSION_NONE)
        span_text(c->span, "mcp.protocol.version", mcp_version_name(o->facts.version));
    if (o->facts.request_id != 0) {
        (void)snprintf(code, sizeof(code), "%lld", (long long)o->facts.request_id);
        span_text(c->span, "jsonrpc.request.id", str_from_c(code));
    }
    span_text(c->span, "network.transport", o->facts.is_stdio ? STR("pipe") : STR("tcp"));
    if (o->is_failed && o->cause == MCP_FAILED_RPC) {
        (void)snprintf(code, sizeof(code), "%lld", (long long)o->code);
        span_text(c->span, "rpc.response.status_code", str_from_c(code));
    }
}
