/* mcp_reference.h -- where a server says to go: the Location of a redirect, the endpoint
 * of HTTP+SSE (MCP 5.10, 7.1).
 *
 * A reference (RFC 3986, 4.1) is resolved against the URL it came from, and may not
 * lead to another origin: what we send there carries credentials. Pure. */
#ifndef ANTIPHON_MCP_PROTO_MCP_REFERENCE_H
#define ANTIPHON_MCP_PROTO_MCP_REFERENCE_H

#include "base/buf.h"

enum { MCP_REFERENCE_MAX_BYTES = 8 * 1024 };

enum mcp_reference {
    MCP_REFERENCE_OK,
    MCP_REFERENCE_BAD,     /* nothing that could be meant */
    MCP_REFERENCE_FOREIGN, /* another scheme, host or port, or credentials of its own */
};

/* Appends the URL to out when it is OK: scheme, credentials and host exactly as base has
 * them, no fragment, no "." and ".." in the path. base is http:// or https:// with a host. */
enum mcp_reference mcp_reference_resolve(str base, str reference, struct buf *out);

#endif
