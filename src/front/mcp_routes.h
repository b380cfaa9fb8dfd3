/* mcp_routes.h -- GET /v1/mcp/servers and /v1/mcp/servers/{label}/tools (MCP 17, CONTRACT 6).
 *
 * Both answer at once, from what the hub knows at this moment. */
#ifndef ANTIPHON_FRONT_MCP_ROUTES_H
#define ANTIPHON_FRONT_MCP_ROUTES_H

#include "front/path_pattern.h"
#include "http/http_server.h"

struct caller;
struct worker;

/* All configured servers; none when there is no file of them. */
void mcp_routes_servers(struct worker *w, struct http_exchange *x, const struct http_request *r,
                        const struct caller *caller);

/* The tools of the one whose label is the first id: 404 for an unknown label, 409 when it is not
 * available, 503 while it has not been listed for the first time. */
void mcp_routes_tools(struct worker *w, struct http_exchange *x, const struct http_request *r,
                      const struct caller *caller, const struct path_ids *ids);

#endif
