/* mcp_http.h -- what the files of the Streamable HTTP link share.
 *
 *     mcp_link_http.c      the link: up, stop, the session
 *     mcp_http_post.c      one message and its answer
 *     mcp_http_stream.c    the stream of a legacy server's own messages */
#ifndef ANTIPHON_MCP_LINK_MCP_HTTP_H
#define ANTIPHON_MCP_LINK_MCP_HTTP_H

#include "mcp/link/mcp_exchange.h"

enum mcp_http_state { MCP_HTTP_STARTING, MCP_HTTP_UP, MCP_HTTP_STOPPING };

struct mcp_http {
    struct mcp_link link; /* first */
    struct mcp_site site;
    struct loop_timer *timer; /* for on_up, and for the end */
    enum mcp_http_state state;
    struct mcp_exchange *exchanges; /* all of them */

    struct buf session;       /* its id; empty: there is none */
    enum mcp_version version; /* that the session was agreed on in */

    struct mcp_exchange *stream; /* one of the exchanges, or NULL */
    bool has_no_stream;          /* the server has none for this session */
};

static inline struct mcp_http *mcp_http_of(struct mcp_link *link)
{
    return (struct mcp_http *)link;
}

/* ---- mcp_link_http.c */

/* Adds the session and its version. */
void mcp_http_session_fields(const struct mcp_http *h, struct mcp_fields *f);

/* Sends a GET for the events after the answer's last. */
int mcp_http_get(struct mcp_exchange *x, struct err *reterr);

/* Hands a message on, and settles what it answers. */
void mcp_http_deliver(struct mcp_exchange *x, const struct jsonrpc_message *m);

/* Drops an exchange, or fails it. A link that stops is waiting for that. */
void mcp_http_drop(struct mcp_exchange *x);
void mcp_http_fail(struct mcp_exchange *x, const struct mcp_link_failure *why);

/* Takes the session id of the answer to initialize, or STR_NONE. False when no id may look so. */
bool mcp_http_take_session(struct mcp_http *h, str id);

/* ---- mcp_http_post.c */

bool mcp_http_post(struct mcp_http *h, const struct mcp_link_message *m, struct err *reterr);

/* ---- mcp_http_stream.c */

/* Opens the stream unless there is one, or cannot be. */
void mcp_http_listen(struct mcp_http *h);

#endif
