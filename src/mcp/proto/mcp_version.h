/* mcp_version.h -- the protocol revisions we speak (MCP 2.2 to 2.5). */
#ifndef ANTIPHON_MCP_PROTO_MCP_VERSION_H
#define ANTIPHON_MCP_PROTO_MCP_VERSION_H

#include "base/str.h"

/* Oldest first, so a newer one is greater. */
enum mcp_version {
    MCP_VERSION_NONE,
    MCP_2024_11_05,
    MCP_2025_03_26,
    MCP_2025_06_18,
    MCP_2025_11_25,
    MCP_2026_07_28,
    MCP_VERSION_COUNT,
    MCP_NEWEST_LEGACY = MCP_2025_11_25,
};

/* The prefix of the protocol's own members of _meta. */
#define MCP_META "io.modelcontextprotocol/"

/* Modern: no handshake and no session, every request says who asks. Legacy, all
 * that is older: initialize, then a session. */
static inline bool mcp_version_is_modern(enum mcp_version version)
{
    return version >= MCP_2026_07_28;
}

/* "2025-11-25"; "" for MCP_VERSION_NONE. */
str mcp_version_name(enum mcp_version version);

/* The revision of that name (escaped); MCP_VERSION_NONE when we do not speak it. */
enum mcp_version mcp_version_find(str name);

/* The newest we speak of an array of names (raw JSON), for `supportedVersions`
 * and for `supported` in the data of error -32022; MCP_VERSION_NONE when we
 * speak none, or raw is no array. */
enum mcp_version mcp_version_newest(str raw);

#endif
