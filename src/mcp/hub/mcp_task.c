/* mcp_task.c -- work for a worker, as an errand at the hub's loop. */
#include "mcp/hub/mcp_hub_internal.h"

#include <stdlib.h>

#include "ev/errand.h"

struct mcp_task {
    struct mcp_hub *hub;
    struct errand errand;

    /* of the worker's thread */
    const struct mcp_listed_handler *on_listed; /* or */
    const struct mcp_done_handler *on_done;
    void *arg;

    /* written before begin */
    struct arena memory;
    struct mcp_remote remote;
    bool is_remote;
    str label, tool, arguments;  /* of a call, like the next four */
    str traceparent, tracestate; /* or STR_NONE */
    struct mcp_catalogue *catalogue;
    const struct mcp_mirror *mirrors;
    enum mcp_result_form form;

    /* of the hub's thread */
    struct mcp_task *next; /* that waits for the same tools */
    struct hub_server *server;
    struct mcp_session_call *call;

    /* written before the report */
    struct mcp_catalogue *tools;
    struct hub_outcome outcome;
    struct mcp_call_facts facts;
};

const struct mcp_remote *mcp_task_remote(const struct mcp_task *t)
{
    return &t->remote;
}

struct mcp_task **mcp_task_next(struct mcp_task *t)
{
    return &t->next;
}

/* ---- on the worker's thread: the end */

static void task_free(void *arg)
{
    struct mcp_task *t = arg;

    mcp_catalogue_unref(t->catalogue);
    mcp_catalogue_unref(t->tools);
    hub_outcome_fini(&t->outcome);
    if (t->is_remote)
        hub_remote_wipe(&t->remote);
    arena_fini(&t->memory);
    free(t);
}

/* Failures without a text are those that there was no memory for. */
static str outcome_error(const struct hub_outcome *o)
{
    return o->error.len > 0 ? buf_str(&o->error) : STR("The gateway ran out of memory.");
}

static void report_outcome(const struct mcp_task *t)
{
    static const str no_memory_object = STR_INIT("{\"type\":\"mcp_protocol_error\",\"code\":-32603,"
                                                 "\"message\":\"The gateway ran out of memory.\"}");
    const struct hub_outcome *o = &t->outcome;
    struct mcp_outcome outcome = {.output = buf_str(&o->output),
                                  .is_failed = o->is_failed,
                                  .cause = o->cause,
                                  .code = o->code,
                                  .facts = t->facts};

    if (o->is_failed) {
        outcome.error = outcome_error(o);
        outcome.error_object = o->error.len > 0 ? buf_str(&o->error_object) : no_memory_object;
    }
    t->on_done->on_done(t->arg, &outcome);
}

static void report_tools(struct mcp_task *t)
{
    const struct mcp_failure failure = {.cause = MCP_FAILED_LIMIT, /* of which the text is all */
                                        .message = outcome_error(&t->outcome)};
    struct mcp_catalogue *tools = t->tools;

    t->tools = NULL; /* given away */
    t->on_listed->on_listed(t->arg, tools == NULL ? &failure : NULL, tools);
}

static void task_report(void *arg)
{
    struct mcp_task *t = arg;

    if (t->on_listed != NULL)
        report_tools(t);
    else
        report_outcome(t);
    task_free(t);
}

/* ---- on the hub's thread */

void mcp_task_fail(struct mcp_task *t, str sentence)
{
    const struct mcp_failure failure = {.cause = MCP_FAILED_LIMIT, .message = sentence};
    const struct secrets none = {.first = NULL};

    hub_outcome_write(&t->outcome, &failure, NULL, t->label, &none, NULL);
    errand_report(&t->errand);
}

void mcp_task_listed(struct mcp_task *t, struct mcp_catalogue *tools)
{
    t->tools = mcp_catalogue_under(tools, t->label);
    if (t->tools == NULL)
        mcp_task_fail(t, STR("The gateway ran out of memory."));
    else
        errand_report(&t->errand);
}

static void on_called(void *arg, const struct mcp_failure *failure,
                      const struct mcp_call_result *result)
{
    struct mcp_task *t = arg;
    const struct mcp_result_options options = {.form = t->form,
                                               .limit_bytes = t->server->conf->max_result_bytes};

    hub_outcome_write(&t->outcome, failure, result, t->label, &t->server->secrets, &options);
    t->facts = mcp_session_call_facts(t->call);
    t->call = NULL;
    hub_server_call_ended(t->server);
    errand_report(&t->errand);
}

static void call_on(struct mcp_task *t, struct hub_server *s)
{
    static const struct mcp_session_call_handler handler = {.on_done = on_called};
    const struct mcp_session_call_conf conf = {
        .tool = t->tool,
        .arguments = t->arguments,
        .mirrors = t->mirrors,
        .traceparent = t->traceparent,
        .tracestate = t->tracestate,
        .idle_timeout_ms = s->conf->call_timeout_ms,
        .total_timeout_ms = s->conf->max_call_ms,
    };
    struct err e;

    hub_server_hurry(s);
    t->server = s;
    t->call = mcp_session_call(s->session, &conf, &handler, t, &e);
    if (t->call == NULL)
        mcp_task_fail(t, str_from_c(e.msg));
    else
        hub_server_call_begins(s);
}

/* The server is looked up now, and may be another than the one that the tool was found with. */
static void call_configured(struct mcp_task *t)
{
    struct hub_server *s = hub_find_server(t->hub, t->label);

    if (s != NULL && s->session != NULL)
        call_on(t, s);
    else
        mcp_task_fail(t, STR("The MCP server of this tool is not there any more."));
}

static void task_begin(void *arg)
{
    struct mcp_task *t = arg;
    struct hub_server *s;

    if (t->on_listed != NULL) {
        hub_remote_list(t->hub, t);
    } else if (!t->is_remote) {
        call_configured(t);
    } else {
        s = hub_remote_use(t->hub, t);
        if (s != NULL)
            call_on(t, s);
    }
}

static void task_abort(void *arg)
{
    struct mcp_task *t = arg;

    if (t->call != NULL) {
        mcp_session_cancel(t->call, "nobody waits for the result any more");
        hub_server_call_ended(t->server);
    } else {
        hub_remote_forget(t->hub, t);
    }
}

/* ---- on the worker's thread: the start */

/* Gives the task to the hub; NULL when it could not be made, and then it is gone. */
static struct mcp_task *begin_task(struct mcp_task *t, bool is_whole, struct loop *home,
                                   struct err *reterr)
{
    static const struct errand_kind kind = {task_begin, task_abort, task_report, task_free};

    if (t == NULL || !is_whole || hub_wake(t->hub, NULL) == -1) {
        if (t != NULL)
            task_free(t);
        err_set_no_memory(reterr);
        return NULL;
    }
    errand_begin(&t->errand, &kind, t, home, t->hub->loop);
    return t;
}

static struct mcp_task *task_new(struct mcp_hub *hub, void *arg)
{
    struct mcp_task *t = calloc(1, sizeof(*t));

    if (t != NULL)
        *t = (struct mcp_task){.hub = hub, .arg = arg};
    return t;
}

static bool set_remote(struct mcp_task *t, const struct mcp_remote *remote)
{
    t->is_remote = true;
    if (!hub_remote_copy(remote, &t->memory, &t->remote))
        return false;
    t->label = t->remote.label;
    return true;
}

struct mcp_task *mcp_hub_list(struct mcp_hub *hub, struct loop *loop,
                              const struct mcp_remote *remote,
                              const struct mcp_listed_handler *handler, void *arg,
                              struct err *reterr)
{
    struct mcp_task *t = task_new(hub, arg);

    if (t != NULL)
        t->on_listed = handler;
    return begin_task(t, t != NULL && set_remote(t, remote), loop, reterr);
}

static bool set_call(struct mcp_task *t, const struct mcp_hub_call *call)
{
    t->catalogue = mcp_catalogue_ref(call->catalogue);
    t->mirrors = call->tool->mirrors;
    t->form = call->form;
    t->tool = arena_dup(&t->memory, call->tool->name);
    t->arguments = arena_dup(&t->memory, call->arguments);
    t->traceparent = arena_dup(&t->memory, call->traceparent);
    t->tracestate = arena_dup(&t->memory, call->tracestate);
    if (call->remote != NULL && !set_remote(t, call->remote))
        return false;
    if (call->remote == NULL)
        t->label = arena_dup(&t->memory, call->label);
    return !str_is_none(t->tool) && !str_is_none(t->arguments) && !str_is_none(t->label);
}

struct mcp_task *mcp_hub_call(struct mcp_hub *hub, struct loop *loop,
                              const struct mcp_hub_call *call,
                              const struct mcp_done_handler *handler, void *arg, struct err *reterr)
{
    struct mcp_task *t = task_new(hub, arg);

    if (t != NULL)
        t->on_done = handler;
    return begin_task(t, t != NULL && set_call(t, call), loop, reterr);
}

void mcp_task_cancel(struct mcp_task *t)
{
    errand_cancel(&t->errand);
}
