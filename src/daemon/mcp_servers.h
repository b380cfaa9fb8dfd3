/* mcp_servers.h -- the MCP servers of the daemon: their file, and what the hub is told. */
#ifndef ANTIPHON_DAEMON_MCP_SERVERS_H
#define ANTIPHON_DAEMON_MCP_SERVERS_H

#include "config/config.h"
#include "mcp/conf/mcp_config.h"
#include "mcp/hub/mcp_hub.h"

/* Reads the file that mcp_config names. *ret is the caller's reference, or NULL when the
 * key is not given. Returns 0, or -1 with an error among the problems; *ret may be set
 * then as well. A file that only a variable of open-responses-server names may be
 * missing. Blocks. */
int mcp_servers_load(const struct config *c, struct mcp_config **ret,
                     struct config_problems *problems);

/* Reads the file again for a daemon that runs with old (MCP 1.6): what is wrong is logged, and
 * entries with a mistake stay as they were. Returns the caller's reference, or NULL when nothing
 * can be read and all stays as it is. Blocks. */
struct mcp_config *mcp_servers_reload(const struct config *c, struct mcp_config *old);

/* True when there is anything for a hub to do. servers may be NULL. */
bool mcp_servers_need_hub(const struct config *c, const struct mcp_config *servers);

/* The options of the hub; they point into both. */
struct mcp_hub_conf mcp_servers_hub_conf(const struct config *c, struct mcp_config *servers);

/* Appends one line of comment for each server, without secrets. */
void mcp_servers_show(const struct mcp_config *servers, struct buf *out);

#endif
