/* mcp_approval.c -- lists of names, filters of both, and the verdict. */
#include "mcp/proto/mcp_approval.h"

#include "json/json_read.h"
#include "json/json_text.h"

bool mcp_name_list_has(const struct mcp_name_list *names, str name)
{
    for (size_t i = 0; i < names->n; i++) {
        if (str_eq(names->items[i], name) || str_eq(names->items[i], STR("*")))
            return true;
    }
    return false;
}

static int refuse_policy(struct buf *why, const char *what)
{
    buf_c(why, what);
    return -1;
}

int mcp_name_list_read(str raw, struct arena *a, struct mcp_name_list *ret, struct buf *why)
{
    static const char not_names[] = "must be an array of names";
    struct mcp_name_list names = {.is_given = true};
    str *items = arena_array(a, jr_count(raw), sizeof(*items));
    struct jr j;

    if (jr_type_of(raw) != JR_ARRAY)
        return refuse_policy(why, not_names);
    if (items == NULL)
        return refuse_policy(why, "out of memory");
    jr_init(&j, raw);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j)) {
        if (jr_peek(&j) != JR_STRING)
            return refuse_policy(why, not_names);
        items[names.n] = json_text_copy(a, jr_string(&j));
        if (str_is_none(items[names.n++]))
            return refuse_policy(why, "out of memory");
    }
    names.items = items;
    *ret = names;
    return 0;
}

int mcp_filter_read(str raw, struct arena *a, struct mcp_filter *ret, struct buf *why)
{
    str names = jr_member(raw, STR("tool_names"));
    str read_only = jr_member(raw, STR("read_only"));

    if (jr_type_of(raw) == JR_ARRAY)
        names = raw;
    else if (jr_type_of(raw) != JR_OBJECT)
        return refuse_policy(why, "must be an array of names or an object with \"tool_names\"");
    switch (jr_type_of(read_only)) {
    case JR_NONE:
    case JR_NULL:
        break;
    case JR_TRUE:
        ret->hint = MCP_HINT_READ_ONLY;
        break;
    case JR_FALSE:
        ret->hint = MCP_HINT_NOT_READ_ONLY;
        break;
    default:
        return refuse_policy(why, "\"read_only\" must be true or false");
    }
    if (str_is_none(names) || jr_type_of(names) == JR_NULL)
        return 0;
    if (mcp_name_list_read(names, a, &ret->names, why) == -1) {
        buf_c(why, " in \"tool_names\"");
        return -1;
    }
    return 0;
}

int mcp_approval_read(str raw, struct arena *a, struct mcp_approval *ret, struct buf *why)
{
    static const char valid[] = "must be \"never\", \"always\" or an object of these two names";
    struct mcp_approval policy = {.mode = MCP_APPROVAL_FILTER};
    str always, never;

    if (str_eq(raw, STR("\"never\"")) || str_eq(raw, STR("\"always\""))) {
        policy.mode = str_eq(raw, STR("\"never\"")) ? MCP_APPROVAL_NEVER : MCP_APPROVAL_ALWAYS;
        *ret = policy;
        return 0;
    }
    always = jr_member(raw, STR("always"));
    never = jr_member(raw, STR("never"));
    if (str_is_none(always) && str_is_none(never))
        return refuse_policy(why, valid);
    if (!str_is_none(always) && jr_type_of(always) != JR_NULL &&
        mcp_filter_read(always, a, &policy.always, why) == -1)
        return -1;
    if (!str_is_none(never) && jr_type_of(never) != JR_NULL &&
        mcp_filter_read(never, a, &policy.never, why) == -1)
        return -1;
    *ret = policy;
    return 0;
}

bool mcp_filter_is_none(const struct mcp_filter *f)
{
    return f->names.is_given && f->names.n == 0;
}

bool mcp_filter_has(const struct mcp_filter *f, str tool, bool is_read_only)
{
    if (f->hint == MCP_HINT_ANY && !f->names.is_given)
        return false;
    if (f->hint != MCP_HINT_ANY && is_read_only != (f->hint == MCP_HINT_READ_ONLY))
        return false;
    return !f->names.is_given || mcp_name_list_has(&f->names, tool);
}

/* MCP 15.1: in never: no; in always or in both: yes; in neither: yes. */
static bool asks_for(const struct mcp_approval *p, str tool, bool is_read_only)
{
    if (p->mode == MCP_APPROVAL_NEVER)
        return false;
    if (p->mode == MCP_APPROVAL_FILTER && mcp_filter_has(&p->always, tool, is_read_only))
        return true;
    if (p->mode == MCP_APPROVAL_FILTER && mcp_filter_has(&p->never, tool, is_read_only))
        return false;
    return !mcp_name_list_has(&p->also_never, tool);
}

bool mcp_approval_is_needed(const struct mcp_approval *floor, const struct mcp_approval *asked,
                            str tool, bool is_read_only)
{
    return asks_for(floor, tool, is_read_only) ||
           (asked != NULL && asks_for(asked, tool, is_read_only));
}
