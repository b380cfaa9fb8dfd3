/* mcp_listing.c -- page by page, tool by tool. */
#include "mcp/proto/mcp_listing.h"

#include "json/json_text.h"
#include "mcp/proto/jsonrpc.h"
#include "mcp/proto/mcp_schema.h"

static void begin_listing(struct mcp_listing *l)
{
    arena_init(&l->arena, 0);
    str_map_init(&l->names, &l->randomness);
    str_map_init(&l->cursors, &l->randomness);
    l->first = NULL;
    l->last = &l->first;
    l->n = l->n_pages = l->n_bytes = 0;
}

void mcp_listing_init(struct mcp_listing *l, const struct id_source *randomness, bool wants_mirrors,
                      mcp_on_drop *on_drop, void *arg)
{
    *l = (struct mcp_listing){
        .randomness = *randomness, .wants_mirrors = wants_mirrors, .on_drop = on_drop, .arg = arg};
    begin_listing(l);
}

void mcp_listing_fini(struct mcp_listing *l)
{
    arena_fini(&l->arena);
}

static int give_up_listing(struct err *reterr, const char *why)
{
    err_set(reterr, ERR_UPSTREAM_ERROR, "The server %s.", why);
    return -1;
}

static void drop_tool(const struct mcp_listing *l, str name, const char *why)
{
    if (l->on_drop != NULL)
        l->on_drop(l->arg, name, why);
}

/* ---- one tool */

/* Copies a view of the page into the arena; what is absent stays so. */
static bool dup_view(struct arena *a, str *s)
{
    bool was_none = str_is_none(*s);

    *s = arena_dup(a, *s);
    return was_none || !str_is_none(*s);
}

static bool dup_tool(struct arena *a, struct mcp_tool *t)
{
    return dup_view(a, &t->name) && dup_view(a, &t->title) && dup_view(a, &t->description) &&
           dup_view(a, &t->schema) && dup_view(a, &t->annotations);
}

/* True when a model can be given the tool; else *reterr says why not. */
static bool tool_is_usable(const struct mcp_tool *t, struct err *reterr)
{
    if (t->needs_task) {
        err_set(reterr, ERR_UPSTREAM_ERROR, "it runs as a task only, which is not supported");
        return false;
    }
    return mcp_schema_check(t->schema, reterr) == 0;
}

static int add_tool(struct mcp_listing *l, const struct mcp_tool *tool, struct err *reterr)
{
    struct mcp_listed_tool *t = arena_alloc(&l->arena, sizeof(*t));
    struct err why;
    void **slot;

    if (t == NULL)
        return err_set_no_memory(reterr);
    t->tool = *tool;
    if (!tool_is_usable(tool, &why)) {
        drop_tool(l, tool->name, why.msg);
        return 0;
    }
    if (!dup_tool(&l->arena, &t->tool))
        return err_set_no_memory(reterr);
    t->name = json_text_dup(&l->arena, t->tool.name);
    slot = str_is_none(t->name) ? NULL : str_map_slot(&l->names, t->name, &l->arena);
    if (slot == NULL)
        return err_set_no_memory(reterr);
    if (*slot != NULL) {
        drop_tool(l, tool->name, "another tool before it has the same name");
        return 0;
    }
    if (l->wants_mirrors && mcp_mirrors_read(t->tool.schema, &l->arena, &t->mirrors, &why) == -1) {
        if (why.code != ERR_UPSTREAM_ERROR) /* not the tool's fault */
            return err_set_no_memory(reterr);
        drop_tool(l, tool->name, why.msg);
        return 0;
    }
    if (l->n == MCP_LISTING_MAX_TOOLS)
        return give_up_listing(reterr, "has more than 1000 tools");
    *slot = t;
    *l->last = t;
    l->last = &t->next;
    l->n++;
    return 0;
}

/* ---- one page */

static int add_page(struct mcp_listing *l, const struct mcp_tool_page *page, struct err *reterr)
{
    if (l->n_pages++ == 0)
        l->cache = page->cache;
    for (size_t i = 0; i < page->n_nameless; i++)
        drop_tool(l, STR(""), "it has no name");
    for (size_t i = 0; i < page->n; i++) {
        if (add_tool(l, &page->tools[i], reterr) == -1)
            return -1;
    }
    return 0;
}

/* A cursor that comes again would lead in a circle. */
static int next_cursor(struct mcp_listing *l, str cursor, str *ret, struct err *reterr)
{
    void **slot;

    *ret = STR_NONE;
    if (str_is_none(cursor))
        return 0;
    if (l->n_pages == MCP_LISTING_MAX_PAGES)
        return give_up_listing(reterr, "lists its tools on more than 100 pages");
    *ret = arena_dup(&l->arena, cursor);
    slot = str_is_none(*ret) ? NULL : str_map_slot(&l->cursors, *ret, &l->arena);
    if (slot == NULL)
        return err_set_no_memory(reterr);
    if (*slot != NULL)
        return give_up_listing(reterr, "repeats a cursor of tools/list");
    *slot = l;
    return 0;
}

int mcp_listing_add(struct mcp_listing *l, str result, str *ret_cursor, struct err *reterr)
{
    struct arena for_page = {0};
    struct mcp_tool_page page;
    int rc = -1;

    l->n_bytes += result.len;
    if (l->n_bytes > MCP_LISTING_MAX_BYTES)
        return give_up_listing(reterr, "lists more than 16 MiB of tools");
    if (mcp_read_tools(result, &for_page, &page, reterr) == 0 && add_page(l, &page, reterr) == 0)
        rc = next_cursor(l, page.next_cursor, ret_cursor, reterr);
    arena_fini(&for_page);
    return rc;
}

bool mcp_listing_restart(struct mcp_listing *l, int64_t error_code)
{
    if (error_code != JSONRPC_INVALID_PARAMS || l->n_pages == 0 || l->has_restarted)
        return false;
    l->has_restarted = true;
    arena_fini(&l->arena);
    begin_listing(l);
    return true;
}
