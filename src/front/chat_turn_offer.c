/* chat_turn_offer.c -- the tools that a chat request gets, and what they are called.
 *
 * Nobody can be asked for an approval here, so tools that need one are not offered. */
#include "ev/log.h"
#include "front/chat_turn_internal.h"
#include "mcp/hub/mcp_name.h"
#include "json/json_copy.h"
#include "json/json_write.h"

/* Does the configuration want the server's tools in this endpoint? */
static bool is_wanted(const struct config *c, const struct mcp_server_view *server)
{
    bool is_injected =
        mcp_server_conf_injects(server->conf, c->mcp_inject == CONFIG_MCP_INJECT_ALWAYS);

    return c->chat_tools == CONFIG_CHAT_TOOLS_ALL ||
           (c->chat_tools == CONFIG_CHAT_TOOLS_INJECTED && is_injected);
}

static bool is_offered(const struct config *c, const struct mcp_server_view *server)
{
    return server->is_available && server->tools != NULL && is_wanted(c, server);
}

static bool needs_approval(const struct mcp_server_view *server,
                           const struct mcp_catalogue_tool *tool)
{
    return mcp_approval_is_needed(&server->conf->approval, NULL, tool->name, tool->is_read_only);
}

/* Those of all servers that are wanted and there, approved or not. */
static size_t count_tools(const struct config *c, const struct mcp_snapshot *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        n += is_offered(c, &s->servers[i]) ? s->servers[i].tools->n : 0;
    return n;
}

void chat_turn_want_servers(const struct worker *w, const struct mcp_snapshot *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (loop_now_ms(w->loop) >= s->servers[i].hurry_ms && is_wanted(w->config, &s->servers[i]))
            mcp_hub_want(w->hub, s->servers[i].conf->label);
    }
}

bool chat_turn_has_offer(const struct worker *w, const struct mcp_snapshot *snapshot)
{
    return count_tools(w->config, snapshot) > 0;
}

static void log_left_out(const struct chat_turn *t, str label, str tool, const char *why)
{
    if (log_is_on(LOG_DEBUG))
        log_line(LOG_DEBUG, "chat_tool_left_out",
                 (struct log_field[]){LOG_STR("request_id", t->flight.request_id),
                                      LOG_STR("server", label), LOG_STR("tool", tool),
                                      LOG_STR("reason", str_from_c(why)), LOG_END});
}

static void write_tool(str name, const struct mcp_catalogue_tool *tool, struct buf *out)
{
    struct jw w = {.out = out, .comma = out->len > 0};

    jw_object(&w);
    jw_key_string(&w, "type", STR("function"));
    jw_key(&w, "function");
    jw_object(&w);
    jw_key_string(&w, "name", name);
    if (tool->description.len > 0)
        jw_key_string(&w, "description", tool->description);
    json_copy_key_value(&w, "parameters", tool->model_schema);
    jw_object_end(&w);
    jw_object_end(&w);
}

static int offer_tool(struct chat_turn *t, struct mcp_names *names, str *shown,
                      const struct mcp_server_view *server, const struct mcp_catalogue_tool *tool)
{
    str name;

    if (mcp_names_add(names, server->conf->label, tool->name, &name) == -1)
        return -1;
    if (str_is_none(name)) {
        log_left_out(t, server->conf->label, tool->name, "its name is taken");
        return 0;
    }
    t->tools[t->names.n] = (struct turn_tool){.catalogue = server->tools, .tool = tool};
    shown[t->names.n++] = name;
    write_tool(name, tool, &t->offer);
    return 0;
}

static int offer_server(struct chat_turn *t, struct mcp_names *names, str *shown,
                        const struct mcp_server_view *server)
{
    for (size_t i = 0; i < server->tools->n; i++) {
        const struct mcp_catalogue_tool *tool = &server->tools->tools[i];

        if (needs_approval(server, tool))
            log_left_out(t, server->conf->label, tool->name, "it needs an approval");
        else if (offer_tool(t, names, shown, server, tool) == -1)
            return -1;
    }
    return 0;
}

size_t chat_turn_offer(struct chat_turn *t)
{
    const struct config *c = t->flight.worker->config;
    size_t n = count_tools(c, t->snapshot);
    str *shown = arena_array(&t->flight.arena, n, sizeof(*shown));
    struct mcp_names names;

    t->tools = arena_array(&t->flight.arena, n, sizeof(*t->tools));
    if (n == 0 || shown == NULL || t->tools == NULL)
        return 0;
    mcp_names_init(&names, &t->flight.arena, &t->flight.worker->ids,
                   c->mcp_tool_names == CONFIG_MCP_TOOL_NAMES_BARE);
    for (size_t i = 0; i < t->request.n_names; i++) {
        if (mcp_names_reserve(&names, t->request.names[i]) == -1)
            return 0;
    }
    for (size_t i = 0; i < t->snapshot->n; i++) {
        if (is_offered(c, &t->snapshot->servers[i]) &&
            offer_server(t, &names, shown, &t->snapshot->servers[i]) == -1)
            return 0;
    }
    t->names.names = shown;
    t->names.answers_all = c->chat_unknown_tools == CONFIG_CHAT_UNKNOWN_TOOLS_ERROR;
    return buf_failed(&t->offer) ? 0 : t->names.n;
}
