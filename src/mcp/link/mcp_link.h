/* mcp_link.h -- one connection to an MCP server, whatever carries it.
 *
 * Between mcp_session.h, which knows what is said, and the transports, which know
 * how it travels:
 *
 *     mcp_link_stdio.c   a child process: one line, one message (MCP 4)
 *     mcp_link_http.c    Streamable HTTP of both eras: one POST, one message (MCP 5, 6)
 *     mcp_link_sse.c     HTTP+SSE of 2024-11-05: POSTs there, one stream back (MCP 7)
 *
 * A link never repeats a message, knows no timeouts of calls and starts nothing
 * again: that is the session's. All of it runs on one loop's thread. Reports come
 * from the loop only, never from inside a function below, and may call any of them. */
#ifndef ANTIPHON_MCP_LINK_MCP_LINK_H
#define ANTIPHON_MCP_LINK_MCP_LINK_H

#include "mcp/proto/jsonrpc.h"
#include "mcp/proto/mcp_failure.h"
#include "mcp/proto/mcp_mirror.h"
#include "mcp/proto/mcp_request.h"

struct mcp_link;

/* A message to send. Views need to live only until mcp_link_send() returns. */
struct mcp_link_message {
    str json;                 /* one message */
    int64_t id;               /* of our request; 0: a notification, or an answer to the server */
    enum mcp_method method;   /* MCP_METHOD_COUNT: an answer to the server */
    enum mcp_version version; /* for headers; MCP_VERSION_NONE: not agreed upon yet */
    str tool;                 /* plain, of MCP_CALL_TOOL */
    const struct mcp_mirror *mirrors; /* of MCP_CALL_TOOL, modern; or NULL */
    str arguments;                    /* of MCP_CALL_TOOL: raw */
    str traceparent, tracestate;      /* headers of that, where there are any; or STR_NONE */
};

/* Why there will be no answer. */
struct mcp_link_failure {
    enum mcp_cause cause;  /* MCP_FAILED_HTTP, _UNREACHABLE, _CLOSED, _LIMIT */
    int http_status;       /* of the answer, good or bad; 0: there was none, an outage */
    bool was_sent;         /* the server may have got it, or some of it; false: surely not */
    bool has_lost_session; /* MCP 5.7: open a new one and ask again, once */
    bool is_hopeless;      /* trying soon again is of no use: no such program, another origin */
    str message;           /* plain, a sentence, without secrets; "" when the cause says all */
    str challenge; /* WWW-Authenticate of a 401 or 403, or STR_NONE (MCP 18.1); is in the log */
};

struct mcp_link_handler {
    /* The server can be talked to: a process runs, the endpoint of HTTP+SSE is known; for
     * Streamable HTTP at once. */
    void (*on_up)(void *arg);
    /* A message. carrier is the id of our request whose HTTP exchange brought it, or 0: an
     * error without an id of its own belongs to that (MCP 5.9). http_status is that of the
     * exchange, 0 when there is none. An answer that the link could attribute has the id of
     * our request by now. Views die when it returns. */
    void (*on_message)(void *arg, const struct jsonrpc_message *m, int64_t carrier,
                       int http_status);
    /* The request of this id, or the notification (0), has failed; the link lives on. */
    void (*on_failed)(void *arg, int64_t id, const struct mcp_link_failure *why);
    /* Called once: nothing can be sent or will arrive any more; who waits for an answer has
     * failed. */
    void (*on_down)(void *arg, const struct mcp_link_failure *why);
    /* Called once, last, only after mcp_link_stop(): the link is gone when it returns. */
    void (*on_closed)(void *arg);
};

/* A transport's struct begins with this. */
struct mcp_link {
    const struct mcp_link_ops *ops;
    const struct mcp_link_handler *handler;
    void *arg;
};

struct mcp_link_ops {
    bool (*send)(struct mcp_link *link, const struct mcp_link_message *m, struct err *reterr);
    void (*forget)(struct mcp_link *link, int64_t id);
    void (*listen)(struct mcp_link *link, enum mcp_version version);
    void (*reset_session)(struct mcp_link *link);
    void (*stop)(struct mcp_link *link);
};

/* Sends a message. False, with *reterr and no report, when it cannot even be queued. */
static inline bool mcp_link_send(struct mcp_link *link, const struct mcp_link_message *m,
                                 struct err *reterr)
{
    return link->ops->send(link, m, reterr);
}

/* Forgets a request that nobody waits for any more: no on_failed for it. Closes its exchange, which
 * for a modern server is how it hears of that (MCP 8.5); a legacy session has sent MCP_CANCELLED
 * before. What still arrives for it may be reported. */
static inline void mcp_link_forget(struct mcp_link *link, int64_t id)
{
    link->ops->forget(link, id);
}

/* Opens the stream on which a legacy server tells that its tools have changed, and keeps it open
 * (MCP 5.8); does nothing where there always is one. */
static inline void mcp_link_listen(struct mcp_link *link, enum mcp_version version)
{
    link->ops->listen(link, version);
}

/* Forgets the session, which is lost: initialize comes next, without its id. */
static inline void mcp_link_reset_session(struct mcp_link *link)
{
    link->ops->reset_session(link);
}

/* Ends the link in an orderly way, and soon: on_down unless it came already, then on_closed (MCP
 * 2.9, 4.7). Once, and always: a link that is down waits for it. */
static inline void mcp_link_stop(struct mcp_link *link)
{
    link->ops->stop(link);
}

#endif
