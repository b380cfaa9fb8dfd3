/* tool_mcp.h -- one tool of type mcp, as a request declares it (CONTRACT 1.5; MCP 11.1, 11.2). */
#ifndef ANTIPHON_WIRE_TOOLS_TOOL_MCP_H
#define ANTIPHON_WIRE_TOOLS_TOOL_MCP_H

#include "wire/tools/tool_fields.h"
#include "wire/tools/tool_set.h"

/* Checks all that can be known without asking the server or the configuration, so that
 * a mistake is found before anything runs. Fills *ret but for is_inherited, with views
 * of the fields and texts in the arena. Returns 0, or -1 with *reterr filled. */
int tool_mcp_read(const struct tool_fields *f, const struct path *at, struct arena *a,
                  struct mcp_declaration *ret, struct err *reterr);

#endif
