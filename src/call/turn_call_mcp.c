/* turn_call_mcp.c -- calls of the tools of MCP servers. */
#include "call/turn_call.h"
#include "call/turn_call_span.h"
#include "ev/log.h"
#include "flight/flight_spans.h"
#include "flight/worker.h"
#include "json/json_text.h"
#include "mcp/proto/mcp_failure.h"
#include "mcp/proto/mcp_request.h"

/* A tool that the model has made up is nobody's. */
static void audit_call(const struct turn_call *c, bool is_failed)
{
    const struct flight *f = c->of->flight;

    if (c->tool == NULL || !log_audit_is_on())
        return;
    log_audit((struct log_field[]){
        LOG_STR("what", STR("mcp.call")), LOG_STR("outcome", is_failed ? STR("failed") : STR("ok")),
        LOG_STR("owner", f->caller.name), LOG_STR("key", f->caller.mark),
        LOG_STR("client", f->client), LOG_NAME("server", c->tool->catalogue->label),
        LOG_NAME("tool", c->tool->tool->name), LOG_STR("request_id", f->request_id), LOG_END});
}

static enum turn_call_failure why_failed(enum mcp_cause cause)
{
    switch (cause) {
    case MCP_FAILED_TIMEOUT:
        return TURN_CALL_TIMEOUT;
    case MCP_FAILED_LIMIT:
        return TURN_CALL_LIMIT;
    case MCP_FAILED_ARGUMENTS:
        return TURN_CALL_ARGUMENTS;
    default:
        return TURN_CALL_FAILED;
    }
}

static void fill_result(const struct turn_call *c, const struct mcp_outcome *o,
                        struct turn_call_result *ret)
{
    struct jw w = jw_to(&ret->error);

    audit_call(c, o->is_failed);
    ret->is_failed = o->is_failed;
    ret->why = why_failed(o->cause);
    ret->error_type = o->is_failed ? mcp_failure_word(o->cause) : NULL;
    json_text_escape(o->output, &ret->output);
    if (o->is_failed && c->of->has_error_objects)
        jw_raw(&w, o->error_object);
    else
        jw_string(&w, o->error);
}

/* The server is not asked. */
static void refuse_call(const struct turn_call *c, const struct mcp_failure *f,
                        struct turn_call_result *ret)
{
    struct buf text = {.limit = 0}, object = {.limit = 0};

    mcp_failure_text(f, &text);
    mcp_failure_object(f, &object);
    fill_result(c,
                &(struct mcp_outcome){.is_failed = true,
                                      .cause = f->cause,
                                      .output = STR(""),
                                      .error = buf_str(&text),
                                      .error_object = buf_str(&object)},
                ret);
    ret->error.failed = ret->error.failed || buf_failed(&text) || buf_failed(&object);
    buf_fini(&text);
    buf_fini(&object);
}

static void on_done(void *arg, const struct mcp_outcome *outcome)
{
    struct turn_call *c = arg;
    struct turn_call_result result = {.is_failed = false};

    fill_result(c, outcome, &result);
    turn_call_span_mcp(c, outcome);
    turn_call_ended(c, &result);
}

static struct mcp_task *call_tool(struct turn_call *c, str arguments, struct err *reterr)
{
    static const struct mcp_done_handler handler = {on_done};
    const struct flight *f = c->of->flight;
    const struct worker *w = f->worker;
    const bool is_told = c->tool->remote == NULL || w->config->trace_remote;
    struct trace_context context;
    char traceparent[TRACEPARENT_CHARS + 1];
    struct mcp_hub_call call = {
        .label = c->tool->catalogue->label,
        .remote = c->tool->remote,
        .catalogue = c->tool->catalogue,
        .tool = c->tool->tool,
        .arguments = arguments,
        .form = c->of->form,
    };

    if (is_told && flight_spans_context(f, c->span, &context)) {
        trace_context_write(&context, traceparent);
        call.traceparent = str_from_c(traceparent);
        call.tracestate = flight_spans_state(f);
    }
    return mcp_hub_call(w->hub, w->loop, &call, &handler, c, reterr);
}

static void *start_mcp_call(struct turn_call *c, struct turn_call_result *ret)
{
    struct mcp_failure failure = {.cause = MCP_FAILED_LIMIT};
    struct mcp_task *task = NULL;
    struct buf plain = {.limit = 0};
    str arguments;
    struct err e;

    json_text_decode(c->text, &plain);
    if (c->tool == NULL) { /* the model made up a server or its tool (HARMONY 3) */
        failure.message = STR("There is no such tool. Call only tools that you were given.");
    } else if (buf_failed(&plain)) {
        failure.message = STR("The gateway ran out of memory.");
    } else if (mcp_arguments(buf_str(&plain), &arguments, &e) == -1) {
        failure.cause = MCP_FAILED_ARGUMENTS;
        failure.message = str_from_c(e.msg);
    } else {
        task = call_tool(c, arguments, &e);
        if (task == NULL)
            failure.message = str_from_c(e.msg);
    }
    if (task == NULL)
        refuse_call(c, &failure, ret);
    buf_fini(&plain);
    return task;
}

static void cancel_mcp_call(void *work)
{
    mcp_task_cancel(work);
}

const struct turn_call_kind turn_call_mcp = {.start = start_mcp_call, .cancel = cancel_mcp_call};
