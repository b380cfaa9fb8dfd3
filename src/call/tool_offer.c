/* tool_offer.c -- names, descriptions and approvals of the servers' tools that a model gets. */
#include "call/tool_offer.h"

#include "call/turn_call.h"
#include "ev/log.h"
#include "flight/worker.h"
#include "json/json_text.h"

int tool_offer_init(struct tool_offer *o, struct flight *f, size_t n_most, struct err *reterr)
{
    const struct worker *w = f->worker;

    *o = (struct tool_offer){.flight = f};
    o->tools = arena_array(&f->arena, n_most + 1, sizeof(*o->tools));
    if (o->tools == NULL)
        return err_set_no_memory(reterr);
    mcp_names_init(&o->names, &f->arena, &w->ids,
                   w->config->mcp_tool_names == CONFIG_MCP_TOOL_NAMES_BARE);
    return 0;
}

int tool_offer_reserve(struct tool_offer *o, str name, struct err *reterr)
{
    return mcp_names_reserve(&o->names, name) == -1 ? err_set_no_memory(reterr) : 0;
}

static void log_left_out(const struct tool_offer *o, str label, str tool, const char *why)
{
    if (log_is_on(LOG_DEBUG))
        log_line(LOG_DEBUG, "tool_left_out",
                 (struct log_field[]){LOG_STR("request_id", o->flight->request_id),
                                      LOG_STR("server", label), LOG_STR("tool", tool),
                                      LOG_STR("reason", str_from_c(why)), LOG_END});
}

/* The request's words about a server stand before those of its tools. */
static str describe_tool(const struct tool_offer *o, str server, const struct mcp_catalogue_tool *m)
{
    struct buf text = {.limit = 0};
    str described;

    if (str_is_none(server))
        return m->description;
    json_text_decode(server, &text);
    if (m->description.len > 0)
        buf_char(&text, '\n');
    buf_append(&text, m->description);
    described = buf_failed(&text) ? STR_NONE : arena_dup(&o->flight->arena, buf_str(&text));
    buf_fini(&text);
    return described;
}

static int add_tool(struct tool_offer *o, const struct offered_server *s,
                    const struct mcp_catalogue_tool *m, struct err *reterr)
{
    const bool needs_approval =
        mcp_approval_is_needed(s->floor, s->asked, m->name, m->is_read_only);
    struct server_tool *tool = &o->tools[o->n];
    struct turn_tool *hosted;

    if (needs_approval && o->asks_nobody) {
        log_left_out(o, s->tools->label, m->name, "it needs an approval");
        return 0;
    }
    hosted = arena_alloc(&o->flight->arena, sizeof(*hosted));
    if (hosted == NULL ||
        mcp_names_add(&o->names, s->tools->label, m->name, &tool->upstream_name) == -1)
        return err_set_no_memory(reterr);
    if (str_is_none(tool->upstream_name)) {
        log_left_out(o, s->tools->label, m->name, "its name is taken");
        return 0;
    }
    *hosted = (struct turn_tool){s->tools, m, s->remote};
    tool->server_label = s->tools->label;
    tool->name = m->name;
    tool->description = describe_tool(o, s->description, m);
    tool->parameters = m->model_schema;
    tool->needs_approval = needs_approval;
    tool->mcp = hosted;
    o->n++;
    return str_is_none(tool->description) ? err_set_no_memory(reterr) : 0;
}

int tool_offer_add(struct tool_offer *o, const struct offered_server *s, struct err *reterr)
{
    for (size_t i = 0; i < s->tools->n; i++) {
        const struct mcp_catalogue_tool *tool = &s->tools->tools[i];

        if ((s->allowed == NULL || mcp_filter_has(s->allowed, tool->name, tool->is_read_only)) &&
            add_tool(o, s, tool, reterr) == -1)
            return -1;
    }
    return 0;
}

/* ---- servers */

bool tool_offer_is_injected(const struct worker *w, const struct mcp_server_view *server)
{
    return mcp_server_conf_injects(server->conf, w->config->mcp_inject == CONFIG_MCP_INJECT_ALWAYS);
}

uint64_t tool_offer_patience_ms(const struct worker *w, const struct mcp_server_view *server)
{
    return server->is_starting && tool_offer_is_injected(w, server) ? w->config->mcp_inject_wait_ms
                                                                    : 0;
}

bool tool_offer_can_hurry(const struct worker *w, const struct mcp_server_view *server)
{
    return loop_now_ms(w->loop) >= server->hurry_ms;
}
