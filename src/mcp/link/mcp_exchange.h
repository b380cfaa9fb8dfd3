/* mcp_exchange.h -- a request over HTTP and the messages that answer it, as long as it
 * takes: several fetches, when an answer that broke off is resumed.
 *
 * This is what all exchanges have in common: a list that they are in, a timer, an answer that is
 * cut into messages, and that one may be dropped from inside its own reports. What an exchange is
 * about is known to its kind:
 *
 *     mcp_http_post.c      a message to a Streamable HTTP server
 *     mcp_http_stream.c    what such a server says of its own accord
 *     mcp_link_sse.c       both of HTTP+SSE
 *
 * Everything runs on the loop's thread. */
#ifndef ANTIPHON_MCP_LINK_MCP_EXCHANGE_H
#define ANTIPHON_MCP_LINK_MCP_EXCHANGE_H

#include "mcp/link/mcp_fetch.h"

struct mcp_exchange;

/* Any of these functions may drop the exchange. */
struct mcp_exchange_kind {
    /* x->status is set. The body is not read until mcp_answer_begin(). */
    void (*on_head)(struct mcp_exchange *x, const struct mcp_fetch_head *head);
    void (*on_message)(struct mcp_exchange *x, const struct jsonrpc_message *m);
    void (*on_event)(struct mcp_exchange *x, str name, str data); /* or NULL */
    /* The fetch is over, x->fetch NULL; failure is NULL when the answer came whole. */
    void (*on_end)(struct mcp_exchange *x, const struct mcp_link_failure *failure);
    void (*on_timer)(struct mcp_exchange *x); /* or NULL */
};

struct mcp_exchange {
    const struct mcp_exchange_kind *kind;
    struct mcp_link *link;
    struct mcp_site *site;
    struct mcp_exchange *next, **at; /* in the link's list, until it is dropped */

    struct mcp_fetch *fetch; /* or NULL */
    struct mcp_answer answer;
    struct loop_timer *timer;
    int status; /* of the answer; 0: none yet */

    /* the kinds' own */
    int64_t id; /* of our request, or 0 */
    enum mcp_method method;
    enum mcp_version version;
    bool had_session;
    bool is_answered;  /* nobody waits for it any more */
    bool is_lost;      /* the session that the request was sent in */
    bool is_resuming;  /* the fetch is a GET that goes on with the answer */
    unsigned n_tries;  /* to resume, since something came */
    uint64_t delay_ms; /* before the next try */

    unsigned depth; /* reports of its own that are being made */
    bool is_dropped;
};

/* Adds an exchange to the list. NULL when out of memory. */
struct mcp_exchange *mcp_exchange_new(struct mcp_exchange **list, struct mcp_link *link,
                                      struct mcp_site *site, const struct mcp_exchange_kind *kind);

/* Takes the fields as mcp_fetch_start() does. Returns 0, or -1 with *reterr filled. */
int mcp_exchange_fetch(struct mcp_exchange *x, const struct mcp_fetch_conf *conf,
                       struct err *reterr);

/* Drops the exchange: off the list, no more reports, freed when none of its reports runs. */
void mcp_exchange_drop(struct mcp_exchange *x);

/* Drops the exchange and reports its failure. */
void mcp_exchange_fail(struct mcp_exchange *x, const struct mcp_link_failure *why);

static inline bool mcp_status_is_good(int status)
{
    return status >= 200 && status < 300;
}

/* The failure that an answer with such a status is. */
struct mcp_link_failure mcp_status_failure(const struct mcp_exchange *x);

/* True for the messages that answer a request. */
static inline bool mcp_is_answer(const struct jsonrpc_message *m)
{
    return m->kind == JSONRPC_RESULT || m->kind == JSONRPC_ERROR;
}

/* True when another message may go out that is no request of ours. A server can ask for answers
 * faster than it takes them, and each is on a connection of its own. Beside answers there is room
 * to cancel all calls that may be under way. */
bool mcp_exchange_may_notify(const struct mcp_exchange *list, const struct mcp_site *site,
                             enum mcp_method method);

/* The exchange of our request of this id that still waits, or NULL. */
struct mcp_exchange *mcp_exchange_find(struct mcp_exchange *list, int64_t id);

#endif
