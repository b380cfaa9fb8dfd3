/* mcp_hub_internal.h -- what the files of the hub share.
 *
 *     mcp_hub.c          the thread and its loop, start and end, a new file
 *     mcp_hub_server.c   one server: its session, its tools, the calls it works on
 *     mcp_hub_view.c     what workers see of configured servers
 *     mcp_hub_remote.c   servers of requests: shared, limited, closed when idle
 *     mcp_task.c         what workers ask for: posted, reported, cancelled
 *     mcp_outcome.c      results and failures as texts
 *
 * Everything here runs on the hub's thread unless it says otherwise. */
#ifndef ANTIPHON_MCP_HUB_MCP_HUB_INTERNAL_H
#define ANTIPHON_MCP_HUB_MCP_HUB_INTERNAL_H

#include <uv.h>

#include "base/arena.h"
#include "base/secrets.h"
#include "mcp/hub/mcp_hub.h"

struct hub_remote;

/* A server and its session. On one list of the hub: servers, remotes or leaving. */
struct hub_server {
    struct mcp_hub *hub;
    struct hub_server *next;
    struct mcp_config *table;  /* that conf is in; NULL: the server of a request */
    struct hub_remote *remote; /* NULL: a configured one */
    const struct mcp_server_conf *conf;
    struct mcp_session *session; /* NULL: it cannot be used */
    struct mcp_catalogue *tools; /* the last that were listed, or NULL */
    struct secrets secrets;
    size_t n_calls;
    bool has_tried;    /* a listing has succeeded or failed */
    bool is_restarted; /* the same was true before it was hurried last */
    bool is_leaving, is_stopping, is_stopped;

    struct loop_timer *awaited; /* the start waits for it until this fires; or NULL */
};

struct mcp_hub {
    struct mcp_hub_conf conf;
    uv_mutex_t start_lock; /* held while the thread is started: one hub has one */
    struct loop *loop;     /* NULL: it has not been started (hub_wake) */
    uv_thread_t thread;
    struct loop_message begin, sweep, end;
    struct http_client *client, *remote_client;

    struct mcp_config *table;   /* the newest */
    struct hub_server *servers; /* of the table, in its order */
    struct hub_server *remotes; /* servers of requests, while they may be used */
    size_t n_remotes;
    struct hub_server *leaving; /* finish their calls, or are being stopped */

    /* mcp_hub_new() waits for the semaphore and reads the failure then. */
    uv_sem_t started;
    bool has_started;
    size_t n_awaited;
    struct err start_failure;

    struct loop_timer *end_timer;
    bool is_ending;

    uv_mutex_t lock; /* guards snapshot; nothing else is taken while it is held */
    struct mcp_snapshot *snapshot;
};

/* ---- mcp_hub.c */

/* Tells that the state or the tools of a configured server may have changed. */
void hub_server_changed(struct hub_server *s);

/* Frees stopped servers, soon: the session of one may be reporting just now. */
void hub_sweep_soon(struct mcp_hub *hub);

/* The configured server, or NULL. */
struct hub_server *hub_find_server(const struct mcp_hub *hub, str label);

/* Starts the thread, unless it runs already. Returns 0, or -1 with *reterr filled. Any
 * thread. */
int hub_wake(struct mcp_hub *hub, struct err *reterr);

/* ---- mcp_hub_server.c */

/* Makes the session and starts it. s is zeroed, but for hub, conf, and table (a reference) or
 * remote, which its owner has set. False when out of memory; the server is there all the same, and
 * cannot be used. */
bool hub_server_start(struct hub_server *s, struct http_client *client);

/* Moves a server that is on no list to those that leave: it ends when its calls have ended, or at
 * once. */
void hub_server_leave(struct hub_server *s, bool at_once);

/* Frees what hub_server_start() made of a server that has stopped or was never started; s is its
 * owner's. */
void hub_server_fini(struct hub_server *s);

/* True when the server's tools may be offered. */
bool hub_server_is_available(const struct hub_server *s);

/* Starts a server that has crashed before its time, since a request wants it. */
void hub_server_hurry(struct hub_server *s);

/* Count the server's calls: around each of them. */
void hub_server_call_begins(struct hub_server *s);
void hub_server_call_ended(struct hub_server *s);

/* ---- mcp_hub_view.c */

/* Publishes a new snapshot for the workers. */
void hub_publish(struct mcp_hub *hub);

/* ---- mcp_hub_remote.c */

/* Copies a declared server into the arena. False when out of memory. Any thread. */
bool hub_remote_copy(const struct mcp_remote *r, struct arena *a, struct mcp_remote *ret);

/* Overwrites the secrets of a copy. Any thread. */
void hub_remote_wipe(const struct mcp_remote *r);

/* Lists the tools for a task: ends in mcp_task_listed() or mcp_task_fail(), perhaps at once. */
void hub_remote_list(struct mcp_hub *hub, struct mcp_task *task);

/* Forgets a task that was cancelled: nothing is to be reported. */
void hub_remote_forget(struct mcp_hub *hub, struct mcp_task *task);

/* The server to call, connected or about to be; NULL once the task has been failed. */
struct hub_server *hub_remote_use(struct mcp_hub *hub, struct mcp_task *task);

/* Tell that the state or the tools of a request's server may have changed. */
void hub_remote_changed(struct hub_remote *r);
void hub_remote_listed(struct hub_remote *r, const struct mcp_cache *cache);

/* Notes that the server has just been used. */
void hub_remote_touch(struct hub_remote *r);

/* Takes the server from those that may be used, and has it leave. */
void hub_remote_close(struct hub_remote *r, bool at_once);

/* Frees a server that has stopped. */
void hub_remote_free(struct hub_remote *r);

/* ---- mcp_task.c */

const struct mcp_remote *mcp_task_remote(const struct mcp_task *t);

/* The next task of a list, which belongs to whoever keeps the list. */
struct mcp_task **mcp_task_next(struct mcp_task *t);

/* Report a task: with tools (borrowed), or why there are none, a sentence without secrets. */
void mcp_task_listed(struct mcp_task *t, struct mcp_catalogue *tools);
void mcp_task_fail(struct mcp_task *t, str sentence);

/* ---- mcp_outcome.c */

/* The texts of a struct mcp_outcome; output or the errors. Nothing in it when there was no
 * memory for them: then is_failed. Any thread, one at a time. */
struct hub_outcome {
    bool is_failed;
    enum mcp_cause cause; /* of the failure, and its code */
    int64_t code;
    struct buf output, error, error_object;
};

/* Writes a failure (not NULL) with the label that the request knows, and without secrets, or a
 * result as the options have it. Results are not searched for secrets: a server may be asked for
 * one, and what is short or common would be torn out of every text. */
void hub_outcome_write(struct hub_outcome *o, const struct mcp_failure *failure,
                       const struct mcp_call_result *result, str label,
                       const struct secrets *secrets, const struct mcp_result_options *options);
void hub_outcome_fini(struct hub_outcome *o);

#endif
