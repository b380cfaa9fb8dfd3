/* mcp_name.h -- the names under which a model sees the tools of MCP servers
 * (MCP 10.1 to 10.4).
 *
 * A name is made of label and tool alone, so that it is the same in the next
 * request, after a restart and whatever else a server offers. It leads back to
 * its tool by a table: "__" may stand in a label as well as in a tool. */
#ifndef ANTIPHON_MCP_MCP_NAME_H
#define ANTIPHON_MCP_MCP_NAME_H

#include "base/arena.h"
#include "base/id.h"
#include "base/str_map.h"

enum { MCP_NAME_MAX = 64, MCP_SHA256_BYTES = 32 };

/* SHA-256 of bytes; false when it cannot be had, as when memory is out. */
typedef bool mcp_sha256(str bytes, unsigned char hash[MCP_SHA256_BYTES]);

/* `mcp__<label>__<tool>` with every other character than [A-Za-z0-9_-] replaced
 * by one '_'. When that changes something or the name is longer than
 * MCP_NAME_MAX, the hashed form. label and tool are plain text; the result lives
 * in the arena. STR_NONE when out of memory. */
str mcp_name(str label, str tool, mcp_sha256 *sha256, struct arena *a);

/* Its first 52 characters, "__" and 10 digits of the hash of label and tool. */
str mcp_name_hashed(str label, str tool, mcp_sha256 *sha256, struct arena *a);

/* The names of one request. Add the client's functions first, then the tools
 * in file order of their servers. */
struct mcp_names {
    struct str_map taken;
    struct arena *arena;
    mcp_sha256 *sha256;
    bool bare; /* show the server's own names where they can be shown (MCP 10.3) */
};

void mcp_names_init(struct mcp_names *n, struct arena *a, const struct id_source *randomness,
                    mcp_sha256 *sha256, bool bare);

/* Keeps a name that a client gave to a function of its own (plain, alive as long
 * as n). Returns 0, or -1 when out of memory. */
int mcp_names_reserve(struct mcp_names *n, str name);

/* Finds a free name for a tool and keeps value, which must not be NULL, for it.
 * Each tool is added once. Returns 0 with *ret_name in the arena, or STR_NONE in
 * it when even the hashed form is taken; -1 when out of memory. */
int mcp_names_add(struct mcp_names *n, str label, str tool, void *value, str *ret_name);

/* The value kept for a name; NULL when it is the client's or nobody's. */
void *mcp_names_find(const struct mcp_names *n, str name);

#endif
