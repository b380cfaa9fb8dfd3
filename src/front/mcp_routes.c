/* mcp_routes.c -- what MCP servers there are and what they offer, over HTTP. */
#include "front/mcp_routes.h"

#include "flight/worker.h"
#include "front/mcp_view.h"
#include "mcp/hub/mcp_hub.h"

static void respond(struct http_exchange *x, const struct buf *body)
{
    const struct http_header type = {STR("content-type"), STR("application/json")};
    struct err e;

    if (!buf_failed(body)) {
        http_exchange_respond(x, 200, &type, 1, buf_str(body));
        return;
    }
    err_set_no_memory(&e);
    http_exchange_respond_error(x, &e, NULL, 0);
}

void mcp_routes_servers(struct worker *w, struct http_exchange *x, const struct http_request *r,
                        const struct caller *caller)
{
    struct mcp_snapshot *snapshot = worker_mcp_servers(w);
    struct buf body = {.limit = 0};

    (void)r;
    (void)caller;
    mcp_view_servers(snapshot, &body);
    respond(x, &body);
    buf_fini(&body);
    mcp_snapshot_unref(snapshot);
}

/* 0 when the tools can be shown, or -1 with *reterr saying why not. */
static int check_server(const struct mcp_server_view *server, str label, struct err *reterr)
{
    str why = server == NULL ? STR("") : server->error;

    if (server == NULL)
        err_set(reterr, ERR_NOT_FOUND, "Unknown MCP server: '%.*s'.", STR_ARG(label));
    else if (server->is_available)
        return 0;
    else if (server->is_pending)
        err_set(reterr, ERR_MCP_PENDING, "MCP server '%.*s' is starting. Please try again.",
                STR_ARG(label));
    else if (!server->conf->is_enabled)
        err_set(reterr, ERR_MCP_UNAVAILABLE, "MCP server '%.*s' is disabled.", STR_ARG(label));
    else
        err_set(reterr, ERR_MCP_UNAVAILABLE, "MCP server '%.*s' is not available%s%.*s",
                STR_ARG(label), why.len > 0 ? ": " : ".", STR_ARG(why));
    return -1;
}

void mcp_routes_tools(struct worker *w, struct http_exchange *x, const struct http_request *r,
                      const struct caller *caller, const struct path_ids *ids)
{
    struct mcp_snapshot *snapshot = worker_mcp_servers(w);
    const struct mcp_server_view *server = NULL;
    struct buf body = {.limit = 0};
    struct err e;

    (void)r;
    (void)caller;
    if (snapshot != NULL)
        server = mcp_snapshot_find(snapshot, ids->v[0]);
    if (check_server(server, ids->v[0], &e) == 0) {
        mcp_view_tools(server->conf->label, server->tools, &body);
        respond(x, &body);
    } else {
        http_exchange_respond_error(x, &e, NULL, 0);
    }
    buf_fini(&body);
    mcp_snapshot_unref(snapshot);
}
