/* mcp_challenge.h -- what a server asks for with 401 or 403: WWW-Authenticate as MCP
 * servers send it (MCP 18.1). Pure. */
#ifndef ANTIPHON_MCP_PROTO_MCP_CHALLENGE_H
#define ANTIPHON_MCP_PROTO_MCP_CHALLENGE_H

#include "base/str.h"

/* Views of the header; what stands in quotes is without them and otherwise as it
 * came. STR_NONE: not said. */
struct mcp_challenge {
    str resource_metadata; /* a URL: where to learn who gives out tokens */
    str scope;             /* what a token has to allow */
    str error;             /* such as "insufficient_scope" */
};

struct mcp_challenge mcp_challenge_read(str header);

#endif
