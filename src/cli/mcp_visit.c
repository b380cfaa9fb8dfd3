/* mcp_visit.c -- start sessions, wait for each to come to something, end them.
 *
 * A session reports on_tools and on_state in whatever order, so a server is looked at
 * after the batch of events in which something was reported. */
#include "cli/mcp_visit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "http/http_client.h"

struct mcp_visit {
    const struct mcp_visit_handler *handler;
    void *arg;
    struct loop *loop;
    struct http_client *client;
    struct mcp_visited *servers;
    size_t n;
    size_t n_unsettled, n_running;
    struct loop_message nothing; /* there is no server to wait for */
    uv_signal_t on_int, on_term;
    bool is_over;
    int status;
};

size_t mcp_visit_count(const struct mcp_visit *v)
{
    return v->n;
}

const struct mcp_visited *mcp_visit_server(const struct mcp_visit *v, size_t i)
{
    return &v->servers[i];
}

/* ---- what sessions report */

/* True when nothing better is to come soon. */
static bool has_come_to_something(const struct mcp_visited *s)
{
    switch (mcp_session_state(s->session)) {
    case MCP_STOPPED:
    case MCP_STARTING:
        return false;
    case MCP_READY:
        return mcp_session_is_available(s->session);
    case MCP_DEGRADED:
    case MCP_BACKOFF:
    case MCP_FAILED:
        break;
    }
    return true;
}

static void look_at_server(void *arg)
{
    struct mcp_visited *s = arg;
    struct mcp_visit *v = s->visit;

    if (v->is_over || s->is_settled || !has_come_to_something(s))
        return;
    s->is_settled = true;
    if (--v->n_unsettled == 0)
        v->handler->on_settled(v, v->arg);
}

static void on_state(void *arg)
{
    struct mcp_visited *s = arg;

    loop_defer(s->visit->loop, &s->look);
}

static void on_tools(void *arg, const struct mcp_listing *listing)
{
    struct mcp_visited *s = arg;

    if (s->tools == NULL)
        s->tools = mcp_catalogue_new(s->conf->label, listing, s->conf);
    on_state(s);
}

static void on_stopped(void *arg)
{
    struct mcp_visited *s = arg;

    s->is_stopped = true;
    if (--s->visit->n_running == 0)
        loop_stop(s->visit->loop);
}

static const struct mcp_session_handler session_handler = {on_state, on_tools, on_stopped};

void mcp_visit_end(struct mcp_visit *v, int status)
{
    v->is_over = true;
    v->status = status;
    for (size_t i = 0; i < v->n; i++) {
        if (v->servers[i].session != NULL)
            mcp_session_stop(v->servers[i].session);
    }
    if (v->n_running == 0)
        loop_stop(v->loop);
}

/* ---- signals */

static void on_signal(uv_signal_t *handle, int signal)
{
    struct mcp_visit *v = handle->data;

    if (v->is_over)
        _exit(128 + signal);
    if (v->handler->on_interrupt != NULL)
        v->handler->on_interrupt(v, v->arg);
    mcp_visit_end(v, 128 + signal);
}

static int watch_signals(struct mcp_visit *v, struct err *reterr)
{
    uv_loop_t *uv = loop_uv(v->loop);

    (void)signal(SIGPIPE, SIG_IGN); /* of a server that has ended, which is its session's */
    v->on_int.data = v->on_term.data = v;
    if (uv_signal_init(uv, &v->on_int) == 0 && uv_signal_init(uv, &v->on_term) == 0 &&
        uv_signal_start(&v->on_int, on_signal, SIGINT) == 0 &&
        uv_signal_start(&v->on_term, on_signal, SIGTERM) == 0)
        return 0;
    err_set(reterr, ERR_INTERNAL, "signals cannot be watched");
    return -1;
}

/* ---- start and end */

static int open_client(struct mcp_visit *v, const struct config *c, struct err *reterr)
{
    const struct http_client_conf conf = {.max_idle_connections = MCP_CONFIG_MAX_SERVERS,
                                          .ca_file = c->ca_file,
                                          .proxy = c->proxy,
                                          .verify_tls = c->tls_verify};

    v->loop = loop_new(reterr);
    if (v->loop == NULL)
        return -1;
    v->client = http_client_new(v->loop, &conf);
    if (v->client != NULL)
        return watch_signals(v, reterr);
    return err_set_no_memory(reterr);
}

static int add_server(struct mcp_visit *v, const struct config *c,
                      const struct mcp_server_conf *server, struct err *reterr)
{
    struct mcp_visited *s = &v->servers[v->n++];
    const struct mcp_session_conf conf = {.server = server,
                                          .client = v->client,
                                          .env = (const char *const *)environ,
                                          .refresh_interval_ms = c->mcp_refresh_interval_ms,
                                          .starts_once = true};

    *s = (struct mcp_visited){.conf = server, .visit = v, .look = {.fn = look_at_server, .arg = s}};
    if (!mcp_server_conf_is_usable(server))
        return 0;
    s->session = mcp_session_new(v->loop, &conf, &session_handler, s, reterr);
    if (s->session == NULL)
        return -1;
    v->n_unsettled++;
    v->n_running++;
    return 0;
}

static int add_servers(struct mcp_visit *v, const struct config *c,
                       const struct mcp_config *servers, str label, struct err *reterr)
{
    v->servers = calloc(servers->n + 1, sizeof(*v->servers));
    if (v->servers == NULL)
        return err_set_no_memory(reterr);
    for (size_t i = 0; i < servers->n; i++) {
        const struct mcp_server_conf *s = &servers->servers[i];

        if ((str_is_none(label) || str_eq(s->label, label)) && add_server(v, c, s, reterr) == -1)
            return -1;
    }
    return 0;
}

static void settle_nothing(void *arg)
{
    struct mcp_visit *v = arg;

    v->handler->on_settled(v, v->arg);
}

static void start_sessions(struct mcp_visit *v)
{
    for (size_t i = 0; i < v->n; i++) {
        if (v->servers[i].session != NULL)
            mcp_session_start(v->servers[i].session);
    }
    v->nothing = (struct loop_message){.fn = settle_nothing, .arg = v};
    if (v->n_running == 0)
        loop_defer(v->loop, &v->nothing);
}

static void visit_fini(struct mcp_visit *v, int status)
{
    for (size_t i = 0; i < v->n; i++) {
        mcp_session_free(v->servers[i].session);
        mcp_catalogue_unref(v->servers[i].tools);
    }
    (void)fflush(stdout);
    if (v->client != NULL && http_client_is_resolving(v->client))
        _exit(status); /* nobody is to wait for a name server that is silent */
    http_client_free(v->client);
    loop_free(v->loop);
    free(v->servers);
}

int mcp_visit_run(const struct config *config, const struct mcp_config *servers, str label,
                  const struct mcp_visit_handler *handler, void *arg, struct err *reterr)
{
    struct mcp_visit v = {.handler = handler, .arg = arg, .status = -1};

    if (open_client(&v, config, reterr) == 0 &&
        add_servers(&v, config, servers, label, reterr) == 0) {
        start_sessions(&v);
        loop_run(v.loop);
    }
    visit_fini(&v, v.status);
    return v.status;
}
