/* request_names.c -- what a tool was called when it was used, another request may call otherwise:
 * the model is to see one name for one tool. */
#include "wire/request/request_names.h"

#include "conv/reject.h"
#include "wire/tools/tool_found.h"

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

/* What a search has found of servers the model was told by the names that hold here. */
static int name_found(struct responses_request *r, struct item *it, struct arena *a,
                      struct err *reterr)
{
    const str text = tool_found_text(&r->tools, it->tools, a);

    if (str_is_none(text))
        return err_set_no_memory(reterr);
    it->content = (struct content){0};
    return content_from_text(text, a, &it->content, reterr);
}

int request_name_calls(struct responses_request *r, struct arena *a, struct err *reterr)
{
    request_name_own_calls(r);
    for (struct item *it = r->items.first; it != NULL; it = it->next) {
        const struct tool *t;

        if (it->kind == ITEM_FOUND_TOOLS && name_found(r, it, a, reterr) == -1)
            return -1;
        if (it->kind != ITEM_HOSTED_CALL || str_is_none(it->server_label))
            continue;
        t = tool_set_find_mcp(&r->tools, it->server_label, it->tool_name);
        /* One that is gone has the name that it would have. */
        it->name = t != NULL ? t->upstream_name
                             : item_server_tool_name(it->server_label, it->tool_name, a);
        if (str_is_none(it->name))
            return err_set_no_memory(reterr);
    }
    return 0;
}
