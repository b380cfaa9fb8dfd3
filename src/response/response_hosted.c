/* response_hosted.c -- what the gateway does itself: listings, calls and what they came to.
 *
 * A call that waits for its outcome is an item that is in progress although no
 * delta can reach it any more; the rounds know nothing of it. */
#include "response/response_hosted.h"

#include "json/json_text.h"
#include "response/response_internal.h"

/* What the model is told of calls past max_tool_calls (CONTRACT 1.5). */
static const str limit_reached = STR_INIT("Tool call limit reached.");

static bool is_open_call(const struct output_item *item)
{
    return output_is_hosted_call(item->kind) && item->status == OUTPUT_IN_PROGRESS;
}

/* Keeps a copy in the response's arena, unless it is STR_NONE. */
static bool keep_text(struct response *r, str s, str *ret)
{
    str copy;

    if (str_is_none(s))
        return true;
    copy = response_claim(r, s.len) ? arena_dup(&r->arena, s) : STR_NONE;
    if (str_is_none(copy)) {
        response_break(r, ERR_INTERNAL);
        return false;
    }
    *ret = copy;
    return true;
}

/* ---- listings */

struct output_item *response_begin_listing(struct response *r, str server_label, struct buf *out)
{
    struct output_item *item = response_add_item(r, OUTPUT_MCP_LIST_TOOLS, out);

    if (item == NULL)
        return NULL;
    item->server_label = server_label;
    response_announce_item(r, item, out);
    return item;
}

bool response_end_listing(struct response *r, struct output_item *item, str tools, struct buf *out)
{
    if (!response_claim(r, tools.len))
        return false;
    buf_append(&item->text, tools);
    if (buf_failed(&item->text)) {
        response_break(r, ERR_INTERNAL);
        return false;
    }
    response_close_item(r, item, OUTPUT_COMPLETED, out);
    return true;
}

bool response_fail_listing(struct response *r, struct output_item *item, str error, struct buf *out)
{
    if (!keep_text(r, error, &item->error))
        return false;
    response_close_item(r, item, OUTPUT_FAILED, out);
    return true;
}

static str escaped_message(struct response *r, const struct err *e)
{
    struct buf text = {.limit = 0};
    str kept = STR_NONE;

    json_text_escape(str_from_c(e->msg), &text);
    if (!buf_failed(&text))
        kept = arena_dup(&r->arena, buf_str(&text));
    buf_fini(&text);
    return str_is_none(kept) ? STR("The gateway ran out of memory.") : kept;
}

void response_fail_listings(struct response *r, const struct err *e, struct buf *out)
{
    for (struct output_item *item = r->first; item != NULL; item = item->next) {
        if (item->kind != OUTPUT_MCP_LIST_TOOLS || item->status != OUTPUT_IN_PROGRESS)
            continue;
        item->error = escaped_message(r, e);
        response_close_item(r, item, OUTPUT_FAILED, out);
    }
}

/* ---- calls */

bool response_has_used_up(const struct response *r)
{
    return r->conf.max_tool_calls != 0 && r->n_hosted >= r->conf.max_tool_calls;
}

struct output_item *response_approved_call(struct response *r, const struct tool *tool,
                                           str arguments, str approval_request_id, struct buf *out)
{
    struct buf text = {.limit = 0};
    struct output_item *item;

    buf_append(&text, arguments);
    if (buf_failed(&text))
        response_break(r, ERR_INTERNAL);
    item = response_claim(r, text.len) ? response_add_item(r, OUTPUT_MCP_CALL, out) : NULL;
    if (item == NULL) {
        buf_fini(&text);
        return NULL;
    }
    r->n_hosted++;
    item->tool = tool;
    item->name = tool->name;
    item->server_label = tool->server_label;
    item->approval_request_id = approval_request_id;
    item->text = text;
    response_announce_item(r, item, out);
    return item;
}

void response_await_outcome(struct output_item *item)
{
    if (!item->is_hidden)
        return;
    item->output = limit_reached;
    item->status = OUTPUT_COMPLETED;
}

struct output_item *response_next_call(const struct response *r, const struct output_item *last)
{
    struct output_item *item = last == NULL ? r->first : last->next;

    while (item != NULL && !is_open_call(item))
        item = item->next;
    return item;
}

static bool keep_outcome(struct response *r, struct output_item *item,
                         const struct hosted_outcome *o)
{
    if (item->kind == OUTPUT_MCP_CALL)
        return o->is_failed ? keep_text(r, o->error, &item->error)
                            : keep_text(r, o->output, &item->output);
    return keep_text(r, o->output, &item->output) &&
           (!r->conf.shows_code_outputs || keep_text(r, o->outputs, &item->outputs)) &&
           (o->is_failed || keep_text(r, o->shown, &item->shown));
}

/* What a search for tools has found, behind all that the round has brought. */
static bool show_found(struct response *r, str tools, struct buf *out)
{
    struct output_item *item = response_add_item(r, OUTPUT_TOOL_SEARCH_OUTPUT, out);

    if (item == NULL)
        return false;
    response_announce_item(r, item, out);
    if (!response_claim(r, tools.len))
        return false;
    buf_append(&item->text, tools);
    if (buf_failed(&item->text)) {
        response_break(r, ERR_INTERNAL);
        return false;
    }
    response_close_item(r, item, OUTPUT_COMPLETED, out);
    return true;
}

bool response_call_ended(struct response *r, struct output_item *item,
                         const struct hosted_outcome *outcome, struct buf *out)
{
    const bool is_search = item->kind == OUTPUT_TOOL_SEARCH_CALL; /* the API knows no failed ones */
    const enum output_status failed = is_search ? OUTPUT_INCOMPLETE : OUTPUT_FAILED;

    if (!keep_outcome(r, item, outcome))
        return false;
    response_close_item(r, item, outcome->is_failed ? failed : OUTPUT_COMPLETED, out);
    return !is_search || outcome->is_failed || show_found(r, outcome->tools, out);
}

void response_run_hosted(struct response *r, struct buf *out)
{
    for (struct output_item *item = r->first; item != NULL; item = item->next) {
        if (!is_open_call(item))
            continue;
        item->is_running = true;
        response_emit_state(r, output_hosted_row(item->kind)->running, item, out);
    }
}

void response_cut_hosted(struct response *r, struct buf *out)
{
    for (struct output_item *item = r->first; item != NULL; item = item->next) {
        if (is_open_call(item))
            response_close_item(r, item, output_hosted_row(item->kind)->cut, out);
    }
}

/* ---- rounds */

bool response_goes_on(const struct response *r)
{
    return r->last.goes_on && !r->broken;
}

void response_begin_round(struct response *r, const struct response_plan *plan)
{
    response_drop_withheld(r);
    r->plan = *plan;
    r->has_enough = false;
}

bool response_lacks_answer(const struct response *r)
{
    return r->last.lacks_answer && !r->broken;
}

void response_begin_last_round(struct response *r)
{
    r->is_last_round = true;
}
