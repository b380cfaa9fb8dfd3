/* mcp_hub_server.c -- one server as the hub has it.
 *
 *     start -> calls ... calls -> leave -> (its calls end) -> stopped -> swept away
 *
 * A server that leaves is not found by new calls. Its session is stopped when the last
 * call has ended, so a new file of servers disturbs nobody (MCP 1.6). */
#include "mcp/hub/mcp_hub_internal.h"

#include "ev/log.h"

/* ---- reports of the session */

static void tell_owner(struct hub_server *s)
{
    if (s->is_leaving)
        return;
    if (s->remote != NULL)
        hub_remote_changed(s->remote);
    else
        hub_server_changed(s);
}

static void on_state(void *arg)
{
    struct hub_server *s = arg;
    enum mcp_state state = mcp_session_state(s->session);

    s->has_tried |= state == MCP_DEGRADED || state == MCP_BACKOFF || state == MCP_FAILED;
    tell_owner(s);
}

static void on_tools(void *arg, const struct mcp_listing *listing)
{
    struct hub_server *s = arg;
    struct mcp_catalogue *tools =
        mcp_catalogue_new(s->conf->label, listing, s->remote != NULL ? NULL : s->conf);

    if (tools == NULL) {
        log_line(LOG_ERROR, "mcp_tools_failed",
                 (struct log_field[]){LOG_STR("server", s->conf->label),
                                      LOG_STR("error", STR("out of memory")), LOG_END});
        return;
    }
    mcp_catalogue_unref(s->tools);
    s->tools = tools;
    s->has_tried = true;
    if (s->remote != NULL)
        hub_remote_listed(s->remote, &listing->cache);
    tell_owner(s);
}

static void on_stopped(void *arg)
{
    struct hub_server *s = arg;

    s->is_stopped = true;
    hub_sweep_soon(s->hub);
}

/* ---- start and end */

bool hub_server_start(struct hub_server *s, struct http_client *client)
{
    static const struct mcp_session_handler handler = {on_state, on_tools, on_stopped};
    const struct mcp_session_conf conf = {
        .server = s->conf,
        .client = client,
        .env = s->hub->conf.env,
        .refresh_interval_ms = s->hub->conf.refresh_interval_ms,
        .is_remote = s->remote != NULL,
        .starts_once = s->remote != NULL,
    };
    struct err e;

    for (size_t i = 0; i < s->conf->n_secrets; i++)
        secrets_add(&s->secrets, s->conf->secrets[i]);
    s->session = mcp_session_new(s->hub->loop, &conf, &handler, s, &e);
    if (s->session == NULL) {
        log_line(LOG_ERROR, "mcp_start_failed",
                 (struct log_field[]){LOG_STR("server", s->conf->label),
                                      LOG_STR("error", str_from_c(e.msg)), LOG_END});
        return false;
    }
    mcp_session_start(s->session);
    return true;
}

static void stop_server(struct hub_server *s)
{
    if (s->is_stopping)
        return;
    s->is_stopping = true;
    if (s->session != NULL)
        mcp_session_stop(s->session);
    else
        on_stopped(s);
}

void hub_server_leave(struct hub_server *s, bool at_once)
{
    s->is_leaving = true;
    s->next = s->hub->leaving;
    s->hub->leaving = s;
    if (at_once || s->n_calls == 0)
        stop_server(s);
}

void hub_server_fini(struct hub_server *s)
{
    mcp_session_free(s->session);
    mcp_catalogue_unref(s->tools);
    secrets_fini(&s->secrets);
    loop_timer_free(s->awaited);
    mcp_config_unref(s->table);
}

/* ---- questions and calls */

bool hub_server_is_available(const struct hub_server *s)
{
    return s->session != NULL && s->tools != NULL && mcp_session_is_available(s->session);
}

void hub_server_hurry(struct hub_server *s)
{
    if (s->session == NULL || !mcp_session_hurry(s->session))
        return;
    s->is_restarted = true;
    s->has_tried = false; /* requests wait for it, as for one that starts for the first time */
    tell_owner(s);
}

void hub_server_call_begins(struct hub_server *s)
{
    s->n_calls++;
}

void hub_server_call_ended(struct hub_server *s)
{
    s->n_calls--;
    if (s->is_leaving && s->n_calls == 0)
        stop_server(s);
    else if (!s->is_leaving && s->remote != NULL)
        hub_remote_touch(s->remote);
}
