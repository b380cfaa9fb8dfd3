/* mcp_listing.h -- gather the pages of tools/list into one list (MCP 9.2, 10.8).
 *
 * The caller asks for the first page without a cursor, hands each result to
 * mcp_listing_add() and asks again with the cursor it gets, until there is none.
 * Only then is the list good: a catalogue is replaced as a whole (MCP 9.3).
 *
 *     mcp_listing_init(&l, randomness, is_http && is_modern, on_drop, arg);
 *     while (mcp_listing_add(&l, result, &cursor, &e) == 0 && !str_is_none(cursor)) ...
 */
#ifndef ANTIPHON_MCP_PROTO_MCP_LISTING_H
#define ANTIPHON_MCP_PROTO_MCP_LISTING_H

#include "base/str_map.h"
#include "mcp/proto/mcp_message.h"
#include "mcp/proto/mcp_mirror.h"

enum {
    MCP_LISTING_MAX_PAGES = 100,
    MCP_LISTING_MAX_TOOLS = 1000,
    MCP_LISTING_MAX_BYTES = 16 * 1024 * 1024, /* of all results */
};

struct mcp_listed_tool {
    struct mcp_tool tool;       /* all its str live in the listing's arena */
    str name;                   /* the tool's, as plain text */
    struct mcp_mirror *mirrors; /* NULL when there are none, or they are not wanted */
    struct mcp_listed_tool *next;
};

/* A tool is left out; name is escaped and may be empty. For one line of the log. */
typedef void mcp_on_drop(void *arg, str name, const char *why);

struct mcp_listing {
    struct arena arena;
    struct mcp_listed_tool *first, **last; /* in the server's order */
    size_t n;
    struct mcp_cache cache; /* of the first page */

    /* private */
    struct id_source randomness;
    struct str_map names, cursors;
    size_t n_pages, n_bytes;
    bool wants_mirrors, has_restarted;
    mcp_on_drop *on_drop;
    void *arg;
};

/* on_drop may be NULL. Without wants_mirrors x-mcp-header is not looked at, as
 * over stdio and in the legacy era. The listing must not move afterwards. */
void mcp_listing_init(struct mcp_listing *l, const struct id_source *randomness, bool wants_mirrors,
                      mcp_on_drop *on_drop, void *arg);
void mcp_listing_fini(struct mcp_listing *l);

/* Takes a raw result of tools/list. Returns 0 with the cursor to ask for next
 * (escaped, in the arena), STR_NONE when the list is complete; or -1 when it has
 * to be given up: a malformed page, a cursor that came before, a limit. */
int mcp_listing_add(struct mcp_listing *l, str result, str *ret_cursor, struct err *reterr);

/* The server answered a request for a page with this error. True, once, when
 * it has forgotten the cursor: the listing is empty again and the first page is
 * to be asked for. False: give up. */
bool mcp_listing_restart(struct mcp_listing *l, int64_t error_code);

#endif
