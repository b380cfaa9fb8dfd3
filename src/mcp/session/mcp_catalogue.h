/* mcp_catalogue.h -- the tools of an MCP server, as a thing that never changes (MCP 9.3).
 *
 * A new listing makes a new catalogue; who began with the old one keeps it. Shared
 * between threads by counted references. All texts point into it. */
#ifndef ANTIPHON_MCP_SESSION_MCP_CATALOGUE_H
#define ANTIPHON_MCP_SESSION_MCP_CATALOGUE_H

#include "mcp/conf/mcp_config.h"
#include "mcp/proto/mcp_listing.h"

struct mcp_catalogue_tool {
    str name;         /* plain, the server's own */
    str description;  /* plain, "" when it has none: mcp_description_write() without a prefix */
    str schema;       /* raw, as listed; {} when absent */
    str model_schema; /* raw, for the model (MCP 10.5) */
    str annotations;  /* raw object, with read_only added (MCP 11.7) */
    bool is_read_only;
    const struct mcp_mirror *mirrors;
};

struct mcp_catalogue {
    str label; /* plain */
    const struct mcp_catalogue_tool *tools;
    size_t n;
};

/* Copies what a configured server may show (MCP 1.3; NULL: all). What no model can be
 * given, MCP 3.5, 10.5, 10.6 and 10.8, the listing has left out already and named to its
 * on_drop. One reference; NULL when out of memory. */
struct mcp_catalogue *mcp_catalogue_new(str label, const struct mcp_listing *listing,
                                        const struct mcp_server_conf *server);

/* Makes a catalogue of the tools of an mcp_list_tools item (raw array): what the model was shown
 * once. NULL when out of memory. What is malformed is left out. A client can have written the item:
 * is_read_only is its word then, not the server's. */
struct mcp_catalogue *mcp_catalogue_from_item(str label, str tools);

/* The same tools under another label: servers of requests are shared by requests that call them
 * differently. One reference; NULL when out of memory. */
struct mcp_catalogue *mcp_catalogue_under(struct mcp_catalogue *c, str label);

/* Any thread; NULL is fine. */
struct mcp_catalogue *mcp_catalogue_ref(struct mcp_catalogue *c);
void mcp_catalogue_unref(struct mcp_catalogue *c);

/* The tool of that name, or NULL. */
const struct mcp_catalogue_tool *mcp_catalogue_find(const struct mcp_catalogue *c, str name);

/* Appends the elements of an mcp_list_tools item's `tools`, without brackets (CONTRACT 3.1:
 * no null). Only those that are allowed; NULL: all. */
void mcp_catalogue_write(const struct mcp_catalogue *c, const struct mcp_filter *allowed,
                         struct buf *out);

#endif
