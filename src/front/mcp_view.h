/* mcp_view.h -- MCP servers and their tools as JSON (MCP 17, CONTRACT 6). Any thread. */
#ifndef ANTIPHON_FRONT_MCP_VIEW_H
#define ANTIPHON_FRONT_MCP_VIEW_H

#include "base/buf.h"

struct mcp_catalogue;
struct mcp_server_view;
struct mcp_snapshot;

/* Appends the list of all servers, by label. NULL is an empty snapshot. */
void mcp_view_servers(const struct mcp_snapshot *snapshot, struct buf *out);

/* Appends the tools of an available server, by name. NULL is a server without any. */
void mcp_view_tools(str label, const struct mcp_catalogue *tools, struct buf *out);

#endif
