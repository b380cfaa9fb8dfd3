/* mcp_session_internal.h -- what the files of a session share.
 *
 *     mcp_session.c          states, the life of the link
 *     mcp_session_traffic.c  requests to the server, who gets what comes back
 *     mcp_handshake.c        which era and version, again after a lost session
 *     mcp_session_list.c     listing tools, and when to do so again
 *     mcp_session_call.c     one call: sent, asked again, answered
 *     mcp_session_queue.c    all calls: which may be sent, which have waited too long
 *     mcp_session_watch.c    deadlines of everything that waits; is the server alive?
 *     mcp_session_notice.c   what the server says by itself
 *     mcp_session_report.c   errors and log lines, without secrets
 *     mcp_session_metrics.c  how long requests take
 *
 * Functions here that may report to the session's owner (on_state, on_tools, on_done ...)
 * are called from the loop only, and the owner may have done anything with the session's
 * calls when they return. */
#ifndef ANTIPHON_MCP_SESSION_MCP_SESSION_INTERNAL_H
#define ANTIPHON_MCP_SESSION_MCP_SESSION_INTERNAL_H

#include "base/secrets.h"
#include "ev/log_rate.h"
#include "mcp/link/mcp_links.h"
#include "mcp/link/mcp_pending.h"
#include "mcp/session/mcp_backoff.h"
#include "mcp/session/mcp_session.h"

enum {
    MCP_MAX_QUEUED = 256,         /* calls that wait for others to end (MCP 8.3) */
    MCP_INPUT_ROUNDS = 3,         /* MCP 3.4 */
    MCP_LIST_DEBOUNCE_MS = 200,   /* MCP 9.4, like the next four */
    MCP_LIST_PAUSE_MS = 5000,     /* between listings that failed calls suggest */
    MCP_LIST_POLL_MS = 60 * 1000, /* when the server does not tell of changes */
    MCP_LIST_TOLD_MS = 300 * 1000,
    MCP_LIST_MAX_MS = 24 * 3600 * 1000, /* however long a list is said to stay good */
    MCP_SILENCE_MS = 30 * 1000,         /* calls wait, nothing comes: is it alive? (MCP 8.7) */
    MCP_PING_MS = 10 * 1000,
    MCP_PING_MISSES = 2,
};

enum mcp_era { MCP_ERA_UNKNOWN, MCP_ERA_LEGACY, MCP_ERA_MODERN };

/* A constructor of mcp_links.h. */
typedef struct mcp_link *mcp_link_opener(struct loop *loop, const struct mcp_link_conf *conf,
                                         const struct mcp_link_handler *handler, void *arg,
                                         struct err *reterr);

/* One attempt to agree with the server. */
struct mcp_handshake {
    struct mcp_pending pending;
    bool has_discovered, has_initialized, has_offered_again;
    int initialize_status; /* what the POST of initialize was refused with, if by HTTP alone */
};

struct mcp_session_listing {
    struct mcp_pending pending;
    struct mcp_listing pages;
    bool is_running;
    bool has_page;       /* of the listing that is running */
    bool is_stale;       /* tools have changed meanwhile: list once more */
    bool has_begun_ever; /* began_ms is of some use */
    unsigned n_lost;     /* listings that found the session lost, in a row */
    uint64_t began_ms, deadline_ms;
    struct loop_timer *timer; /* the next listing, at due_ms; 0: none is due */
    uint64_t due_ms;
    struct mcp_backoff backoff; /* of failed listings */
    uint64_t print;             /* fingerprint of the tools as last reported */
    uint64_t print_seed;
    struct buf drops, drops_logged; /* tools left out: name, NUL, why, NUL ... */
};

struct mcp_subscription {
    struct mcp_pending pending;
    struct loop_timer *timer; /* opens it again */
    struct mcp_backoff backoff;
    bool has_ended_before; /* changes may have been missed */
};

struct mcp_liveness {
    struct mcp_pending ping;
    uint64_t heard_ms, ping_until_ms;
    unsigned misses;
};

struct mcp_session {
    struct loop *loop;
    struct mcp_session_conf conf;
    const struct mcp_session_handler *handler;
    void *arg;
    mcp_link_opener *const *openers; /* by enum mcp_transport */
    struct secrets secrets;          /* the link adds to it */

    enum mcp_state state;
    struct buf error;
    bool is_available;
    bool is_connected; /* a version is agreed on: calls may be sent */
    bool is_stopping, is_stopped;

    enum mcp_transport transport, home;    /* in use; where a start begins */
    bool has_tried[MCP_TRANSPORT_SSE + 1]; /* in this start */
    uint64_t start_until_ms;               /* by then it has to be connected */
    struct mcp_link *link;
    bool is_link_up, is_leaving; /* leaving: told to stop, or down */
    bool opens_when_closed;
    bool is_hurried;          /* starts at once, see mcp_session_hurry() */
    struct loop_timer *timer; /* until the start, or until the server must be connected */
    struct loop_timer *soon;  /* for what must not happen inside a function of the owner's */
    struct loop_timer *watch;
    struct mcp_backoff backoff;

    enum mcp_era era; /* as found, for the next time (MCP 2.7) */
    enum mcp_version version;
    bool has_tools, has_tools_changed;
    uint64_t epoch; /* counts agreements: what was asked in another has lost its session */
    struct mcp_handshake handshake;

    struct mcp_pending_table pending;
    struct mcp_session_call *first, **last; /* oldest first */
    size_t n_queued, n_active, n_refused;
    struct mcp_session_listing list;
    struct mcp_subscription subscription;
    struct mcp_liveness liveness;
    struct log_rate message_rate;
};

/* Why a connection or a listing is given up. */
struct mcp_end {
    enum mcp_cause cause; /* what calls fail with that were waiting */
    int http_status;
    bool is_hopeless;
    str text; /* plain, a sentence, perhaps with secrets; "": as calls say it */
};

/* Appends the text of an end, or that of a call that fails with it. */
void mcp_end_words(const struct mcp_session *s, const struct mcp_end *why, struct buf *out);

/* ---- mcp_session.c */

/* Takes links from other constructors, for tests; before mcp_session_start(). */
void mcp_session_set_openers(struct mcp_session *s, mcp_link_opener *const *openers);

/* Starts the time in which the session has to be connected, the server's startup timeout. */
void mcp_session_start_clock(struct mcp_session *s);

/* Wakes the session soon: to send calls, or to report that it has stopped. */
void mcp_session_wake(struct mcp_session *s);

/* Ends this connection: calls fail, and it starts again later. */
void mcp_session_leave(struct mcp_session *s, const struct mcp_end *why);

/* Goes on with another kind of link. */
void mcp_session_change_transport(struct mcp_session *s, enum mcp_transport to);

uint32_t mcp_session_chance(void);

/* Goes on once a version is agreed on: subscribes, sends calls, lists the tools. */
void mcp_session_agreed(struct mcp_session *s);

/* Sets the state and the error that goes with it; reports when one of them is new. */
void mcp_session_move(struct mcp_session *s, enum mcp_state to, str error);

static inline bool mcp_session_is_modern(const struct mcp_session *s)
{
    return mcp_version_is_modern(s->version);
}

/* ---- mcp_session_traffic.c */

/* Sends a request whose answer goes to p, which has on_answer and arg set. call adds what a
 * link wants to know of MCP_CALL_TOOL; else NULL. False with *reterr. */
bool mcp_session_ask(struct mcp_session *s, struct mcp_pending *p, struct mcp_request *r,
                     const struct mcp_link_message *call, struct err *reterr);

/* Gives up the request of p, if it waits; the server is told in the way of the era (MCP 8.5).
 * reason may be NULL. */
void mcp_session_give_up(struct mcp_session *s, struct mcp_pending *p, const char *reason);

void mcp_session_notify(struct mcp_session *s, struct mcp_request *r);

/* Reports of the link. */
void mcp_session_on_message(void *arg, const struct jsonrpc_message *m, int64_t carrier,
                            int http_status);
void mcp_session_on_failed(void *arg, int64_t id, const struct mcp_link_failure *why);

/* ---- mcp_handshake.c */

void mcp_handshake_begin(struct mcp_session *s);

/* The transport that is tried first when nothing is known. */
enum mcp_transport mcp_handshake_first_transport(const struct mcp_server_conf *server);

/* Takes another way after a link that is down before it was up. False when there is none, or when
 * the server had not answered. */
bool mcp_handshake_link_down(struct mcp_session *s, const struct mcp_link_failure *why);

/* Agrees with the server again, unless that has happened since the epoch or goes on: its session is
 * lost, or it does not know our version any more (forgets_era). */
void mcp_handshake_again(struct mcp_session *s, uint64_t epoch, bool forgets_era);

/* True for error -32022: the server does not know our version (any more). */
bool mcp_reply_lost_version(const struct mcp_reply *reply);

/* True when the request has found its session lost (MCP 5.7). */
static inline bool mcp_reply_lost_session(const struct mcp_reply *r)
{
    return r->failure != NULL && r->failure->has_lost_session;
}

/* ---- mcp_session_list.c */

bool mcp_list_init(struct mcp_session *s);
void mcp_list_fini(struct mcp_session *s);
void mcp_list_begin(struct mcp_session *s);
void mcp_list_soon(struct mcp_session *s, uint64_t after_ms);
void mcp_list_changed(struct mcp_session *s);
void mcp_list_abandon(struct mcp_session *s); /* and plans none */
void mcp_list_timed_out(struct mcp_session *s);

/* ---- mcp_session_queue.c */

/* Sends calls that may be sent, fails those that cannot be. */
void mcp_calls_pump(struct mcp_session *s);

/* Fails all calls for that reason. */
void mcp_calls_fail(struct mcp_session *s, const struct mcp_end *why);

/* Frees all calls without a report. */
void mcp_calls_drop(struct mcp_session *s);

/* Earliest deadline of a call, UINT64_MAX when there is none. */
uint64_t mcp_calls_deadline(const struct mcp_session *s);
void mcp_calls_time_out(struct mcp_session *s, uint64_t now_ms);

/* Notes progress of the request of that id. */
void mcp_calls_progress(struct mcp_session *s, int64_t token);

/* Tell calls that wait for new mirrors: a listing begins, has succeeded, or has not (NULL). */
void mcp_calls_listing_begins(struct mcp_session *s);
void mcp_calls_listing_ended(struct mcp_session *s, const struct mcp_listing *listing);

/* ---- mcp_session_watch.c */

void mcp_watch_arm(struct mcp_session *s);
void mcp_watch_reset(struct mcp_session *s); /* a new connection, or none */
void mcp_watch_fired(void *arg);

/* ---- mcp_session_notice.c */

void mcp_notice_request(struct mcp_session *s, const struct jsonrpc_message *m);
void mcp_notice_take(struct mcp_session *s, const struct jsonrpc_message *m);
void mcp_subscription_open(void *arg);
void mcp_subscription_end(struct mcp_session *s);

/* ---- mcp_session_report.c */

/* Appends the text without secrets. */
void mcp_report_text(const struct mcp_session *s, str text, struct buf *out);
void mcp_report_ready(const struct mcp_session *s, size_t n_tools);
void mcp_report_lost(const struct mcp_session *s, uint64_t again_ms);
void mcp_report_degraded(const struct mcp_session *s);
void mcp_report_failure(const struct mcp_session *s, enum mcp_method method,
                        const struct mcp_link_failure *why);
void mcp_report_message(struct mcp_session *s, const struct mcp_notice *n);
void mcp_report_late(struct mcp_session *s, const struct jsonrpc_message *m);
void mcp_report_drops(struct mcp_session *s);

/* ---- mcp_session_metrics.c */

/* The request of p has ended, with this word for its failure or NULL. Counted once, whoever comes first. */
void mcp_count_request(const struct mcp_session *s, struct mcp_pending *p, const char *error);

/* The word for what the answer says by itself; NULL: a result. */
const char *mcp_reply_error(const struct mcp_reply *reply);

#endif
