/* mcp_name.h -- the names under which a model sees the tools of MCP servers
 * (MCP 10.1 to 10.4).
 *
 * A name is made of label and tool alone, so that it is the same in the next
 * request, after a restart and whatever else a server offers. It cannot be taken
 * apart again: "__" may stand in a label as well as in a tool. Like all names of
 * tools it is one that tool_name_is_clean(). */
#ifndef ANTIPHON_MCP_HUB_MCP_NAME_H
#define ANTIPHON_MCP_HUB_MCP_NAME_H

#include "base/arena.h"
#include "base/id.h"
#include "base/str_map.h"

/* `mcp__<label>__<tool>` with every other character than [A-Za-z0-9_-] replaced
 * by one '_'. When that changes something or the name is too long, the hashed
 * form. label and tool are plain text; the result lives in the arena. STR_NONE
 * when out of memory. */
str mcp_name(str label, str tool, struct arena *a);

/* The hashed form: the first 52 characters, "__" and 10 digits of the SHA-256 of label and tool. */
str mcp_name_hashed(str label, str tool, struct arena *a);

/* The names of one request. Add the client's functions first, then the tools
 * in file order of their servers. */
struct mcp_names {
    struct str_map taken;
    struct arena *arena;
    bool bare; /* show the server's own names where they can be shown (MCP 10.3) */
};

void mcp_names_init(struct mcp_names *n, struct arena *a, const struct id_source *randomness,
                    bool bare);

/* Keeps a name that a client gave to a function of its own (plain, alive as long
 * as n). Returns 0, or -1 when out of memory. */
int mcp_names_reserve(struct mcp_names *n, str name);

/* Takes a free name for a tool; each tool is added once. Returns 0 with *ret_name
 * in the arena, or STR_NONE in it when even the hashed form is taken; -1 when out
 * of memory. */
int mcp_names_add(struct mcp_names *n, str label, str tool, str *ret_name);

#endif
