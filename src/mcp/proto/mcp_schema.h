/* mcp_schema.h -- what a model is told about a tool (MCP 10.5 to 10.7).
 *
 * Lists show a tool's schema as its server wrote it. The model's copy differs in
 * little: some servers refuse a schema without type or properties, and some
 * refuse keywords they do not know. References are never resolved. */
#ifndef ANTIPHON_MCP_PROTO_MCP_SCHEMA_H
#define ANTIPHON_MCP_PROTO_MCP_SCHEMA_H

#include "base/buf.h"
#include "base/err.h"
#include "mcp/proto/mcp_message.h"

enum {
    MCP_SCHEMA_MAX_BYTES = 256 * 1024,
    MCP_SCHEMA_MAX_DEPTH = 64, /* containers inside each other */
    MCP_DESCRIPTION_MAX_BYTES = 16 * 1024,
};

/* Checks whether an inputSchema (raw or STR_NONE) may be offered. Returns 0, or -1 with the
 * reason why its tool is dropped. */
int mcp_schema_check(str schema, struct err *reterr);

/* Appends the model's copy of a schema that passed: without root `$schema` and
 * without any `x-mcp-header`, with `type` and `properties`. */
void mcp_schema_write(str schema, struct buf *out);

/* Appends a tool's description as plain text: server_description (plain or
 * STR_NONE) on a line of its own, then the tool's description, else its title.
 * Control characters are removed but for tabs and line ends. */
void mcp_description_write(const struct mcp_tool *tool, str server_description, struct buf *out);

#endif
