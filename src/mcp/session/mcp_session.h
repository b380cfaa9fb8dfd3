/* mcp_session.h -- one MCP server as the gateway needs it: always there, its tools
 * known, calls answered (MCP 2 to 9).
 *
 *     STOPPED -> STARTING -> READY <-> DEGRADED        BACKOFF -> STARTING
 *                        \-> BACKOFF, FAILED               (each end leads there)
 *
 * A session owns its link and starts it again; it agrees on an era and a version, lists
 * the tools whenever they may have changed, keeps calls apart, watches their time,
 * cancels them at the server. DEGRADED: connected, but the last listing failed; the
 * tools known before stay good (MCP 9.5).
 *
 * All of it runs on one loop's thread. Reports come from the loop only, never from
 * inside a function below, and may call any of them but mcp_session_free(). */
#ifndef ANTIPHON_MCP_SESSION_MCP_SESSION_H
#define ANTIPHON_MCP_SESSION_MCP_SESSION_H

#include "base/secrets.h"
#include "ev/loop.h"
#include "mcp/conf/mcp_config.h"
#include "mcp/proto/mcp_failure.h"
#include "mcp/proto/mcp_listing.h"
#include "mcp/proto/mcp_result.h"

struct http_client;
struct mcp_session;
struct mcp_session_call;

enum mcp_state {
    MCP_STOPPED,
    MCP_STARTING,
    MCP_READY,
    MCP_DEGRADED,
    MCP_BACKOFF,
    MCP_FAILED, /* not to be had as configured; tried again every minute all the same */
};

const char *mcp_state_name(enum mcp_state state);

struct mcp_session_conf {
    /* What is connected to; outlives the session. For the server of a request it is filled
     * by hand: label, transport, url, headers, limits, secrets. */
    const struct mcp_server_conf *server;
    struct http_client *client;   /* of the same loop; guarded for strangers' URLs */
    const char *const *env;       /* the gateway's environment, for a child (MCP 4.4) */
    uint64_t refresh_interval_ms; /* the operator's for all; 0: none. The entry's own wins */
    bool is_remote;               /* a stranger's: no redirects, no addresses in errors */
    bool starts_once;             /* does not start again by itself: on_state says FAILED */
};

struct mcp_session_handler {
    /* The state has changed; mcp_session_state() and _error() tell. */
    void (*on_state)(void *arg);
    /* A full listing has succeeded, the first time or with other tools than before. The
     * listing dies when it returns. */
    void (*on_tools)(void *arg, const struct mcp_listing *listing);
    /* Called after mcp_session_stop(): nothing of the session is left, mcp_session_free() may be
     * called. */
    void (*on_stopped)(void *arg);
};

/* Makes a session, which does nothing before mcp_session_start(); or NULL with *reterr filled. */
struct mcp_session *mcp_session_new(struct loop *loop, const struct mcp_session_conf *conf,
                                    const struct mcp_session_handler *handler, void *arg,
                                    struct err *reterr);
void mcp_session_start(struct mcp_session *s);

/* Fails all calls, ends the link in an orderly way, then on_stopped. Once. */
void mcp_session_stop(struct mcp_session *s);

/* The time, by the clock of loops, from which a server that waits for its next start may be started
 * at once: one that has ended after it was ready, at most every few seconds. Else UINT64_MAX. */
uint64_t mcp_session_hurry_ms(const struct mcp_session *s);

/* Starts a server that is wanted at once; false when it may not be. */
bool mcp_session_hurry(struct mcp_session *s);

/* Frees a session that has stopped or was never started. NULL is fine. */
void mcp_session_free(struct mcp_session *s);

enum mcp_state mcp_session_state(const struct mcp_session *s);

/* True when a full listing has succeeded on the present connection; else the tools are not to be
 * offered (MCP 9.5). */
bool mcp_session_is_available(const struct mcp_session *s);

/* Why the session is not ready, or why the last listing failed: plain, one sentence, secrets
 * removed. "" when all is well. */
str mcp_session_error(const struct mcp_session *s);

/* The transport in use: SSE once the server has turned out to speak that. */
enum mcp_transport mcp_session_transport(const struct mcp_session *s);
enum mcp_version mcp_session_version(const struct mcp_session *s); /* NONE before it is agreed on */

/* Lists the tools again soon, though not within 5 s of the last time (MCP 9.4). */
void mcp_session_refresh(struct mcp_session *s);

struct mcp_session_call_conf {
    str tool;                         /* plain, the server's own name */
    str arguments;                    /* raw, a JSON object */
    const struct mcp_mirror *mirrors; /* of the tool as listed; live until on_done */
    str traceparent, tracestate;      /* of which the server is told (W3C); or STR_NONE */
    uint64_t idle_timeout_ms;         /* progress starts it anew (MCP 8.4) */
    uint64_t total_timeout_ms;
};

struct mcp_session_call_handler {
    /* Called once, with failure, secrets removed, or with result, which has no error (isError is
     * MCP_FAILED_TOOL). Views die when it returns. */
    void (*on_done)(void *arg, const struct mcp_failure *failure,
                    const struct mcp_call_result *result);
};

/* Calls a tool, or queues the call (MCP 8.3). Copies what it is given, but mirrors. NULL
 * with *reterr filled, and no report, when out of memory; all other ends are reported. */
struct mcp_session_call *mcp_session_call(struct mcp_session *s,
                                          const struct mcp_session_call_conf *conf,
                                          const struct mcp_session_call_handler *handler, void *arg,
                                          struct err *reterr);

/* How a call went out, from inside on_done. */
struct mcp_call_facts {
    enum mcp_version version;
    int64_t request_id; /* 0: it did not */
    bool is_stdio;
};

struct mcp_call_facts mcp_session_call_facts(const struct mcp_session_call *call);

/* Cancels a call: the server is told (MCP 8.5), with the reason; no report follows. */
void mcp_session_cancel(struct mcp_session_call *call, const char *reason);

#endif
