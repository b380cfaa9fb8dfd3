/* mcp_mirror.h -- arguments that a modern HTTP server wants in headers as well
 * (MCP 6.2, 6.3).
 *
 * A property of a tool's inputSchema that has `x-mcp-header: "Region"` is sent
 * as `Mcp-Param-Region` too, for proxies that route by it. Over stdio nothing of
 * this is used, nor is a tool dropped for it. */
#ifndef ANTIPHON_MCP_PROTO_MCP_MIRROR_H
#define ANTIPHON_MCP_PROTO_MCP_MIRROR_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

struct mcp_step; /* a name on the way from the root to the property */

struct mcp_mirror {
    const struct mcp_step *path;
    str header; /* "Mcp-Param-Region" */
    struct mcp_mirror *next;
};

/* Reads the annotations of a schema that mcp_schema_check() let pass, into the
 * arena. *ret is NULL when there is none. Returns 0, or -1 with the reason why
 * the tool must be dropped. */
int mcp_mirrors_read(str schema, struct arena *a, struct mcp_mirror **ret, struct err *reterr);

/* The header of one mirror for these arguments (raw, an object), appended to
 * value. False, and nothing appended, when it is to be left out. */
bool mcp_mirror_value(const struct mcp_mirror *m, str arguments, struct buf *value);

/* Appends plain text in the form it takes in Mcp-Param-* and Mcp-Name: as it is,
 * or in base64 between marks when a header could not carry it. */
void mcp_header_value(str text, struct buf *out);

#endif
