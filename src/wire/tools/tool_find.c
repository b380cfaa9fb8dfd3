/* tool_find.c -- look a tool up in a set that is complete. */
#include "wire/tools/tool_set.h"

#include "json/json_text.h"

static bool is_mcp_as(const struct tool *t, str label, str name)
{
    return t->kind == TOOL_MCP && json_text_eq(t->server_label, label) &&
           json_text_eq(t->name, name);
}

const struct tool *tool_set_find_mcp(const struct tool_set *set, str server_label, str name)
{
    struct buf plain_label = {0}, plain_name = {0};
    const struct tool *t = set->first;

    json_text_decode(server_label, &plain_label);
    json_text_decode(name, &plain_name);
    while (t != NULL && !is_mcp_as(t, buf_str(&plain_label), buf_str(&plain_name)))
        t = t->next;
    if (buf_failed(&plain_label) || buf_failed(&plain_name))
        t = NULL;
    buf_fini(&plain_label);
    buf_fini(&plain_name);
    return t;
}

const struct tool *tool_set_find(const struct tool_set *set, str upstream_name)
{
    for (const struct tool *t = set->first; t != NULL; t = t->next) {
        if (str_eq(t->upstream_name, upstream_name))
            return t;
    }
    return NULL;
}

const struct tool *tool_set_find_hosted(const struct tool_set *set, enum hosted_kind kind)
{
    const struct tool *t = set->first;

    while (t != NULL && t->hosted_kind != kind)
        t = t->next;
    return t;
}
