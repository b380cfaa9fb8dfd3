/* turn_search_mcp.h -- a tool of an MCP server that searches for a turn (search_provider mcp). */
#ifndef ANTIPHON_CALL_TURN_SEARCH_MCP_H
#define ANTIPHON_CALL_TURN_SEARCH_MCP_H

#include "search/search.h"

struct worker;

/* Lives as long as the worker; that the server or its tool is not there is told by the call. */
struct searcher turn_search_mcp(struct worker *w);

#endif
