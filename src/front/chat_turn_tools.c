/* chat_turn_tools.c -- the calls of a round become a part of the history: call/turn_call.h has them run,
 * and their results go to the model in the order in which it made them. */
#include <stdlib.h>

#include "front/chat_turn_internal.h"
#include "json/json_text.h"
#include "mcp/proto/mcp_request.h"
#include "mcp/proto/mcp_result.h"

void chat_turn_close_call(struct turn_call *c)
{
    const struct turn_call_result *r = &c->result;
    const str output = buf_str(&r->output), error = buf_str(&r->error);
    struct buf *text = &((struct chat_turn_result *)c->place)->text;

    if (r->is_failed && error.len >= 2) { /* a text, in quotes */
        buf_c(text, "Error: ");
        buf_append(text, str_from(error.p + 1, error.len - 2));
    } else {
        buf_append(text, mcp_result_for_model(output));
    }
    ((struct chat_turn *)c->of->flight)->n_failed += r->is_failed;
    text->failed = text->failed || buf_failed(&r->output) || buf_failed(&r->error);
}

/* ---- calls that are not run */

/* The words of open-responses-server. */
static void write_unknown(str name, struct buf *out)
{
    json_text_escape(STR("{\"error\":\"Tool '"), out);
    json_text_escape(name, out);
    json_text_escape(STR("' is not a registered MCP tool.\"}"), out);
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
    json_text_escape(t->request.forced, out);
    buf_char(out, '.');
}

/* ---- all of the round */

/* Arguments that are no object are not told to the model again. */
static bool is_broken(str escaped)
{
    struct buf text = {.limit = 0};
    str arguments;
    struct err e;
    bool is_bad;

    json_text_decode(escaped, &text);
    is_bad = mcp_arguments(buf_str(&text), &arguments, &e) == -1;
    buf_fini(&text);
    return is_bad;
}

/* Has the i-th call of the round run, if it is one that can be run. */
static bool add_call(struct chat_turn *t, size_t i, struct chat_turn_result *result)
{
    const struct chat_loop_call_view call = chat_loop_said_call(&t->merge.said, i);
    const size_t tool = chat_loop_tools_find(&t->names, call.name);

    *result = (struct chat_turn_result){.id = call.id};
    t->merge.said.calls[i].is_broken = is_broken(call.arguments);
    t->n_broken_calls += t->merge.said.calls[i].is_broken ? 1 : 0;
    if (is_not_forced(t, call.name)) {
        write_not_forced(t, &result->text);
        return true;
    }
    if (tool == t->names.n) {
        write_unknown(call.name, &result->text);
        return true;
    }
    return turn_calls_add(&t->calls, &(struct turn_call){.kind = &turn_call_mcp,
                                                         .tool = t->tools[tool].mcp,
                                                         .text = call.arguments,
                                                         .call_id = call.id,
                                                         .place = result});
}

int chat_turn_gather_calls(void *arg, struct err *reterr)
{
    struct chat_turn *t = arg;
    const struct chat_loop_said *said = &t->merge.said;
    bool ok;

    t->results = calloc(said->n, sizeof(*t->results));
    ok = t->results != NULL;
    for (size_t i = 0; i < said->n && ok; i++) {
        if (said->calls[i].owner == CHAT_CALL_OURS)
            ok = add_call(t, i, &t->results[t->n_results++]);
    }
    t->n_made += t->n_results;
    if (ok)
        return 0;
    return err_set_no_memory(reterr);
}

enum turn_next chat_turn_run_calls(void *arg, struct err *reterr)
{
    struct chat_turn *t = arg;
    const enum turn_next next = turn_calls_run(&t->calls);

    (void)reterr;
    return next == TURN_GO && t->is_mixed ? TURN_END : next;
}

void chat_turn_forget_results(struct chat_turn *t)
{
    for (size_t i = 0; i < t->n_results; i++)
        buf_fini(&t->results[i].text);
    free(t->results);
    t->results = NULL;
    t->n_results = 0;
}

void chat_turn_remember(struct chat_turn *t)
{
    const struct model_profile profile = chat_turn_profile(t);
    const struct chat_loop_message_conf conf = {
        .empty_content = profile.empty_content,
        .omits_reasoning = profile.reasoning_field == CHAT_NO_REASONING,
    };
    struct buf *out = &t->history;

    if (out->len > 0)
        buf_char(out, ',');
    chat_loop_said_write(&t->merge.said, &conf, out);
    for (size_t i = 0; i < t->n_results; i++) {
        buf_char(out, ',');
        chat_loop_result_write(t->results[i].id, buf_str(&t->results[i].text), out);
        out->failed = out->failed || buf_failed(&t->results[i].text);
    }
    chat_turn_forget_results(t);
}
