/* mcp_servers.c -- the file of MCP servers at start, on SIGHUP and in --check-config. */
#include "daemon/mcp_servers.h"

#include <string.h>
#include <unistd.h>

#include "access/problems_log.h"
#include "ev/log.h"
#include "json/json_text.h"
#include "net/address_public.h"

/* ---- the file */

/* open-responses-server runs without a file; who moves over may have only its variable. */
static bool is_named_by_ors(const struct config *c)
{
    const struct config_place *place = &c->places[CONFIG_KEY_mcp_config];

    return place->source == CONFIG_FROM_VARIABLE && place->name != NULL &&
           strcmp(place->name, "MCP_SERVERS_CONFIG_PATH") == 0;
}

static struct mcp_config *load_servers(const struct config *c, bool must_exist,
                                       struct config_problems *problems)
{
    const struct mcp_config_defaults defaults = {.call_timeout_ms = c->mcp_call_timeout_ms,
                                                 .result_bytes = c->max_mcp_result_bytes};

    return mcp_config_load(c->mcp_config, must_exist, (const char *const *)environ, &defaults,
                           problems);
}

int mcp_servers_load(const struct config *c, struct mcp_config **ret,
                     struct config_problems *problems)
{
    size_t n_before = problems->n_errors;

    *ret = c->mcp_config == NULL ? NULL : load_servers(c, !is_named_by_ors(c), problems);
    return problems->n_errors == n_before ? 0 : -1;
}

/* ---- reading it again */

struct mcp_config *mcp_servers_reload(const struct config *c, struct mcp_config *old)
{
    struct config_problems problems = {.n_kept = 0};
    struct mcp_config *now =
        load_servers(c, true, &problems); /* nobody removes a file to say "none" */

    problems_log(&problems);
    config_problems_fini(&problems);
    if (now == NULL) {
        log_msg(LOG_ERROR, "%s is of no use, so the MCP servers stay as they are", c->mcp_config);
        return NULL;
    }
    mcp_config_keep_usable(now, old);
    return now;
}

/* ---- the hub */

bool mcp_servers_need_hub(const struct config *c, const struct mcp_config *servers)
{
    return servers != NULL || c->mcp_remote != CONFIG_MCP_REMOTE_OFF;
}

struct mcp_hub_conf mcp_servers_hub_conf(const struct config *c, struct mcp_config *servers)
{
    return (struct mcp_hub_conf){
        .servers = servers,
        .env = (const char *const *)environ,
        .ca_file = c->ca_file,
        .proxy = c->proxy,
        .verify_tls = c->tls_verify,
        .may_connect = c->mcp_remote == CONFIG_MCP_REMOTE_ANY ? NULL : address_is_public,
        .refresh_interval_ms = c->mcp_refresh_interval_ms,
        .remote_timeout_ms = c->mcp_remote_timeout_ms,
        .remote_idle_ms = c->mcp_remote_idle_ms,
        .call_timeout_ms = c->mcp_call_timeout_ms,
        .remote_message_bytes = c->max_mcp_message_bytes,
        .remote_result_bytes = c->max_mcp_result_bytes,
        .max_remote = c->mcp_remote_connections,
    };
}

/* ---- --check-config */

static const char *state_note(const struct mcp_server_conf *s)
{
    if (s->problem != NULL)
        return ", off because of its mistake";
    if (!s->is_enabled)
        return ", disabled";
    return s->is_required ? ", required" : "";
}

void mcp_servers_show(const struct mcp_config *servers, struct buf *out)
{
    if (servers == NULL)
        return;
    buf_c(out, servers->n == 0 ? "// no MCP servers\n" : "// MCP servers\n");
    for (size_t i = 0; i < servers->n; i++) {
        const struct mcp_server_conf *s = &servers->servers[i];

        buf_c(out, "//   ");
        json_text_escape(s->label, out); /* a line end must not end the comment */
        buf_c(out, ": ");
        buf_c(out, mcp_transport_name(s->transport));
        buf_c(out, s->shown[0] == '\0' ? "" : ", ");
        json_text_escape(str_from_c(s->shown), out);
        buf_c(out, state_note(s));
        buf_char(out, '\n');
    }
}
