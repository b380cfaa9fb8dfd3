/* server_internal.h -- what the files of the daemon share: all there is of a running gateway.
 *
 * Members without a remark are set up in order by server_open.c, and taken down by server.c. All of it is
 * the main thread's. */
#ifndef ANTIPHON_DAEMON_SERVER_INTERNAL_H
#define ANTIPHON_DAEMON_SERVER_INTERNAL_H

#include "access/origin_policy.h"
#include "base/arena.h"
#include "config/config.h"
#include "daemon/metrics_setup.h"
#include "daemon/notify.h"
#include "ev/loop.h"
#include "flight/builtin_tools.h"
#include "flight/life.h"
#include "http/trusted_proxies.h"
#include "net/listen_passed.h"

struct admin;
struct drain;
struct key_table;
struct listen_address;
struct reload;
struct settings;
struct signals;
struct tls_listener;
struct trace_conf;
struct tracer;
struct upgrade;
struct upstream_pool;
struct upstream_table;
struct watchdog;
struct worker;

struct thread {
    struct server *server;
    struct worker *worker;
    struct loop_message begun, ended; /* to the server's loop */
    uv_thread_t id;
};

struct server {
    const struct config *config;
    const struct config_sources *sources; /* of it */
    const struct api_keys *keys;          /* at start */
    struct key_table *table;              /* as last read again; or NULL */
    struct settings *settings;            /* the same; or NULL */
    struct origin_policy origins;
    struct trusted_proxies trusted;
    struct arena memory;
    struct listen_passed_list passed; /* sockets that the process was started with */
    struct config_list listen;        /* the key, or what stands in its place */
    struct listen_address **addresses;
    struct http_listener *listeners; /* of the addresses */
    size_t n_addresses;
    struct tls_listener *tls; /* or NULL */
    struct store *store;
    str store_shown;                        /* where it is, as far as the log may know */
    struct call_memory *reasoning, *rounds; /* or NULL */
    struct cut_memory *cuts;                /* or NULL */
    struct answer_memory *answers;
    struct memory_keeper *keeper;      /* on the main loop */
    struct seal_keys *seal_keys;       /* of encrypted_content: of reasoning, and of ... */
    struct seal_keys *compaction_keys; /* ... compaction items; and ... */
    struct seal_keys *request_keys;    /* ... of requests that wait in the store */
    bool forgets_seals;                /* these end with the process */
    str compaction_prompt;             /* the operator's, in memory; or STR_NONE */
    struct mcp_config *servers;        /* as last read; or NULL */
    struct mcp_hub *hub;               /* or NULL */
    struct builtin_tools builtin;
    struct client_share *share; /* or NULL */
    struct rate_table *rates;
    struct worker **workers;
    struct thread *threads;
    struct pulses *pulses;
    struct running *running;
    struct admin *admin;
    struct background *background;
    unsigned n_workers, n_threads, n_begun, n_ended;
    struct buf file; /* of upstreams, as it was good last; or empty */
    str demo_base;   /* of the demo model; STR_NONE: there is none */
    struct upstream_pool *pool;
    struct upstream_table *upstreams;       /* as last read */
    struct upstream_table *first_upstreams; /* of the start, which flights of before have */
    struct loop_timer *key_timer;           /* looks at files with keys; or NULL */
    const struct trace_conf *trace_conf;
    struct tracer *tracer;    /* or NULL */
    struct demo *demo;        /* on the main loop, which ends last; or NULL */
    struct metrics_told told; /* to scrapes */
    struct loop *loop;        /* the main thread's: signals, and the ends of workers */
    struct life life;
    struct drain *drain;
    struct reload *reload;
    struct upgrade *upgrade;
    struct signals *signals;
    struct notify notify; /* the service manager, while this process is its main one */
    struct watchdog *watchdog;
    bool is_abandoned; /* by a signal during the start; a thread may still be at work */
};

/* The process that this one is to replace uses the store meanwhile, and goes on with it if this one fails. */
static inline bool server_replaces_another(const struct server *s)
{
    return s->passed.report_fd != -1;
}

#endif
