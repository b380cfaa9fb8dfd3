/* mcp_fetch.h -- one HTTP request to an MCP server, as all of them are made (MCP 5.10,
 * 5.11, 16.4, 16.6, 18.1).
 *
 *     configured fields, the bearer token, what this request needs besides
 *       -> redirected: again, to where the server says, if that is the same origin
 *       -> 401, and the token's file holds another token by now: again with that
 *       -> on_head, on_body*, on_end
 *
 * The token's file is read on the loop, when the site is made and after a 401: it is
 * the operator's, small and local, and asking the thread pool would take longer.
 *
 * Everything runs on the loop's thread. */
#ifndef ANTIPHON_MCP_LINK_MCP_FETCH_H
#define ANTIPHON_MCP_LINK_MCP_FETCH_H

#include "ev/log_rate.h"
#include "mcp/link/mcp_links.h"
#include "mcp/proto/mcp_answer.h"

/* A connection that takes longer than this leads to nobody who listens. */
enum { MCP_CONNECT_TIMEOUT_MS = 10 * 1000 };

/* A server as all requests to it see it. */
struct mcp_site {
    struct loop *loop;
    struct mcp_link_conf conf;
    struct buf token;        /* from bearer_token_file */
    unsigned n_tokens;       /* how many different ones that file has held */
    struct log_rate refused; /* lines of the log about 401 and 403 */
};

void mcp_site_init(struct mcp_site *site, struct loop *loop, const struct mcp_link_conf *conf);
void mcp_site_fini(struct mcp_site *site);

/* Adds the id of a session to the secrets, in place of the one before. */
void mcp_site_set_session(struct mcp_site *site, str id);

/* Header fields of one request; zeroed: none. */
struct mcp_fields {
    struct buf text; /* name NUL value NUL ... */
    size_t n;
};

/* name and value may not hold a NUL or a line end. */
void mcp_fields_add(struct mcp_fields *f, str name, str value);

/* Adds the context of the trace that a message belongs to, if it does. */
void mcp_fields_add_context(struct mcp_fields *f, const struct mcp_link_message *m);

struct mcp_fetch;

struct mcp_fetch_conf {
    const char *method;
    str url;                   /* copied */
    struct mcp_fields *fields; /* taken, also if it fails */
    str body;                  /* copied */
    uint64_t total_timeout_ms; /* 0: none */
    bool is_unique;            /* see http_call_conf */
};

/* Views die when the function returns. */
struct mcp_fetch_head {
    int status; /* any but those that led to another request */
    enum mcp_body body;
    str content_type; /* or STR_NONE */
    str session_id;   /* Mcp-Session-Id, or STR_NONE */
};

struct mcp_fetch_handler {
    void (*on_head)(void *arg, const struct mcp_fetch_head *head);
    void (*on_body)(void *arg, str bytes);
    /* Called once, last; NULL when the answer has come whole. The fetch is gone when it returns. */
    void (*on_end)(void *arg, const struct mcp_link_failure *failure);
};

/* Starts a request, or returns NULL with *reterr filled. No report comes from inside. */
struct mcp_fetch *mcp_fetch_start(struct mcp_site *site, const struct mcp_fetch_conf *conf,
                                  const struct mcp_fetch_handler *handler, void *arg,
                                  struct err *reterr);

/* Cancels a fetch: no report follows. May be called inside any report but on_end. NULL is fine. */
void mcp_fetch_cancel(struct mcp_fetch *f);

/* The URL that the answer comes from, after redirects; and WWW-Authenticate of a 401 or 403,
 * without secrets, or STR_NONE. */
str mcp_fetch_url(const struct mcp_fetch *f);
str mcp_fetch_challenge(const struct mcp_fetch *f);

#endif
