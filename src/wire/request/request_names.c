/* request_names.c -- what a tool was called when it was used, another request may call otherwise:
 * the model is to see one name for one tool. */
#include "wire/request/request_names.h"

#include "conv/tool_name.h"

/* ---- hosted tools */

/* Without the tool a call has the name that it had when it was read. */
void request_name_own_calls(struct responses_request *r)
{
    const struct tool *tools[HOSTED_KIND_COUNT] = {NULL};

    for (const struct tool *t = r->tools.first; t != NULL; t = t->next) {
        if (t->hosted_kind != HOSTED_NONE)
            tools[t->hosted_kind] = t;
    }
    for (struct item *it = r->items.first; it != NULL; it = it->next) {
        if (tools[it->hosted_kind] != NULL)
            it->name = tools[it->hosted_kind]->upstream_name;
    }
}

/* ---- tools of MCP servers */

/* A tool that is gone has the name it would have (MCP 10.1). */
static str default_name(const struct item *it, struct arena *a)
{
    struct buf both = {0};
    str server = STR_NONE;

    buf_append(&both, STR("mcp__"));
    buf_append(&both, it->server_label);
    if (!buf_failed(&both))
        server = arena_dup(a, buf_str(&both));
    buf_fini(&both);
    return str_is_none(server) ? STR_NONE : tool_name_for_upstream(a, server, it->tool_name);
}

int request_name_calls(struct responses_request *r, struct arena *a, struct err *reterr)
{
    request_name_own_calls(r);
    for (struct item *it = r->items.first; it != NULL; it = it->next) {
        const struct tool *t;

        if (it->kind != ITEM_HOSTED_CALL || str_is_none(it->server_label))
            continue;
        t = tool_set_find_mcp(&r->tools, it->server_label, it->tool_name);
        it->name = t != NULL ? t->upstream_name : default_name(it, a);
        if (str_is_none(it->name))
            return err_set_no_memory(reterr);
    }
    return 0;
}
