/* turn_call_mcp.c -- calls of the tools of MCP servers. */
#include "mcp/proto/mcp_failure.h"
#include "mcp/proto/mcp_request.h"
#include "turn/turn_call.h"
#include "json/json_text.h"

static void fill(const struct turn *t, const struct mcp_outcome *o, struct turn_call_result *ret)
{
    struct jw w = jw_to(&ret->error);

    ret->is_failed = o->is_failed;
    json_text_escape(o->output, &ret->output);
    if (o->is_failed && t->flight.worker->config->mcp_errors == CONFIG_MCP_ERRORS_OBJECT)
        jw_raw(&w, o->error_object);
    else
        jw_string(&w, o->error);
}

/* The server is not asked. */
static void refuse(const struct turn *t, const struct mcp_failure *f, struct turn_call_result *ret)
{
    struct buf text = {.limit = 0}, object = {.limit = 0};

    mcp_failure_text(f, &text);
    mcp_failure_object(f, &object);
    fill(t,
         &(struct mcp_outcome){.is_failed = true,
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

    fill(c->turn, outcome, &result);
    turn_call_ended(c, &result);
}

static enum mcp_result_form result_form(const struct turn *t)
{
    bool is_list = t->flight.worker->config->mcp_results == CONFIG_MCP_RESULTS_JSON ||
                   t->dialect == RESPONSE_DIALECT_ORS;

    return is_list ? MCP_RESULT_JSON_ARRAY : MCP_RESULT_TEXT;
}

static struct mcp_task *call_tool(struct turn_call *c, str arguments, struct err *reterr)
{
    static const struct mcp_done_handler handler = {on_done};
    struct turn *t = c->turn;
    const struct turn_tool *tool = c->item->tool->mcp;
    const struct mcp_hub_call call = {
        .label = tool->server->tools->label,
        .remote = tool->server->remote,
        .catalogue = tool->server->tools,
        .tool = tool->tool,
        .arguments = arguments,
        .form = result_form(t),
    };

    return mcp_hub_call(t->flight.worker->hub, t->flight.worker->loop, &call, &handler, c, reterr);
}

static void *start(struct turn_call *c, struct turn_call_result *ret)
{
    struct mcp_failure failure = {.cause = MCP_FAILED_LIMIT};
    struct mcp_task *task = NULL;
    struct buf plain = {.limit = 0};
    str arguments;
    struct err e;

    json_text_decode(buf_str(&c->item->text), &plain);
    if (c->item->tool == NULL) { /* the model made up a server or its tool (HARMONY 3) */
        failure.message = STR("There is no such tool. Call only tools that you were given.");
    } else if (mcp_arguments(buf_str(&plain), &arguments, &e) == -1) {
        failure.cause = MCP_FAILED_ARGUMENTS;
        failure.message = str_from_c(e.msg);
    } else {
        task = call_tool(c, arguments, &e);
        if (task == NULL)
            failure.message = str_from_c(e.msg);
    }
    if (task == NULL)
        refuse(c->turn, &failure, ret);
    buf_fini(&plain);
    return task;
}

static void cancel(void *work)
{
    mcp_task_cancel(work);
}

const struct turn_call_kind turn_call_mcp = {start, cancel};
