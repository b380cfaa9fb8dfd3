/* mcp_report.h -- what `antiphon mcp` found, as text for people. */
#ifndef ANTIPHON_CLI_MCP_REPORT_H
#define ANTIPHON_CLI_MCP_REPORT_H

#include "base/buf.h"

struct mcp_catalogue;
struct mcp_visit;
struct mcp_visited;

/* Appends a table with a line for each server. */
void mcp_report_servers(const struct mcp_visit *v, struct buf *out);

/* Appends a line for each tool: its name and the first line of what it says about itself. */
void mcp_report_tools(const struct mcp_catalogue *tools, struct buf *out);

/* Why a server cannot be used, or "": plain, one line. Points into it. */
str mcp_report_error(const struct mcp_visited *s);

#endif
