/* mcp_view.c -- MCP servers and their tools as JSON: what the discovery endpoints and
 * `antiphon mcp --json` say. */
#include "front/mcp_view.h"

#include <assert.h>
#include <stdlib.h>

#include "json/json_write.h"
#include "mcp/hub/mcp_hub.h"

/* Something with a name, to be sorted by that. */
struct named {
    str name;
    const void *thing;
};

static int by_name(const void *a, const void *b)
{
    return str_order(((const struct named *)a)->name, ((const struct named *)b)->name);
}

/* Writes an array with one element for each thing. */
static void write_sorted(struct jw *w, struct named *things, size_t n,
                         void (*write)(struct jw *w, const void *thing))
{
    qsort(things, n, sizeof(*things), by_name);
    jw_array(w);
    for (size_t i = 0; i < n; i++)
        write(w, things[i].thing);
    jw_array_end(w);
}

/* ---- servers */

static void write_server(struct jw *w, const void *thing)
{
    const struct mcp_server_view *s = thing;

    jw_object(w);
    jw_key_string(w, "server_label", s->conf->label);
    jw_key_bool(w, "enabled", s->conf->is_enabled);
    jw_key_bool(w, "available", s->is_available);
    jw_key_bool(w, "required", s->conf->is_required);
    jw_key_string(w, "transport", str_from_c(mcp_transport_name(s->transport)));
    if (s->error.len > 0)
        jw_key_string(w, "error", s->error);
    jw_object_end(w);
}

void mcp_view_servers(const struct mcp_snapshot *snapshot, struct buf *out)
{
    size_t n = snapshot == NULL ? 0 : snapshot->n;
    struct named servers[MCP_CONFIG_MAX_SERVERS];
    struct jw w = jw_to(out);

    for (size_t i = 0; i < n; i++)
        servers[i] = (struct named){snapshot->servers[i].conf->label, &snapshot->servers[i]};
    jw_object(&w);
    jw_key_string(&w, "object", STR("list"));
    jw_key(&w, "data");
    write_sorted(&w, servers, n, write_server);
    jw_object_end(&w);
}

/* ---- tools */

static void write_tool(struct jw *w, const void *thing)
{
    const struct mcp_catalogue_tool *tool = thing;

    jw_object(w);
    jw_key_string(w, "name", tool->name);
    jw_key_string(w, "description", tool->description);
    jw_key_raw(w, "input_schema", tool->schema);
    jw_object_end(w);
}

void mcp_view_tools(str label, const struct mcp_catalogue *tools, struct buf *out)
{
    size_t n = tools == NULL ? 0 : tools->n;
    struct named sorted[MCP_LISTING_MAX_TOOLS];
    struct jw w = jw_to(out);

    assert(n <= MCP_LISTING_MAX_TOOLS);
    for (size_t i = 0; i < n; i++)
        sorted[i] = (struct named){tools->tools[i].name, &tools->tools[i]};
    jw_object(&w);
    jw_key_string(&w, "server_label", label);
    jw_key_bool(&w, "available", true);
    jw_key(&w, "tools");
    write_sorted(&w, sorted, n, write_tool);
    jw_object_end(&w);
}
