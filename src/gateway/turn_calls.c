/* turn_calls.c -- calls of tools that the gateway runs: those the client has approved, and what
 * the model has called in a round.
 *
 * Those of one round run side by side, unless the request says otherwise; each item is closed
 * when its call has ended. That a call fails is for the model to deal with (CONTRACT 1.5). */
#include "gateway/turn_internal.h"
#include "mcp/mcp_failure.h"
#include "mcp/mcp_request.h"
#include "json/json_text.h"

struct turn_call {
    struct turn *turn;
    struct output_item *item;
    struct mcp_task *task; /* while it is under way */
    bool is_started;
    struct turn_call *next;
};

/* ---- one call */

static void close_item(struct turn_call *c, const struct mcp_outcome *o, struct buf *out)
{
    struct turn *t = c->turn;
    struct buf text = {.limit = 0}, error = {.limit = 0};
    struct jw w = jw_to(&error);
    struct hosted_outcome outcome = {.is_failed = o->is_failed};

    json_text_escape(o->output, &text);
    if (o->is_failed && t->worker->config->mcp_errors == CONFIG_MCP_ERRORS_OBJECT)
        jw_raw(&w, o->error_object);
    else
        jw_string(&w, o->error);
    outcome.output = buf_str(&text);
    outcome.error = buf_str(&error);
    if (buf_failed(&text) || buf_failed(&error))
        t->response.broken = ERR_INTERNAL;
    (void)response_call_ended(&t->response, c->item, &outcome, out);
    buf_fini(&text);
    buf_fini(&error);
}

/* The server is not asked. */
static void refuse(struct turn_call *c, const struct mcp_failure *f, struct buf *out)
{
    struct buf text = {.limit = 0}, object = {.limit = 0};

    mcp_failure_text(f, &text);
    mcp_failure_object(f, &object);
    close_item(c,
               &(struct mcp_outcome){.is_failed = true,
                                     .output = STR(""),
                                     .error = buf_str(&text),
                                     .error_object = buf_str(&object)},
               out);
    buf_fini(&text);
    buf_fini(&object);
}

static void after_calls(struct turn *t, struct buf *out);

static void on_done(void *arg, const struct mcp_outcome *outcome)
{
    struct turn_call *c = arg;
    struct turn *t = c->turn;
    struct buf *out = turn_fresh_out(t);

    c->task = NULL;
    t->n_calls--;
    close_item(c, outcome, out);
    after_calls(t, out);
    turn_free_if_over(t);
}

static enum mcp_result_form result_form(const struct turn *t)
{
    bool is_list = t->worker->config->mcp_results == CONFIG_MCP_RESULTS_JSON ||
                   t->dialect == RESPONSE_DIALECT_ORS;

    return is_list ? MCP_RESULT_JSON_ARRAY : MCP_RESULT_TEXT;
}

static struct mcp_task *call_tool(struct turn_call *c, str arguments, struct err *reterr)
{
    static const struct mcp_done_handler handler = {on_done};
    struct turn *t = c->turn;
    const struct turn_tool *tool = c->item->tool->hosted;
    const struct mcp_hub_call call = {
        .label = tool->server->tools->label,
        .remote = tool->server->remote,
        .catalogue = tool->server->tools,
        .tool = tool->tool,
        .arguments = arguments,
        .form = result_form(t),
    };

    return mcp_hub_call(t->worker->hub, t->worker->loop, &t->worker->n_mcp_tasks, &call, &handler,
                        c, reterr);
}

/* The model made up a server or its tool (HARMONY 3). */
static void refuse_unknown(struct turn_call *c, struct buf *out)
{
    const struct mcp_failure failure = {
        .cause = MCP_FAILED_LIMIT,
        .message = STR("There is no such tool. Call only tools that you were given."),
    };

    refuse(c, &failure, out);
}

static void start(struct turn_call *c, struct buf *out)
{
    struct mcp_failure failure = {.cause = MCP_FAILED_ARGUMENTS};
    struct buf plain = {.limit = 0};
    str arguments;
    struct err e;

    c->is_started = true;
    if (c->item->tool == NULL) {
        refuse_unknown(c, out);
        return;
    }
    json_text_decode(buf_str(&c->item->text), &plain);
    if (mcp_arguments(buf_str(&plain), &arguments, &e) == -1) {
        failure.message = str_from_c(e.msg);
        refuse(c, &failure, out);
    } else {
        c->task = call_tool(c, arguments, &e);
        if (c->task != NULL) {
            c->turn->n_calls++;
        } else {
            failure.cause = MCP_FAILED_LIMIT;
            failure.message = str_from_c(e.msg);
            refuse(c, &failure, out);
        }
    }
    buf_fini(&plain);
}

/* ---- all of them */

static void start_more(struct turn *t, struct buf *out)
{
    bool one_by_one = str_eq(t->request.parallel_tool_calls, STR("false"));

    for (struct turn_call *c = t->calls; c != NULL; c = c->next) {
        if (one_by_one && t->n_calls > 0)
            return;
        if (!c->is_started)
            start(c, out);
    }
}

/* Some have ended, or could not begin. */
static void after_calls(struct turn *t, struct buf *out)
{
    struct err e;

    start_more(t, out);
    if (t->response.broken) {
        response_failure(&t->response, &e);
        turn_fail(t, &e);
    } else if (t->n_calls == 0) {
        t->calls = NULL;
        turn_go_on(t, out);
    } else if (out != NULL) {
        turn_send_events(t);
    }
}

static bool add(struct turn *t, struct output_item *item, struct turn_call **last)
{
    struct turn_call *c = arena_alloc(&t->arena, sizeof(*c));

    if (c == NULL)
        return false;
    *c = (struct turn_call){.turn = t, .item = item};
    if (*last == NULL)
        t->calls = c;
    else
        (*last)->next = c;
    *last = c;
    return true;
}

static bool add_open_calls(struct turn *t)
{
    struct turn_call *last = NULL;

    t->calls = NULL;
    for (struct output_item *item = response_next_call(&t->response, NULL); item != NULL;
         item = response_next_call(&t->response, item)) {
        if (!add(t, item, &last))
            return false;
    }
    return true;
}

void turn_run_calls(struct turn *t, struct buf *out)
{
    struct err e;

    turn_move(t, TURN_CALLS);
    if (!add_open_calls(t)) {
        err_set_no_memory(&e);
        turn_explain_size(t, &e);
        turn_fail(t, &e);
        return;
    }
    after_calls(t, out);
}

void turn_cancel_calls(struct turn *t)
{
    for (struct turn_call *c = t->calls; c != NULL; c = c->next) {
        if (c->task != NULL)
            mcp_task_cancel(c->task);
        c->task = NULL;
    }
    t->calls = NULL;
    t->n_calls = 0;
}

/* ---- before the model is asked */

int turn_run_approved(struct turn *t, struct err *reterr)
{
    struct buf *out;

    if (t->request.approved == NULL)
        return turn_ask(t, reterr);
    if (t->request.stream)
        turn_begin_stream(t);
    if (t->x == NULL)
        return 0;
    out = turn_fresh_out(t);
    for (const struct approved_call *a = t->request.approved; a != NULL; a = a->next) {
        if (response_approved_call(&t->response, a->tool, a->request->arguments, a->request->id,
                                   out) == NULL) {
            response_failure(&t->response, reterr);
            return -1;
        }
    }
    turn_run_calls(t, out);
    return 0;
}
