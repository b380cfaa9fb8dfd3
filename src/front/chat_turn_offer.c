/* chat_turn_offer.c -- the tools that a chat request gets, and what they are called.
 *
 * Nobody can be asked for an approval here, so tools that need one are not offered. The gateway's own tools
 * are for requests that declare them, which these cannot (CONTRACT 6.2). */
#include "call/tool_offer.h"
#include "front/chat_turn_internal.h"
#include "json/json_copy.h"
#include "json/json_write.h"

/* Does the configuration want the server's tools in this endpoint? */
static bool is_wanted(const struct worker *w, const struct mcp_server_view *server)
{
    return w->config->chat_tools == CONFIG_CHAT_TOOLS_ALL ||
           (w->config->chat_tools == CONFIG_CHAT_TOOLS_INJECTED &&
            tool_offer_is_injected(w, server));
}

static bool is_offered(const struct worker *w, const struct mcp_server_view *server)
{
    return server->is_available && server->tools != NULL && is_wanted(w, server);
}

/* Those of all servers that are wanted and there, approved or not. */
static size_t count_tools(const struct worker *w, const struct mcp_snapshot *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        n += is_offered(w, &s->servers[i]) ? s->servers[i].tools->n : 0;
    return n;
}

void chat_turn_want_servers(const struct worker *w, const struct mcp_snapshot *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (tool_offer_can_hurry(w, &s->servers[i]) && is_wanted(w, &s->servers[i]))
            mcp_hub_want(w->hub, s->servers[i].conf->label);
    }
}

bool chat_turn_has_offer(const struct worker *w, const struct mcp_snapshot *snapshot)
{
    return count_tools(w, snapshot) > 0;
}

uint64_t chat_turn_patience_ms(const struct worker *w, const struct mcp_snapshot *s)
{
    uint64_t longest_ms = 0;

    for (size_t i = 0; i < s->n; i++) {
        const uint64_t ms =
            is_wanted(w, &s->servers[i]) ? tool_offer_patience_ms(w, &s->servers[i]) : 0;

        longest_ms = ms > longest_ms ? ms : longest_ms;
    }
    return longest_ms;
}

static void write_tool(const struct server_tool *tool, struct buf *out)
{
    struct jw w = {.out = out, .comma = out->len > 0};

    jw_object(&w);
    jw_key_string(&w, "type", STR("function"));
    jw_key(&w, "function");
    jw_object(&w);
    jw_key_string(&w, "name", tool->upstream_name);
    if (tool->description.len > 0)
        jw_key_string(&w, "description", tool->description);
    json_copy_key_value(&w, "parameters", tool->parameters);
    jw_object_end(&w);
    jw_object_end(&w);
}

static int gather_tools(struct chat_turn *t, struct tool_offer *o, struct err *reterr)
{
    const struct mcp_snapshot *s = t->snapshot;

    if (tool_offer_init(o, &t->flight, count_tools(t->flight.worker, s), reterr) == -1)
        return -1;
    o->asks_nobody = true;
    for (size_t i = 0; i < t->request.n_names; i++) {
        if (tool_offer_reserve(o, t->request.names[i], reterr) == -1)
            return -1;
    }
    for (size_t i = 0; i < s->n; i++) {
        const struct mcp_server_view *view = &s->servers[i];
        const struct offered_server server = {
            .tools = view->tools, .floor = &view->conf->approval, .description = STR_NONE};

        if (is_offered(t->flight.worker, view) && tool_offer_add(o, &server, reterr) == -1)
            return -1;
    }
    return 0;
}

bool chat_turn_offer(struct chat_turn *t)
{
    struct tool_offer o;
    struct err e;
    str *names;

    if (gather_tools(t, &o, &e) == -1)
        return false;
    names = arena_array(&t->flight.arena, o.n + 1, sizeof(*names));
    for (size_t i = 0; i < o.n && names != NULL; i++) {
        names[i] = o.tools[i].upstream_name;
        write_tool(&o.tools[i], &t->offer);
    }
    t->tools = o.tools;
    t->names = (struct chat_loop_tools){
        .names = names,
        .n = o.n,
        .answers_all =
            t->flight.worker->config->chat_unknown_tools == CONFIG_CHAT_UNKNOWN_TOOLS_ERROR,
    };
    return names != NULL && o.n > 0 && !buf_failed(&t->offer);
}
