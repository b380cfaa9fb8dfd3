/* item_mcp.c -- items of MCP servers: calls, lists of tools, approvals (CONTRACT 2.1).
 *
 * A call has the tool's own name until the tools of the request are known; only they tell
 * what the model calls it. */
#include "conv/item_internal.h"

#include "conv/fields.h"
#include "json/json_read.h"
#include "json/json_text.h"

/* A member that is a text, if it is there. */
static int read_text(const struct item_reading *r, str raw, str member, str *ret)
{
    struct path at = path_member(r->at, member);

    if (str_is_none(raw))
        return 0;
    if (field_check(raw, FIELD_TEXT, &at, r->reterr) == -1)
        return -1;
    *ret = field_text(raw);
    return 0;
}

/* Which tool of which server. */
static int set_tool(const struct item_reading *r)
{
    if (item_need(r, r->f.name, STR("name")) == -1 || item_set_name(r, r->f.name) == -1)
        return -1;
    r->item->tool_name = r->f.name;
    return read_text(r, r->f.server_label, STR("server_label"), &r->item->server_label);
}

/* ---- calls */

/* The gateway writes {type, content: [{type, text}]} for what a tool says and {type, code,
 * message} for all else; other services have texts and other objects. */
static int collect_error(const struct item_reading *r)
{
    struct path at = path_member(r->at, STR("error"));
    str parts = jr_member(r->f.error, STR("content"));
    str message = jr_member_string(r->f.error, STR("message"));
    struct content *c = &r->item->content;

    if (jr_type_of(parts) == JR_ARRAY)
        return content_collect(parts, STR_NONE, STR("text"), r->arena, c, r->reterr);
    if (!str_is_none(message))
        return content_from_text(message, r->arena, c, r->reterr);
    return content_parse_output(r->f.error, &at, r->options, r->arena, c, r->reterr);
}

static int set_error_output(const struct item_reading *r)
{
    struct content *c = &r->item->content;

    r->item->has_output = true;
    if (collect_error(r) == -1)
        return -1;
    if (c->first == NULL && content_from_text(STR("[no content]"), r->arena, c, r->reterr) == -1)
        return -1;
    return content_join(c, STR("Error: "), STR("\\n"), r->arena, r->reterr);
}

/* A tool that has nothing to say leaves a text that is empty in the item, which models
 * take for a mistake (MCP 13.2). */
static int set_output(const struct item_reading *r)
{
    struct path at = path_member(r->at, STR("output"));
    struct content *c = &r->item->content;

    r->item->has_output = !str_is_none(r->f.output);
    r->item->is_partial = !r->item->has_output && r->f.id.len > 0;
    if (str_eq(r->f.output, STR("\"\"")))
        return content_from_text(STR("[no content]"), r->arena, c, r->reterr);
    return content_parse_output(r->f.output, &at, r->options, r->arena, c, r->reterr);
}

int item_read_mcp_call(const struct item_reading *r)
{
    r->item->approval_request_id = r->f.approval_request_id;
    if (!item_hosted_call_ended(r))
        return 0;
    if (set_tool(r) == -1 || item_set_call_id(r) == -1 || item_set_arguments(r) == -1)
        return -1;
    if (str_is_none(r->f.output) && !str_is_none(r->f.error))
        return set_error_output(r);
    return set_output(r);
}

/* ---- lists */

/* One that failed, or does not say of whom it is, is none. */
int item_read_tool_list(const struct item_reading *r)
{
    if (read_text(r, r->f.server_label, STR("server_label"), &r->item->server_label) == -1)
        return -1;
    r->item->tools = r->f.tools;
    if (str_is_none(r->item->server_label) || str_is_none(r->f.tools) || !str_is_none(r->f.error))
        r->item->kind = ITEM_IGNORED;
    return 0;
}

/* ---- approvals */

int item_read_approval_request(const struct item_reading *r)
{
    if (item_need(r, r->f.server_label, STR("server_label")) == -1 || set_tool(r) == -1)
        return -1;
    return item_set_arguments(r);
}

int item_read_approval_response(const struct item_reading *r)
{
    struct path approve_at = path_member(r->at, STR("approve"));

    r->item->id = r->f.approval_request_id;
    if (item_need(r, r->item->id, STR("approval_request_id")) == -1 ||
        item_need(r, r->f.approve, STR("approve")) == -1 ||
        field_check(r->f.approve, FIELD_BOOLEAN, &approve_at, r->reterr) == -1)
        return -1;
    r->item->approves = jr_type_of(r->f.approve) == JR_TRUE;
    return read_text(r, r->f.reason, STR("reason"), &r->item->reason);
}
