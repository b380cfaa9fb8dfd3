/* mcp_hub.h -- all MCP servers of the gateway, on a thread of their own.
 *
 * Workers ask for two things: what tools there are, and to call one. Tools of configured
 * servers are a snapshot that is taken at once; those of a server that a request declares
 * have to be listed first. Both lead to tasks: work on the hub's thread whose outcome is
 * posted to the loop of who asked.
 *
 * Everything may be called from any thread unless it says otherwise. */
#ifndef ANTIPHON_MCP_HUB_MCP_HUB_H
#define ANTIPHON_MCP_HUB_MCP_HUB_H

#include "base/err.h"
#include "ev/loop.h"
#include "http/header_policy.h"
#include "http/url_policy.h"
#include "mcp/proto/mcp_failure.h"
#include "mcp/session/mcp_catalogue.h"
#include "mcp/session/mcp_session.h"

struct mcp_hub;
struct mcp_task;
struct sockaddr;

struct mcp_hub_conf {
    struct mcp_config *servers;  /* NULL: none; the hub takes a reference of its own */
    const char *const *env;      /* outlives the hub */
    const char *ca_file, *proxy; /* of HTTP to configured servers; or NULL; outlive the hub */
    bool verify_tls;
    /* For servers of requests, MCP 16.3; NULL: any address */
    bool (*may_connect)(const struct sockaddr *to);
    uint64_t refresh_interval_ms;
    uint64_t remote_timeout_ms, remote_idle_ms; /* MCP 16.7, 8.1 */
    uint64_t call_timeout_ms;                   /* of servers of requests */
    size_t remote_message_bytes, remote_result_bytes;
    unsigned max_remote; /* connected at a time */
};

/* Starts the thread and all usable servers, and waits for those that are required, each
 * for its startup timeout; without a table, nothing before the first task. NULL with
 * *reterr filled, nothing left running, when one of them does not become available or a
 * resource is missing. */
struct mcp_hub *mcp_hub_new(const struct mcp_hub_conf *conf, struct err *reterr);

/* Applies a new table of servers (MCP 1.6). Takes a reference to now. Does not wait. */
void mcp_hub_reload(struct mcp_hub *hub, struct mcp_config *now);

/* Ends all sessions, at most 6 s (MCP 2.9), and the thread. No task may be under way. NULL is fine.
 * False when something could not be ended: a server that outlives SIGKILL, a name that is still
 * being looked up. Then the hub lives on, and the process is to be left by _exit(), since exit()
 * would wait for it. */
bool mcp_hub_free(struct mcp_hub *hub);

/* ---- what is configured */

struct mcp_server_view {
    const struct mcp_server_conf *conf; /* its label, floor of approval, inject ... */
    enum mcp_state state;
    enum mcp_transport transport; /* what carries it, or the guess before that is known */
    bool is_available;            /* its tools may be offered now */
    bool is_pending;              /* its first listing has neither succeeded nor failed yet */
    bool is_starting;             /* the same, and it is its first start */
    uint64_t hurry_ms;            /* when mcp_hub_want() starts it; UINT64_MAX: it does not */
    str error; /* plain, redacted: its mistake or last failure; "" when there is none */
    struct mcp_catalogue *tools; /* NULL unless is_available */
};

/* The configured servers at one moment. Never changes. */
struct mcp_snapshot {
    const struct mcp_server_view *servers; /* in the order of the file */
    size_t n;
};

/* The newest snapshot: one reference, NULL only when out of memory. Cheap: takes a lock for a
 * moment. */
struct mcp_snapshot *mcp_hub_snapshot(struct mcp_hub *hub);
void mcp_snapshot_unref(struct mcp_snapshot *s); /* NULL is fine */

/* The server of that label, or NULL. */
const struct mcp_server_view *mcp_snapshot_find(const struct mcp_snapshot *s, str label);

/* Starts a configured server that has crashed and that a request wants, once hurry_ms of its view
 * has come by the clock of loops: now and not after its backoff. The next snapshots tell: it is
 * pending, or not to be hurried any more. Without memory nothing happens. */
void mcp_hub_want(struct mcp_hub *hub, str label);

/* True when there are servers whose tools join every request, or will; by_default is for entries that do not
 * say. */
bool mcp_snapshot_injects(const struct mcp_snapshot *s, bool by_default);

/* ---- tasks
 *
 * A task reports once, on the loop it was started from, unless it was cancelled before;
 * then it is gone. The hub may still have to do with cancelled ones: that loop must run, and
 * the hub live, until it expects nothing (loop_n_expected()). */

/* A server that a request declares. */
struct mcp_remote {
    str owner;                  /* whose request it is; "" when nobody is asked who they are */
    str label;                  /* plain */
    struct allowed_url url;     /* has passed url_policy_check() */
    struct header_list headers; /* has passed header_policy_check(); secrets */
};

struct mcp_listed_handler {
    /* Reports either failure, text only and redacted, or the tools: a reference for the caller. */
    void (*on_listed)(void *arg, const struct mcp_failure *failure, struct mcp_catalogue *tools);
};

/* Copies *remote. Connections and lists are shared between requests of the same owner with
 * the same URL and header fields (MCP 9.6). NULL with *reterr filled when out of memory. */
struct mcp_task *mcp_hub_list(struct mcp_hub *hub, struct loop *loop,
                              const struct mcp_remote *remote,
                              const struct mcp_listed_handler *handler, void *arg,
                              struct err *reterr);

struct mcp_outcome {
    bool is_failed;
    enum mcp_cause cause; /* of the failure, and its code */
    int64_t code;
    struct mcp_call_facts facts; /* zero: no server was asked */
    str output;                  /* plain: the result as text; of a failure "" */
    str error;                   /* plain: why, without "Error: "; STR_NONE unless is_failed */
    str error_object; /* raw: the same as the object of MCP 14; STR_NONE unless is_failed */
};

struct mcp_done_handler {
    void (*on_done)(void *arg, const struct mcp_outcome *outcome); /* views die with it */
};

struct mcp_hub_call {
    str label;                       /* of a configured server; used when remote is NULL */
    const struct mcp_remote *remote; /* copied */
    struct mcp_catalogue *catalogue; /* that the tool is from: the task takes a reference */
    const struct mcp_catalogue_tool *tool;
    str arguments;               /* raw, a JSON object */
    enum mcp_result_form form;   /* of the output */
    str traceparent, tracestate; /* that the server is told; or STR_NONE */
};

struct mcp_task *mcp_hub_call(struct mcp_hub *hub, struct loop *loop,
                              const struct mcp_hub_call *call,
                              const struct mcp_done_handler *handler, void *arg,
                              struct err *reterr);

/* Cancels a task that has not reported, on the thread of its loop: no report follows, and the
 * server is told that nobody waits any more. */
void mcp_task_cancel(struct mcp_task *task);

#endif
