/* response_call_item.c -- what a call of the upstream is, and the item made of it. */
#include "json/json_text.h"
#include "response/response_hosted.h"
#include "response/response_internal.h"

/* ---- what is called */

bool response_call_has_name(const struct response_call *c)
{
    return c->name.len > 0 || c->builtin != BUILTIN_NONE;
}

static const struct tool *find_tool(struct response *r, str escaped_name)
{
    struct buf plain = {.limit = 0};
    const struct tool *tool = NULL;

    json_text_decode(escaped_name, &plain);
    if (buf_failed(&plain))
        response_break(r, ERR_INTERNAL);
    else if (r->conf.tools != NULL)
        tool = tool_set_find(r->conf.tools, buf_str(&plain));
    buf_fini(&plain);
    return tool;
}

/* NULL: it is none of the tools that the request has. */
static const struct tool *tool_of(struct response *r, const struct response_call *c)
{
    if (c->builtin != BUILTIN_NONE)
        return r->conf.tools == NULL
                   ? NULL
                   : tool_set_find_hosted(r->conf.tools, builtin_tool_hosted(c->builtin));
    return c->server_label.len > 0 ? NULL : find_tool(r, buf_str(&c->name));
}

/* Under allowed_tools everything that was not sent is kept from the client, names the model
 * made up included (CONTRACT 1.4). */
static bool is_forbidden(const struct response *r, const struct response_call *c)
{
    const struct tool_set *set = r->conf.tools;

    return set != NULL && set->is_restricted && (c->tool == NULL || !c->tool->sent);
}

/* Servers take a choice as a wish: some do not understand its form and let the model choose, and
 * one that was to look something up must not delete something instead. */
static bool is_left(const struct response *r, const struct response_call *c)
{
    const struct tool_choice *choice = r->plan.choice;

    switch (choice == NULL ? TOOL_CHOICE_NOT_GIVEN : choice->mode) {
    case TOOL_CHOICE_NONE:
        return false;
    case TOOL_CHOICE_TOOL:
    case TOOL_CHOICE_SERVER:
        return c->tool != NULL && tool_choice_leaves(choice, c->tool);
    default:
        return true;
    }
}

/* Where there is to be one call: another has come before it. */
static bool is_further(const struct response *r, const struct response_call *c)
{
    for (size_t i = 0; r->conf.single_call && i < r->n_calls; i++) {
        const struct response_call *other = &r->calls[i];

        if (other != c && !other->suppressed && response_call_has_name(other))
            return true;
    }
    return false;
}

enum output_kind response_call_kind(const struct response_call *c)
{
    const struct tool *tool = c->tool;

    if (c->builtin != BUILTIN_NONE)
        return output_hosted_call(builtin_tool_hosted(c->builtin));
    if (c->server_label.len > 0)
        return OUTPUT_MCP_CALL;
    switch (tool == NULL ? TOOL_FUNCTION : tool->kind) {
    case TOOL_CUSTOM:
        return OUTPUT_CUSTOM_TOOL_CALL;
    case TOOL_LOCAL_SHELL:
        return OUTPUT_LOCAL_SHELL_CALL;
    case TOOL_SHELL:
        return OUTPUT_SHELL_CALL;
    case TOOL_APPLY_PATCH:
        return OUTPUT_APPLY_PATCH_CALL;
    case TOOL_CLIENT_SEARCH:
        return OUTPUT_CLIENT_SEARCH_CALL;
    case TOOL_HOSTED:
        return output_hosted_call(tool->hosted_kind);
    case TOOL_MCP:
        return tool->needs_approval ? OUTPUT_MCP_APPROVAL_REQUEST : OUTPUT_MCP_CALL;
    case TOOL_FUNCTION:
        break;
    }
    return OUTPUT_FUNCTION_CALL;
}

void response_call_learn(struct response *r, struct response_call *c, const struct delta *d)
{
    if (!str_eq(c->call_id, d->call_id))
        c->call_id = arena_dup(&r->arena, d->call_id);
    if (d->server_label.len > 0 && !str_eq(c->server_label, d->server_label))
        c->server_label = arena_dup(&r->arena, d->server_label);
    if (c->name.len == 0 || !str_eq(buf_str(&c->name), d->name)) {
        buf_reset(&c->name);
        buf_append(&c->name, d->name);
        c->builtin = d->builtin;
        c->tool = tool_of(r, c);
        c->suppressed =
            r->is_last_round || is_forbidden(r, c) || !is_left(r, c) || is_further(r, c);
    }
    c->is_old_form = d->is_old_form;
    if (buf_failed(&c->name) || str_is_none(c->call_id) || str_is_none(c->server_label))
        response_break(r, ERR_INTERNAL);
}

/* ---- its item */

/* CONTRACT 8: the upstream's id when it has one of at most 64 characters that
 * is new in this response, else a new one. */
static str choose_call_id(struct response *r, str upstream_id)
{
    bool usable = upstream_id.len > 0 && json_text_count(upstream_id) <= ID_BYTES;
    struct id id;

    for (const struct output_item *item = r->first; usable && item != NULL; item = item->next)
        usable = !str_eq(item->call_id, upstream_id);
    if (usable)
        return upstream_id;
    id = id_make(r->conf.ids, "call_", ID_CALL_CHARS);
    return arena_dup(&r->arena, id_str(&id));
}

/* By which the model knows a call that the gateway runs, unless another call of the same round
 * has it: then, and without one, it is the item's. */
static str own_upstream_id(const struct response *r, const struct response_call *c)
{
    const struct output_item *item = *r->round_begin;

    while (item != NULL && !str_eq(item->upstream_id, c->call_id) &&
           !str_eq(item->call_id, c->call_id))
        item = item->next;
    return c->call_id.len > 0 && item == NULL ? c->call_id : STR_NONE;
}

/* Past max_tool_calls the client sees nothing of a hosted call. A search for tools has no effect but that
 * the model knows more of them, and does not count. */
static struct output_item *new_item(struct response *r, enum output_kind kind, struct buf *out)
{
    const bool counts = output_is_hosted_call(kind) && kind != OUTPUT_TOOL_SEARCH_CALL;

    if (counts && response_has_used_up(r))
        return response_add_hidden(r, kind);
    r->n_hosted += counts;
    response_close_finished_call(r, out);
    return response_add_item(r, kind, out);
}

bool response_call_make_item(struct response *r, struct response_call *c, struct buf *out)
{
    enum output_kind kind = response_call_kind(c);
    str call_id = choose_call_id(r, c->call_id);
    str upstream_id = output_is_hosted_call(kind) ? own_upstream_id(r, c) : STR_NONE;
    str name = c->tool == NULL ? arena_dup(&r->arena, buf_str(&c->name)) : c->tool->name;
    struct output_item *item;

    if (str_is_none(call_id) || str_is_none(name))
        response_break(r, ERR_INTERNAL);
    item = new_item(r, kind, out);
    if (item == NULL)
        return false;
    item->name = name;
    item->name_space = c->tool == NULL ? STR_NONE : c->tool->name_space;
    item->call_id = call_id;
    item->upstream_id = upstream_id;
    item->tool = c->tool;
    item->builtin = c->builtin;
    item->is_old_form = c->is_old_form;
    item->server_label = c->tool == NULL ? c->server_label : c->tool->server_label;
    if (kind == OUTPUT_CODE_INTERPRETER_CALL)
        item->container_id = r->conf.container_id.len == 0 ? STR("auto") : r->conf.container_id;
    c->item = item;
    return true;
}
