/* chat_turn_tools.c -- the calls of a round run side by side; their results go to the
 * model in the order in which it made them. */
#include <stdlib.h>

#include "front/chat_turn_internal.h"
#include "mcp/proto/mcp_failure.h"
#include "mcp/proto/mcp_request.h"
#include "upstream/upstream_options.h"
#include "upstream/upstream_watch.h"
#include "json/json_text.h"

static enum mcp_result_form result_form(const struct chat_turn *t)
{
    return t->flight.worker->config->chat_results == CONFIG_CHAT_RESULTS_JSON
               ? MCP_RESULT_JSON_ARRAY
               : MCP_RESULT_TEXT;
}

static void on_done(void *arg, const struct mcp_outcome *outcome)
{
    struct chat_turn_call *c = arg;
    struct chat_turn *t = c->turn;

    c->task = NULL;
    if (outcome->is_failed) {
        buf_c(&c->text, "Error: ");
        buf_append(&c->text, outcome->error);
    } else {
        buf_append(&c->text, mcp_result_for_model(outcome->output));
    }
    t->n_running--;
    turn_wake(&t->flight);
}

static const struct mcp_done_handler done_handler = {on_done};

static void refuse(struct chat_turn_call *c, enum mcp_cause cause, const struct err *e)
{
    const struct mcp_failure f = {.cause = cause, .message = str_from_c(e->msg)};

    mcp_failure_for_model(&f, &c->text);
}

/* arguments: an object. */
static void call_tool(struct chat_turn_call *c, const struct chat_turn_tool *tool, str arguments)
{
    struct chat_turn *t = c->turn;
    struct mcp_hub_call call = {.label = tool->label,
                                .catalogue = tool->catalogue,
                                .tool = tool->tool,
                                .arguments = arguments,
                                .form = result_form(t)};
    struct err e;

    c->task =
        mcp_hub_call(t->flight.worker->hub, t->flight.worker->loop, &call, &done_handler, c, &e);
    if (c->task == NULL)
        refuse(c, MCP_FAILED_LIMIT, &e);
    else
        t->n_running++;
}

/* The words of open-responses-server. */
static void write_unknown(str name, struct buf *out)
{
    buf_c(out, "{\"error\":\"Tool '");
    buf_append(out, name);
    buf_c(out, "' is not a registered MCP tool.\"}");
}

/* What the client forced holds whatever the server makes of it, for the first round (CONTRACT 1.4). */
static bool is_not_forced(const struct chat_turn *t, str name)
{
    return t->n_rounds == 1 && !str_is_none(t->request.forced) &&
           !json_text_eq(name, t->request.forced);
}

static void write_not_forced(struct chat_turn *t, struct buf *out)
{
    t->n_not_forced++;
    buf_c(out, "Error: Not run: the tool to call is ");
    buf_append(out, t->request.forced);
    buf_char(out, '.');
}

/* Runs the i-th call of the round, if it is one that can be run. */
static void start_call(struct chat_turn_call *c, size_t i)
{
    struct chat_turn *t = c->turn;
    const struct chat_loop_call_view call = chat_loop_said_call(&t->merge.said, i);
    size_t tool = chat_loop_tools_find(&t->names, call.name);
    struct buf text = {.limit = 0};
    str arguments = STR_NONE;
    struct err e;
    bool is_broken;

    json_text_decode(call.arguments, &text);
    is_broken = mcp_arguments(buf_str(&text), &arguments, &e) == -1;
    t->merge.said.calls[i].is_broken = is_broken;
    t->n_broken_calls += is_broken ? 1 : 0;
    if (is_not_forced(t, call.name)) {
        write_not_forced(t, &c->text);
    } else if (tool == t->names.n) {
        write_unknown(call.name, &c->text);
    } else if (buf_failed(&text)) {
        err_set_no_memory(&e);
        refuse(c, MCP_FAILED_LIMIT, &e);
    } else if (is_broken) {
        refuse(c, MCP_FAILED_ARGUMENTS, &e);
    } else {
        call_tool(c, &t->tools[tool], arguments);
    }
    buf_fini(&text);
}

static void forget_calls(struct chat_turn *t)
{
    for (size_t i = 0; i < t->n_calls; i++)
        buf_fini(&t->calls[i].text);
    free(t->calls);
    t->calls = NULL;
    t->n_calls = 0;
}

void chat_turn_cancel_tools(struct chat_turn *t)
{
    for (size_t i = 0; i < t->n_calls; i++) {
        if (t->calls[i].task != NULL)
            mcp_task_cancel(t->calls[i].task);
    }
    t->n_running = 0;
    forget_calls(t);
}

int chat_turn_start_calls(void *arg, struct err *reterr)
{
    struct chat_turn *t = arg;
    const struct chat_loop_said *said = &t->merge.said;

    t->calls = calloc(said->n, sizeof(*t->calls));
    if (t->calls == NULL) {
        err_set_no_memory(reterr);
        return -1;
    }
    for (size_t i = 0; i < said->n; i++) {
        struct chat_turn_call *c = &t->calls[t->n_calls];

        if (said->calls[i].owner != CHAT_CALL_OURS)
            continue;
        *c = (struct chat_turn_call){.turn = t, .id = chat_loop_said_call(said, i).id};
        t->n_calls++;
        start_call(c, i);
    }
    t->n_made += t->n_calls;
    return 0;
}

enum turn_next chat_turn_await_calls(void *arg, struct err *reterr)
{
    const struct chat_turn *t = arg;

    (void)reterr;
    return t->n_running > 0 ? TURN_WAIT : TURN_GO;
}

static bool wants_no_reasoning(struct chat_turn *t)
{
    const str model = json_text_dup(&t->flight.arena, t->request.model);
    struct upstream_facts *facts = upstream_watch_facts(t->flight.worker->watch);
    const struct model_profile profile =
        upstream_named_profile(t->flight.worker->config, facts, model);

    upstream_facts_unref(facts);
    return profile.reasoning_field == CHAT_NO_REASONING;
}

void chat_turn_remember(struct chat_turn *t)
{
    static const enum chat_empty_content empty[] = {
        [CONFIG_EMPTY_CONTENT_NULL] = CHAT_CONTENT_NULL,
        [CONFIG_EMPTY_CONTENT_EMPTY] = CHAT_CONTENT_EMPTY,
        [CONFIG_EMPTY_CONTENT_ABSENT] = CHAT_CONTENT_ABSENT,
    };
    const struct chat_loop_message_conf conf = {
        .empty_content = empty[t->flight.worker->config->empty_content],
        .omits_reasoning = wants_no_reasoning(t),
    };
    struct buf *out = &t->history;

    if (out->len > 0)
        buf_char(out, ',');
    chat_loop_said_write(&t->merge.said, &conf, out);
    for (size_t i = 0; i < t->n_calls; i++) {
        buf_char(out, ',');
        chat_loop_result_write(t->calls[i].id, buf_str(&t->calls[i].text), out);
        out->failed = out->failed || buf_failed(&t->calls[i].text);
    }
    forget_calls(t);
}
