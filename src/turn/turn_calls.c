/* turn_calls.c -- calls of tools that the gateway runs, as items of a response: those the client has
 * approved, and what the model has called in a round. Each item is closed when its call has ended; how
 * they are run is told in turn_call.h. */
#include "turn/turn_stages.h"
#include "wire/tools/hosted_tool.h"

/* ---- what is run */

static str none_if_empty(const struct buf *b)
{
    return b->len == 0 ? STR_NONE : buf_str(b);
}

void turn_close_call(struct turn_call *c)
{
    struct turn *t = (struct turn *)c->of->flight;
    const struct turn_call_result *r = &c->result;
    const struct hosted_outcome outcome = {
        .is_failed = r->is_failed,
        .output = buf_str(&r->output),
        .error = buf_str(&r->error),
        .outputs = none_if_empty(&r->outputs),
        .tools = buf_str(&r->tools),
        .shown = none_if_empty(&r->shown),
    };

    if (buf_failed(&r->output) || buf_failed(&r->error) || buf_failed(&r->outputs) ||
        buf_failed(&r->tools) || buf_failed(&r->shown))
        t->response.broken = ERR_INTERNAL;
    t->n_calls++;
    t->n_call_errors += r->is_failed;
    (void)response_call_ended(&t->response, c->place, &outcome, turn_out(t));
}

/* Calls are little to gather, but a search for tools reads all of those. */
size_t turn_calls_weight(const void *arg)
{
    const struct turn *t = arg;
    const struct output_item *item = response_next_call(&t->response, NULL);
    size_t weight = 0;

    while (item != NULL && item->kind != OUTPUT_TOOL_SEARCH_CALL)
        item = response_next_call(&t->response, item);
    if (item == NULL)
        return 0;
    for (const struct tool *tool = t->request.tools.first; tool != NULL; tool = tool->next)
        weight += tool->description.len + tool->parameters.len;
    return weight;
}

int turn_gather_calls(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    const struct config *c = t->flight.worker->config;
    const bool is_list =
        c->mcp_results == CONFIG_MCP_RESULTS_JSON || t->dialect == RESPONSE_DIALECT_ORS;

    t->calls.tools = &t->request.tools;
    t->calls.form = is_list ? MCP_RESULT_JSON_ARRAY : MCP_RESULT_TEXT;
    t->calls.has_error_objects = c->mcp_errors == CONFIG_MCP_ERRORS_OBJECT;
    t->calls.runs_one_by_one = str_eq(t->request.parallel_tool_calls, STR("false"));
    for (struct output_item *item = response_next_call(&t->response, NULL); item != NULL;
         item = response_next_call(&t->response, item)) {
        const enum hosted_kind kind = output_hosted_kind(item->kind);
        const bool is_shown_whole = kind != HOSTED_NONE && hosted_tool(kind)->show != NULL;
        const struct turn_call call = {
            .kind = turn_call_kind(kind),
            .tool = item->tool == NULL ? NULL : item->tool->mcp,
            .text = buf_str(is_shown_whole ? &item->arguments : &item->text),
            .place = item,
            .call_id = item->call_id.len > 0 ? item->call_id : item->upstream_id,
        };

        if (!turn_calls_add(&t->calls, &call))
            return err_set_no_memory(reterr);
    }
    return 0;
}

enum turn_next turn_run_calls(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    enum turn_next next;

    if (t->calls.first == NULL)
        return TURN_GO;
    next = turn_calls_run(&t->calls);
    if (t->response.broken == ERR_NONE)
        return next;
    response_failure(&t->response, reterr);
    return TURN_FAIL;
}

/* ---- before the model is asked */

enum turn_next turn_announce_approved(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    if (t->request.approved == NULL || t->request.has_trigger)
        return TURN_GO;
    if (t->request.stream)
        turn_begin_stream(t);
    if (!flight_has_client(&t->flight))
        return TURN_WAIT;
    for (const struct approved_call *a = t->request.approved; a != NULL; a = a->next) {
        if (response_approved_call(&t->response, a->tool, a->request->arguments, a->request->id,
                                   turn_out(t)) == NULL) {
            response_failure(&t->response, reterr);
            return TURN_FAIL;
        }
    }
    return TURN_GO;
}
