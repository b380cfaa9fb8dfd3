/* mcp_approval.h -- which tools a person must approve first (MCP 1.3, 11.1, 15.1).
 *
 * Configuration and requests write the policy alike: "never", "always", or
 * filters by name and by the tool's readOnlyHint. The configuration's is a
 * floor: a request can ask for more approvals, not for fewer. */
#ifndef ANTIPHON_MCP_PROTO_MCP_APPROVAL_H
#define ANTIPHON_MCP_PROTO_MCP_APPROVAL_H

#include "base/arena.h"
#include "base/buf.h"

/* Exact names of tools; "*" stands for all. */
struct mcp_name_list {
    bool is_given; /* false: nothing was said, which is not an empty list */
    const str *items;
    size_t n;
};

bool mcp_name_list_has(const struct mcp_name_list *names, str name);

enum mcp_hint { MCP_HINT_ANY, MCP_HINT_READ_ONLY, MCP_HINT_NOT_READ_ONLY };

/* A filter has a tool when every condition given is true of it, and one is given. */
struct mcp_filter {
    struct mcp_name_list names;
    enum mcp_hint hint;
};

/* Reads {"tool_names": [...], "read_only": true} or an array of names; *ret is zeroed.
 * Returns as mcp_approval_read(). */
int mcp_filter_read(str raw, struct arena *a, struct mcp_filter *ret, struct buf *why);

/* True of one that was given as an empty list: it means no tools. */
bool mcp_filter_is_none(const struct mcp_filter *f);

bool mcp_filter_has(const struct mcp_filter *f, str tool, bool is_read_only);

enum mcp_approval_mode { MCP_APPROVAL_NEVER, MCP_APPROVAL_ALWAYS, MCP_APPROVAL_FILTER };

/* A zeroed policy is "never". */
struct mcp_approval {
    enum mcp_approval_mode mode;
    struct mcp_filter always, never; /* of MCP_APPROVAL_FILTER */
    struct mcp_name_list also_never; /* alwaysAllow of a configuration; not asked by "never" */
};

/* Reads a value of require_approval, raw and valid JSON; texts go into a.
 * Returns 0, or -1 with what would be valid in *why. */
int mcp_approval_read(str raw, struct arena *a, struct mcp_approval *ret, struct buf *why);

/* Reads an array of strings; returns as mcp_approval_read(). */
int mcp_name_list_read(str raw, struct arena *a, struct mcp_name_list *ret, struct buf *why);

/* True when a person must approve this tool. floor is the configuration's policy; asked is the
 * request's, or NULL when it has none. For a server without configuration pass the request's own,
 * or "always", as floor (MCP 15.1). */
bool mcp_approval_is_needed(const struct mcp_approval *floor, const struct mcp_approval *asked,
                            str tool, bool is_read_only);

#endif
