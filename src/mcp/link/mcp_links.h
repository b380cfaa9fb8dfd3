/* mcp_links.h -- making a link: one constructor for each way to reach an MCP server.
 *
 * What a link does and reports is told in mcp_link.h. Each constructor starts at once:
 * on_up or on_down follows from the loop. A constructor that returns NULL has filled
 * *reterr and reports nothing. Whoever made a link calls mcp_link_stop() on it and waits
 * for on_closed, also when it is down already. */
#ifndef ANTIPHON_MCP_LINK_MCP_LINKS_H
#define ANTIPHON_MCP_LINK_MCP_LINKS_H

#include "base/secrets.h"
#include "ev/loop.h"
#include "mcp/conf/mcp_config.h"
#include "mcp/link/mcp_link.h"

struct http_client;

/* What a link is made of: all that it points to outlives the link. */
struct mcp_link_conf {
    const struct mcp_server_conf *server;
    struct http_client *client; /* HTTP: of the same loop, guarded for strangers' URLs */
    const char *const *env;     /* stdio: the gateway's own, ends with NULL; or NULL */
    bool is_remote;             /* declared by a request: no redirects, no addresses in messages */

    /* Made with mcp_link_secrets(). The link adds what it learns on its way: session ids
     * and tokens from files. Whoever shows a text of the server takes these out of it. */
    struct secrets *secrets;
};

/* Adds what the configuration of a server keeps secret. */
void mcp_link_secrets(const struct mcp_server_conf *server, struct secrets *out);

/* A child process (MCP 4). */
struct mcp_link *mcp_link_stdio_new(struct loop *loop, const struct mcp_link_conf *conf,
                                    const struct mcp_link_handler *handler, void *arg,
                                    struct err *reterr);

/* Streamable HTTP, legacy and modern (MCP 5, 6): the version of each message decides. */
struct mcp_link *mcp_link_http_new(struct loop *loop, const struct mcp_link_conf *conf,
                                   const struct mcp_link_handler *handler, void *arg,
                                   struct err *reterr);

/* HTTP+SSE of 2024-11-05 (MCP 7). The link is down when no endpoint has come within the startup
 * timeout. */
struct mcp_link *mcp_link_sse_new(struct loop *loop, const struct mcp_link_conf *conf,
                                  const struct mcp_link_handler *handler, void *arg,
                                  struct err *reterr);

#endif
