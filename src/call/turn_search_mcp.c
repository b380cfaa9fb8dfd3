/* turn_search_mcp.c -- search_mcp names server and tool; the query is its argument, and the result
 * is read as what it looks like. */
#include "call/turn_search_mcp.h"

#include <stdlib.h>

#include "flight/worker.h"
#include "json/json_write.h"
#include "mcp/hub/mcp_hub.h"

struct mcp_search {
    const struct worker *worker;
    struct mcp_task *task;
    struct search_query query; /* what it filters by; views live as long as the turn */
    struct search_handler handler;
    void *arg;
};

/* "LABEL/TOOL" */
static void split_name(const char *name, str *ret_label, str *ret_tool)
{
    str all = str_from_c(name);

    ret_label->p = all.p;
    ret_label->len = str_find_char(all, '/');
    *ret_tool = str_skip(all, ret_label->len + 1);
}

static const struct mcp_catalogue_tool *find_tool(const struct mcp_catalogue *tools, str name)
{
    for (size_t i = 0; tools != NULL && i < tools->n; i++) {
        if (str_eq(tools->tools[i].name, name))
            return &tools->tools[i];
    }
    return NULL;
}

static void fail_search(const struct mcp_search *s, str error)
{
    struct buf text = {.limit = 0};

    buf_append(&text, error);
    s->handler.on_results(s->arg, buf_cstr(&text), NULL);
    buf_fini(&text);
}

static void on_done(void *arg, const struct mcp_outcome *o)
{
    struct mcp_search *s = arg;
    struct search_results results = {.v = NULL};
    struct arena scratch = {.limit = 0};

    if (o->is_failed)
        fail_search(s, o->error);
    else if (search_results_read(o->output, &s->query, &scratch, &results) == -1)
        s->handler.on_results(s->arg, "The gateway ran out of memory.", NULL);
    else
        s->handler.on_results(s->arg, NULL, &results);
    arena_fini(&scratch);
    free(s);
}

static void write_arguments(const struct config *c, str query, struct buf *out)
{
    struct jw name = jw_to(out), value = jw_to(out);

    buf_char(out, '{');
    jw_string(&name, str_from_c(c->search_mcp_argument));
    buf_char(out, ':');
    jw_string(&value, query);
    buf_char(out, '}');
}

static struct mcp_task *call_tool(struct mcp_search *s, const struct mcp_server_view *server,
                                  str tool, struct err *reterr)
{
    static const struct mcp_done_handler handler = {on_done};
    const struct worker *w = s->worker;
    struct buf arguments = {.limit = 0};
    struct mcp_task *task = NULL;
    struct mcp_hub_call call = {.catalogue = server == NULL ? NULL : server->tools};

    call.tool = find_tool(call.catalogue, tool);
    if (call.catalogue == NULL || call.tool == NULL) {
        err_set(reterr, ERR_INTERNAL, "The search tool is not available just now.");
        return NULL;
    }
    write_arguments(w->config, s->query.query, &arguments);
    call.label = call.catalogue->label;
    call.arguments = buf_str(&arguments);
    call.form = MCP_RESULT_TEXT;
    if (!buf_failed(&arguments))
        task = mcp_hub_call(w->hub, w->loop, &call, &handler, s, reterr);
    buf_fini(&arguments);
    return task;
}

static void *start_search(void *self, const struct search_query *query,
                          const struct search_handler *handler, void *arg, struct err *reterr)
{
    const struct worker *w = self;
    struct mcp_snapshot *servers = worker_mcp_servers(w);
    struct mcp_search *s = calloc(1, sizeof(*s));
    str label, tool;

    split_name(w->config->search_mcp, &label, &tool);
    err_set_no_memory(reterr);
    if (s != NULL) {
        *s = (struct mcp_search){.worker = w, .query = *query, .handler = *handler, .arg = arg};
        s->task =
            call_tool(s, servers == NULL ? NULL : mcp_snapshot_find(servers, label), tool, reterr);
        s->query.query = STR("");
    }
    mcp_snapshot_unref(servers);
    if (s != NULL && s->task == NULL) {
        free(s);
        return NULL;
    }
    return s;
}

static void cancel_search(void *self, void *call)
{
    struct mcp_search *s = call;

    (void)self;
    mcp_task_cancel(s->task);
    free(s);
}

struct searcher turn_search_mcp(struct worker *w)
{
    return (struct searcher){.self = w, .start = start_search, .cancel = cancel_search};
}
