/* tool_offer.h -- which tools of MCP servers a request gets, by what names, and which of them the client
 * has to approve (MCP 10, 15.1). For all fronts: whose tools they are, the owner says, server by server in
 * the order of the file, so that the model's tools stay in their order (MCP 10.9). */
#ifndef ANTIPHON_CALL_TOOL_OFFER_H
#define ANTIPHON_CALL_TOOL_OFFER_H

#include "mcp/hub/mcp_hub.h"
#include "mcp/hub/mcp_name.h"
#include "wire/tools/tool_set.h"

struct flight;
struct worker;

/* A server, and what the request allows and asks of it. All outlive the offer. */
struct offered_server {
    struct mcp_catalogue *tools;
    const struct mcp_remote *remote;  /* of one that the request brought, else NULL */
    const struct mcp_filter *allowed; /* NULL: all */
    const struct mcp_approval *floor; /* of approvals */
    const struct mcp_approval *asked; /* by the request; NULL: it does not say */
    str description;                  /* of the server, in the request: escaped, or STR_NONE */
};

struct tool_offer {
    struct flight *flight;
    struct mcp_names names;
    struct server_tool *tools; /* mcp: a struct turn_tool, for turn_call.h; in the arena */
    size_t n;
    bool asks_nobody; /* nobody can approve: tools that would need it are left out */
};

/* Begins an offer of at most n_most tools. Returns 0, or -1 with *reterr filled, as all below. */
int tool_offer_init(struct tool_offer *o, struct flight *f, size_t n_most, struct err *reterr);

/* A name that the client has given to a function of its own, plain, is not taken. Before any are added. */
int tool_offer_reserve(struct tool_offer *o, str name, struct err *reterr);

/* Adds the server's tools. One whose names are all taken is left out. */
int tool_offer_add(struct tool_offer *o, const struct offered_server *server, struct err *reterr);

/* ---- servers */

/* True when the server's tools join every request of /v1/responses. */
bool tool_offer_is_injected(const struct worker *w, const struct mcp_server_view *server);

/* While a server starts it is looked at again and again. */
enum { TOOL_OFFER_LOOK_AGAIN_MS = 50 };

/* How long a request waits for a server that joins it unasked: 0 when it is not just being started. One
 * that has crashed is not waited for, since nobody has asked for it. */
uint64_t tool_offer_patience_ms(const struct worker *w, const struct mcp_server_view *server);

/* True when the server has crashed, and may be started before its time because it is wanted. */
bool tool_offer_can_hurry(const struct worker *w, const struct mcp_server_view *server);

#endif
