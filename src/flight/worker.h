/* worker.h -- one thread's share of the gateway: a loop, listeners, clients
 * for upstreams, and the flights they carry. Nothing of it is
 * shared with other workers, so nothing is locked. */
#ifndef ANTIPHON_FLIGHT_WORKER_H
#define ANTIPHON_FLIGHT_WORKER_H

#include <stdatomic.h>

#include "base/id.h"
#include "config/config.h"
#include "ev/loop.h"
#include "http/http_client.h"
#include "http/http_server.h"
#include "upstream/upstream_route_memo.h"

struct admin;
struct answer_memory;
struct api_keys;
struct background;
struct builtin_tools;
struct key_table;
struct life;
struct loop_lag;
struct listen_address;
struct mcp_hub;
struct mcp_snapshot;
struct metrics_desk;
struct origin_policy;
struct pulses;
struct rate_table;
struct reach;
struct running;
struct call_memory;
struct client_share;
struct cut_memory;
struct flight;
struct search_http;
struct seal_keys;
struct store;
struct token_memory;
struct trusted_proxies;
struct tracer;
struct upstream_entry;
struct upstream_pool;
struct upstream_table;
struct worker_client;
struct worker_settings;

/* What hangs on a worker and ends with it, while its loop is still there. */
struct worker_part {
    void (*fn)(void *arg);
    void *arg;
};

/* Who has more than one flight, and outlives each: a part of it. Its functions may take it out of the
 * list, and on_end does. */
struct worker_watcher {
    void (*on_keys)(void *arg); /* the keys of clients have changed */
    void (*on_end)(
        void *arg); /* the worker has ended: flights and connections go without a word next */
    void *arg;
    struct worker_watcher *next, **link; /* the worker's */
};

struct worker {
    const struct config
        *_Atomic config;         /* steps on the pool read it as well; see worker_settings.h */
    const struct api_keys *keys; /* of the clients */
    atomic_bool has_keys;    /* any: steps on the pool ask as well, while the table may change */
    struct key_table *table; /* a reference to them, once they were read again; or NULL */
    _Atomic(struct key_table *) given_table; /* to take next, a reference; or NULL */
    struct loop_message given;               /* there is one */
    struct worker_watcher *watchers;
    const struct origin_policy *origins;   /* whose pages may ask; outlives the worker */
    const struct trusted_proxies *trusted; /* the same */
    struct upstream_table *upstreams;      /* lives as long as flights that have begun with it */
    struct upstream_route_memo last_route; /* of that table */
    struct upstream_pool
        *pool; /* shared by all workers, outlives them; NULL: nobody counts, as in tests */
    struct reach *reaches;            /* what it has of each of them */
    struct worker_settings *settings; /* NULL: it is given none */
    struct worker_part at_end;        /* of those; or zero */
    struct id_source ids;
    struct loop *loop;
    struct http_server *server;
    struct http_client *client;
    struct worker_client *clients;     /* for upstreams that want another; the first of a list */
    struct call_memory *reasoning;     /* shared by all workers; or NULL */
    struct call_memory *rounds;        /* the same */
    struct cut_memory *cuts;           /* the same */
    struct answer_memory *answers;     /* shared by all workers, outlives them */
    struct rate_table *rates;          /* the same; NULL: nobody has limits, as in tests */
    const struct seal_keys *seal_keys; /* shared by all workers, outlives them */
    const struct seal_keys *compaction_keys; /* the same */
    const struct seal_keys *request_keys;    /* the same */
    bool forgets_seals;                      /* these keys end with the process */
    str compaction_prompt;                   /* the operator's, outlives the worker; or STR_NONE */
    struct store *store;                 /* shared by all workers; outlives what runs on the loop */
    struct mcp_hub *hub;                 /* shared by all workers, outlives them; or NULL */
    const struct builtin_tools *builtin; /* shared by all workers, outlives them */
    struct search_http *search;          /* or NULL */
    struct tracer *tracer;               /* shared by all workers; outlives them; or NULL */
    struct http_client *pages;           /* fetches pages; NULL: none are */
    struct buf out;                      /* events of the read at hand, on their way to one send */
    struct flight *flights;              /* all that are running */
    uint64_t n_begun;                    /* flights, ever */
    struct loop_timer *drain_timer;
    uint64_t drain_begin_ms, drain_deadline_ms;
    unsigned n_runs; /* of the flights for nobody, which a worker that drains waits for */
    bool is_draining, is_ending; /* it rests, or ends; it ends */
    bool is_handing_over;        /* to another process */
    struct life *life;           /* of the gateway, outlives the workers; or NULL */
    unsigned n_workers;          /* of the gateway, itself included */
    struct client_share *share;  /* as in worker_conf */
    struct admin *admin;         /* of all workers, outlives what runs on the loop; or NULL */
    struct pulses *pulses;       /* of all workers; outlives them; or NULL */
    struct background
        *background; /* shared by all workers, outlives them; or NULL: nothing is made in it,
                                      as in tests */
    void (*on_accepted)(struct background *b); /* see worker_hint_work() */
    struct loop_lag *lag;                      /* or NULL */
    struct metrics_desk *desk; /* of all workers; outlives them; NULL: nothing is counted */
    struct running *running;   /* which responses are being made, by any worker; outlives them */
};

/* What is gone through in the loop, at most: more is done on another thread (loop_offload()), as far
 * as it is not only copied or passed on. It takes some milliseconds. */
enum { WORKER_LARGE_BYTES = 256 * 1024 };

struct worker_conf {
    const struct config *config;
    const struct api_keys *keys;
    const struct origin_policy *origins;
    struct listen_address *const *addresses; /* where to accept clients */
    const struct http_listener *listeners;   /* what is known of each of them */
    size_t n_addresses;
    unsigned n_workers;                    /* they share max_connections */
    struct client_share *share;            /* outlives the workers; or NULL */
    const struct trusted_proxies *trusted; /* the same */
    http_server_on_head *on_head;          /* of every exchange; arg is the worker */
    http_server_on_request *on_request;    /* the same */
    http_server_on_end *on_end;            /* the same; or NULL */
};

/* Opens the loop, the listeners and the client. Any thread, before it runs. What workers share, and
 * the upstream, the caller sets in its members before that. NULL with *reterr filled. */
struct worker *worker_new(const struct worker_conf *conf, struct err *reterr);

/* After worker_run() has returned, or instead of it. NULL is fine. */
void worker_free(struct worker *w);

/* Runs until worker_drain() has done its work. */
void worker_run(struct worker *w);

/* Has the worker take these keys in place of its own, between two requests. From the main thread,
 * while the worker runs. */
void worker_give_keys(struct worker *w, struct key_table *table);

/* On the worker's thread: the watcher is told from now on, until worker_unwatch(). */
void worker_watch(struct worker *w, struct worker_watcher *watcher);
void worker_unwatch(struct worker_watcher *watcher);

/* The worker's connections go by what config says now. */
void worker_apply_config(struct worker *w);

/* The client for calls to an upstream; the worker's. NULL when it cannot be set up. */
struct http_client *worker_client(struct worker *w, const struct upstream_entry *u);

/* Is a name being looked up by any client? As http_client_is_resolving(). */
bool worker_is_resolving(const struct worker *w);

/* The configured MCP servers as they stand: a reference, or NULL when there is no file of them
 * (then no lock is taken), or no memory. */
struct mcp_snapshot *worker_mcp_servers(const struct worker *w);

/* A response was accepted that is to be made in the background (background/background.h). Any thread. */
static inline void worker_hint_work(const struct worker *w)
{
    if (w->background != NULL)
        w->on_accepted(w->background);
}

/* Gives back what a large answer has made of w->out. */
void worker_shrink_out(struct worker *w);

/* On the thread of the worker arg (through loop_post): stop accepting, let running
 * exchanges finish until drain_timeout, then fail them and stop. Work on the store
 * that is under way is always waited for: it has timeouts of its own; so is the hub
 * until it has heard that nobody waits for a task any more. */
void worker_drain(void *arg);

/* Drains when another process accepts in its place: idle connections may send one more request. */
void worker_hand_over(struct worker *w);

/* Drains a worker that stays: its listeners that are for others than clients stay open as well. It
 * serves again after worker_serve(), with the listeners that it is given then. */
void worker_rest(void *arg);
void worker_serve(struct worker *w);

#endif
