/* server.c -- the daemon: workers, signals, start and end.
 *
 * The main thread sets everything up, starts one thread for each worker, and
 * waits for a signal. The first SIGINT or SIGTERM drains the workers, the
 * second ends the process at once. SIGHUP has the MCP servers and the keys of
 * clients read again. */
#include "daemon/server.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "access/api_key.h"
#include "access/key_table.h"
#include "access/origin_policy.h"
#include "base/num.h"
#include "base/url.h"
#include "daemon/mcp_servers.h"
#include "daemon/seal_secret.h"
#include "daemon/state_conf.h"
#include "daemon/store_wait.h"
#include "demo/demo.h"
#include "ev/log.h"
#include "flight/builtin_tools.h"
#include "flight/pulse.h"
#include "flight/worker.h"
#include "front/router.h"
#include "http/client_share.h"
#include "memory/call_memory.h"
#include "memory/cut_memory.h"
#include "memory/memory_keeper.h"
#include "net/listen_address.h"
#include "turn/compaction_prompt.h"
#include "turn/owner_seal.h"
#include "upstream/token_memory.h"
#include "upstream/upstream_watch.h"

struct server {
    const struct config *config;
    const struct config_sources *sources; /* of it */
    const struct api_keys *keys;          /* at start */
    struct key_table *table;              /* as last read again; or NULL */
    struct origin_policy origins;
    struct arena memory;
    struct listen_address **addresses;
    size_t n_addresses;
    struct store *store;
    str store_shown;                        /* where it is, as far as the log may know */
    struct call_memory *reasoning, *rounds; /* or NULL */
    struct cut_memory *cuts;                /* or NULL */
    struct token_memory *counts;            /* or NULL */
    struct memory_keeper *keeper;           /* on the main loop */
    struct seal_keys *seal_keys;            /* of encrypted_content: of reasoning, and of ... */
    struct seal_keys *compaction_keys;      /* ... compaction items */
    bool forgets_seals;                     /* these end with the process */
    str compaction_prompt;                  /* the operator's, in memory; or STR_NONE */
    struct mcp_config *servers;             /* as last read; or NULL */
    struct mcp_hub *hub;                    /* or NULL */
    struct builtin_tools builtin;
    struct client_share *share; /* or NULL */
    struct worker **workers;
    struct thread *threads;
    struct pulses *pulses;
    unsigned n_workers, n_threads, n_ended;
    struct upstream_watch *watch; /* or NULL */
    struct demo *demo;            /* on the main loop, which ends last; or NULL */
    str upstream, authorization;
    struct loop *loop; /* the main thread's: signals, and the ends of workers */
    uv_signal_t on_int, on_term, on_hup, on_usr1;
    bool is_stopping;
    bool is_abandoned; /* by a signal during the start; a thread may still be at work */
};

struct thread {
    struct server *server;
    struct worker *worker;
    struct loop_message drain, ended; /* to the worker's loop; to the server's */
    uv_thread_t id;
};

/* ---- setting up */

/* The usual soft limit is low for the sake of programs that use select(); the
 * hard one is what the administrator means. A client that waits for the
 * upstream holds two descriptors, one on each side. */
static void raise_descriptor_limit(const struct config *c)
{
    const uint64_t needed = 2 * (uint64_t)c->max_connections;
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == -1)
        return;
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) == -1 && getrlimit(RLIMIT_NOFILE, &files) == -1)
        return;
    log_line(LOG_DEBUG, "descriptors",
             (struct log_field[]){LOG_INT("limit", files.rlim_cur), LOG_END});
    if (files.rlim_cur < needed)
        log_msg(LOG_WARN,
                "max_connections %llu may need %llu open files, the limit is %llu: raise it "
                "(ulimit -n, LimitNOFILE) or lower max_connections",
                (unsigned long long)c->max_connections, (unsigned long long)needed,
                (unsigned long long)files.rlim_cur);
}

static int open_addresses(struct server *s, struct err *reterr)
{
    const struct config_list *listen = &s->config->listen;

    s->addresses = arena_array(&s->memory, listen->n, sizeof(struct listen_address *));
    if (s->addresses == NULL)
        return err_set_no_memory(reterr);
    for (; s->n_addresses < listen->n; s->n_addresses++) {
        s->addresses[s->n_addresses] = listen_address_open(listen->items[s->n_addresses], reterr);
        if (s->addresses[s->n_addresses] == NULL)
            return -1;
    }
    return 0;
}

/* Closes the addresses: no new client can connect. */
static void close_addresses(struct server *s)
{
    while (s->n_addresses > 0)
        listen_address_close(s->addresses[--s->n_addresses]);
}

/* Opens the addresses and closes them again, so that one that is taken is reported before the store
 * is waited for. Clients are refused as long as that takes, since nobody would answer them. */
static int check_addresses(struct server *s, struct err *reterr)
{
    int rc = open_addresses(s, reterr);

    close_addresses(s);
    return rc;
}

static int open_store(struct server *s, struct err *reterr)
{
    const struct store_conf conf = state_conf(s->config, &s->memory);
    struct url url;

    if (conf.url == NULL)
        return err_set_no_memory(reterr);
    url = url_split(str_from_c(conf.url));
    /* A password may stand behind the scheme. */
    s->store_shown = str_is_none(url.authority) ? str_from_c(conf.url) : url.scheme;
    switch (store_wait_open(&conf, s->config->store_start_timeout_ms, s->loop, &s->store, reterr)) {
    case STORE_WAIT_OPEN:
        return 0;
    case STORE_WAIT_ABANDONED:
        s->is_abandoned = true;
        return -1;
    case STORE_WAIT_FAILED:
        break;
    }
    return -1;
}

static int open_memories(struct server *s, struct err *reterr)
{
    const struct config *c = s->config;

    if (c->reasoning_cache > 0)
        s->reasoning = call_memory_new(c->reasoning_cache, c->reasoning_cache_size_bytes, reterr);
    if (c->reasoning_cache > 0 && s->reasoning == NULL)
        return -1;
    if (c->call_memory > 0)
        s->rounds = call_memory_new(c->call_memory, c->call_memory_size_bytes, reterr);
    return c->call_memory > 0 && s->rounds == NULL ? -1 : 0;
}

static int open_keeper(struct server *s, struct err *reterr)
{
    enum { N = 2 };
    struct call_memory *const memories[N] = {s->reasoning, s->rounds};

    s->keeper = memory_keeper_new(s->loop, memories, N, reterr);
    return s->keeper == NULL ? -1 : 0;
}

static int open_cuts(struct server *s, struct err *reterr)
{
    if (s->config->truncation_cache == 0)
        return 0;
    s->cuts = cut_memory_new(s->config->truncation_cache, reterr);
    return s->cuts == NULL ? -1 : 0;
}

static int open_counts(struct server *s, struct err *reterr)
{
    const struct token_memory_conf conf = {.max_entries = s->config->count_cache,
                                           .lifetime_ms = s->config->count_cache_time_ms};

    if (s->config->count_by == CONFIG_COUNT_BY_OFF)
        return 0;
    s->counts = token_memory_new(&conf, reterr);
    return s->counts == NULL ? -1 : 0;
}

static int open_seal(struct server *s, struct err *reterr)
{
    const struct store_conf conf = state_conf(s->config, &s->memory);
    struct config_list secrets;

    if (conf.url == NULL)
        return err_set_no_memory(reterr);
    if (seal_secret_find(s->config, conf.url, &s->memory, &secrets, reterr) == -1)
        return -1;
    s->forgets_seals = secrets.n == 0;
    s->seal_keys = owner_seal_reasoning_keys(&secrets, reterr);
    s->compaction_keys = owner_seal_compaction_keys(&secrets, reterr);
    return s->seal_keys == NULL || s->compaction_keys == NULL ? -1 : 0;
}

/* The file was good when the configuration was checked. */
static int load_compaction_prompt(struct server *s, struct err *reterr)
{
    struct config_problems problems = {.n_kept = 0};
    int rc = compaction_prompt_load(s->config, &s->memory, &s->compaction_prompt, &problems);

    if (rc == -1)
        err_set(reterr, ERR_INTERNAL, "%s", problems.n_kept > 0 ? problems.kept[0].text : "");
    config_problems_fini(&problems);
    return rc;
}

/* Opens the tools before there are children: control groups cannot be made among them. */
static int open_builtin(struct server *s, struct err *reterr)
{
    return builtin_tools_open(&s->builtin, s->config, reterr);
}

static int open_hub(struct server *s, struct err *reterr)
{
    const struct mcp_hub_conf conf = mcp_servers_hub_conf(s->config, s->servers);

    if (!mcp_servers_need_hub(s->config, s->servers))
        return 0;
    s->hub = mcp_hub_new(&conf, reterr);
    return s->hub == NULL ? -1 : 0;
}

static int set_upstream(struct server *s, struct err *reterr)
{
    const struct config *c = s->config;
    struct buf text = {.limit = 0};

    if (c->upstream != NULL) {
        s->upstream = config_upstream_base(&s->memory, str_from_c(c->upstream));
    } else {
        s->demo = demo_open(s->loop, reterr);
        if (s->demo == NULL)
            return -1;
        buf_c(&text, "http://127.0.0.1:");
        buf_int(&text, demo_port(s->demo));
        buf_c(&text, "/v1");
        s->upstream = arena_dup(&s->memory, buf_str(&text));
        buf_fini(&text);
    }
    s->authorization = config_upstream_authorization(&s->memory, c);
    return 0;
}

/* Watches the upstream, unless that is the demo, which is known. */
static int open_watch(struct server *s, struct err *reterr)
{
    if (s->demo != NULL)
        return 0;
    s->watch = upstream_watch_new(s->loop, s->config, s->upstream, s->authorization, reterr);
    return s->watch == NULL ? -1 : 0;
}

/* The share of a client is half of all connections when no number is given: enough for a proxy on
 * another machine, and for a network behind one address, and it leaves as many to others. */
static int open_share(struct server *s, struct err *reterr)
{
    const struct config *c = s->config;
    uint64_t most = (c->max_connections + 1) / 2;

    (void)num_uint(str_from_c(c->max_connections_per_client), &most); /* auto is no number */
    if (most == 0 || most >= c->max_connections)
        return 0;
    s->share = client_share_new(most, c->max_connections + s->n_workers, reterr);
    return s->share == NULL ? -1 : 0;
}

static int open_workers(struct server *s, struct err *reterr)
{
    const struct worker_conf conf = {.config = s->config,
                                     .keys = s->keys,
                                     .origins = &s->origins,
                                     .addresses = s->addresses,
                                     .n_addresses = s->n_addresses,
                                     .n_workers = s->n_workers,
                                     .share = s->share,
                                     .on_head = router_on_head,
                                     .on_request = router_on_request};

    if (origin_policy_make(s->config, s->keys->n > 0, &s->memory, &s->origins) == -1)
        return err_set_no_memory(reterr);
    for (unsigned i = 0; i < s->n_workers; i++) {
        s->workers[i] = worker_new(&conf, reterr);
        if (s->workers[i] == NULL)
            return -1;
    }
    if (set_upstream(s, reterr) == -1 || open_watch(s, reterr) == -1)
        return -1;
    for (unsigned i = 0; i < s->n_workers; i++) {
        s->workers[i]->upstream = s->upstream;
        s->workers[i]->authorization = s->authorization;
        s->workers[i]->watch = s->watch;
        s->workers[i]->store = s->store;
        s->workers[i]->reasoning = s->reasoning;
        s->workers[i]->rounds = s->rounds;
        s->workers[i]->cuts = s->cuts;
        s->workers[i]->counts = s->counts;
        s->workers[i]->seal_keys = s->seal_keys;
        s->workers[i]->forgets_seals = s->forgets_seals;
        s->workers[i]->compaction_keys = s->compaction_keys;
        s->workers[i]->compaction_prompt = s->compaction_prompt;
        s->workers[i]->hub = s->hub;
        s->workers[i]->builtin = &s->builtin;
        s->workers[i]->pulses = s->pulses;
        pulses_add(s->pulses, s->workers[i]->loop);
    }
    return 0;
}

/* ---- running */

static void on_worker_end(void *arg)
{
    struct server *s = arg;

    if (++s->n_ended == s->n_threads)
        loop_stop(s->loop);
}

static void run_worker(void *arg)
{
    struct thread *t = arg;

    worker_run(t->worker);
    loop_post(t->server->loop, &t->ended);
}

static void drain_workers(struct server *s)
{
    close_addresses(s);
    for (unsigned i = 0; i < s->n_threads; i++)
        loop_post(s->workers[i]->loop, &s->threads[i].drain);
}

static void on_signal(uv_signal_t *handle, int signal)
{
    struct server *s = handle->data;

    if (s->is_stopping) {
        log_msg(LOG_WARN, "second signal: exit without waiting for running responses");
        log_stop();
        _exit(128 + signal);
    }
    s->is_stopping = true;
    drain_workers(s);
    log_line(LOG_INFO, "stopping",
             (struct log_field[]){LOG_INT("signal", signal),
                                  LOG_INT("drain_timeout_ms", s->config->drain_timeout_ms),
                                  LOG_END});
}

static void log_reload(const char *part, bool is_good)
{
    log_line(is_good ? LOG_INFO : LOG_ERROR, "reload",
             (struct log_field[]){LOG_STR("part", str_from_c(part)),
                                  LOG_STR("result", is_good ? STR("ok") : STR("error")), LOG_END});
}

static void reload_servers(struct server *s)
{
    struct mcp_config *now = mcp_servers_reload(s->config, s->servers);

    log_reload("mcp", now != NULL);
    if (now == NULL)
        return;
    mcp_hub_reload(s->hub, now);
    mcp_config_unref(s->servers);
    s->servers = now;
}

/* The owners of the table before may be those of turns that run; their texts stay. */
static void reload_keys(struct server *s)
{
    const struct api_keys *former = s->table != NULL ? key_table_keys(s->table) : s->keys;
    struct key_table *now = key_table_reload(s->sources, former, &s->memory, s->n_threads);

    if (now == NULL)
        return;
    key_table_unref(s->table);
    s->table = now;
    for (unsigned i = 0; i < s->n_threads; i++)
        worker_give_keys(s->workers[i], now);
}

static void on_hangup(uv_signal_t *handle, int signal)
{
    struct server *s = handle->data;

    (void)signal;
    if (s->is_stopping)
        return;
    if (s->servers != NULL)
        reload_servers(s);
    if (keys_are_in_file(s->config))
        reload_keys(s);
}

/* SIGUSR1 comes from tools for log rotation: the gateway has no log file to open again. */
static void on_rotation(uv_signal_t *handle, int signal)
{
    (void)handle;
    log_line(LOG_DEBUG, "ignored", (struct log_field[]){LOG_INT("signal", signal), LOG_END});
}

/* Ignores the signals of what is an error where it happens: a peer that has left, a store that may
 * not grow. And SIGUSR1, until it is watched. */
static void ignore_signals(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)signal(SIGUSR1, SIG_IGN);
}

static bool watch_signal(struct server *s, uv_signal_t *handle, uv_signal_cb on, int signal)
{
    handle->data = s;
    return uv_signal_init(loop_uv(s->loop), handle) == 0 &&
           uv_signal_start(handle, on, signal) == 0;
}

/* Without a file to read again SIGHUP keeps its meaning: the terminal has been closed. */
static int start_signals(struct server *s, struct err *reterr)
{
    if (watch_signal(s, &s->on_int, on_signal, SIGINT) &&
        watch_signal(s, &s->on_term, on_signal, SIGTERM) &&
        watch_signal(s, &s->on_usr1, on_rotation, SIGUSR1) &&
        ((s->servers == NULL && !keys_are_in_file(s->config)) ||
         watch_signal(s, &s->on_hup, on_hangup, SIGHUP)))
        return 0;
    err_set(reterr, ERR_INTERNAL, "signals cannot be watched");
    return -1;
}

static int start_threads(struct server *s, struct err *reterr)
{
    for (; s->n_threads < s->n_workers; s->n_threads++) {
        struct thread *t = &s->threads[s->n_threads];

        *t = (struct thread){.server = s, .worker = s->workers[s->n_threads]};
        t->drain = (struct loop_message){.fn = worker_drain, .arg = t->worker};
        t->ended = (struct loop_message){.fn = on_worker_end, .arg = s};
        if (uv_thread_create(&t->id, run_worker, t) != 0) {
            err_set(reterr, ERR_INTERNAL, "a worker thread could not be started");
            return -1;
        }
    }
    return 0;
}

static void log_listening(const struct server *s)
{
    struct buf addresses = {.limit = 0};

    for (size_t i = 0; i < s->n_addresses; i++) {
        buf_c(&addresses, i == 0 ? "" : ",");
        buf_c(&addresses, listen_address_text(s->addresses[i]));
    }
    log_line(LOG_INFO, "listening",
             (struct log_field[]){LOG_STR("address", buf_str(&addresses)),
                                  LOG_STR("upstream", s->demo != NULL ? STR("demo") : s->upstream),
                                  LOG_STR("store", s->store_shown),
                                  LOG_INT("workers", s->n_workers), LOG_END});
    buf_fini(&addresses);
    if (s->demo != NULL)
        log_msg(LOG_INFO, "no upstream is configured: the built-in demo model answers");
}

/* Writes how curl is told to go to an address. */
static void write_target(const char *address, struct buf *out)
{
    if (str_starts_with(str_from_c(address), STR("unix:"))) {
        buf_c(out, "--unix-socket ");
        buf_c(out, address + strlen("unix:"));
        buf_c(out, " http://localhost");
    } else {
        buf_c(out, address[0] == ':' ? "http://localhost" : "http://");
        buf_c(out, address);
    }
}

/* Prints a command to paste: the demo is for people who try things out. */
static void print_curl(const struct server *s)
{
    struct buf text = {.limit = 0};

    buf_c(&text, "\nTry it:\n\n");
    for (size_t i = 0; i < s->n_addresses; i++) {
        buf_c(&text, "  curl -N ");
        write_target(listen_address_text(s->addresses[i]), &text);
        buf_c(&text, "/v1/responses -H 'Content-Type: application/json' \\\n");
        buf_c(&text, s->keys->n > 0 ? "    -H 'Authorization: Bearer KEY' \\\n" : "");
        buf_c(&text, "    -d '{\"model\":\"demo\",\"input\":\"Hello!\",\"stream\":true}'\n\n");
    }
    log_print(buf_str(&text));
    buf_fini(&text);
}

static int run_until_signal(struct server *s, struct err *reterr)
{
    if (start_signals(s, reterr) == -1)
        return -1;
    if (start_threads(s, reterr) == -1) {
        drain_workers(s);
        if (s->n_threads > 0)
            loop_run(s->loop);
        return -1;
    }
    log_listening(s);
    if (s->demo != NULL)
        print_curl(s);
    loop_run(s->loop);                /* until the last worker has ended */
    (void)uv_signal_stop(&s->on_int); /* MCP servers may take their time: the next one ends us */
    (void)uv_signal_stop(&s->on_term);
    return 0;
}

static bool is_resolving(const struct server *s)
{
    if (upstream_watch_is_resolving(s->watch))
        return true;
    for (unsigned i = 0; i < s->n_threads; i++) {
        const struct worker *w = s->workers[i];

        if (http_client_is_resolving(w->client) ||
            (w->pages != NULL && http_client_is_resolving(w->pages)))
            return true;
    }
    return false;
}

static void tear_down(struct server *s, int status)
{
    bool is_over;

    for (unsigned i = 0; i < s->n_threads; i++)
        (void)uv_thread_join(&s->threads[i].id);
    store_close(s->store); /* no worker ends before its tasks, there and at the hub */
    is_over = mcp_hub_free(s->hub);
    is_over = builtin_tools_close(&s->builtin) && is_over;
    if (status == EXIT_SUCCESS)
        log_msg(LOG_INFO, "stopped");
    close_addresses(s);
    if (!is_over || s->is_abandoned || is_resolving(s)) {
        log_stop();
        _exit(status); /* everybody has been answered: nobody is to wait for a silent name server */
    }
    demo_close(s->demo);
    for (unsigned i = 0; s->workers != NULL && i < s->n_workers; i++)
        worker_free(s->workers[i]);
    client_share_free(s->share);
    upstream_watch_free(s->watch);
    memory_keeper_free(s->keeper);
    call_memory_free(s->reasoning);
    call_memory_free(s->rounds);
    cut_memory_free(s->cuts);
    token_memory_free(s->counts);
    seal_keys_free(s->seal_keys);
    seal_keys_free(s->compaction_keys);
    mcp_config_unref(s->servers);
    key_table_unref(s->table);
    if (s->loop != NULL)
        loop_free(s->loop);
    free(s->workers);
    free(s->threads);
    pulses_free(s->pulses);
    arena_fini(&s->memory);
}

int server_run(const struct config *config, const struct config_sources *sources,
               const struct api_keys *keys, struct mcp_config *servers)
{
    struct server s = {.config = config,
                       .sources = sources,
                       .keys = keys,
                       .servers = servers,
                       .n_workers =
                           config->workers != 0 ? config->workers : uv_available_parallelism()};
    enum { EXIT_TOO_NEW = 3 }; /* a newer version has made the store */
    int status = EXIT_FAILURE;
    struct err e;

    ignore_signals();
    raise_descriptor_limit(config);
    memory_set_up(config, s.n_workers);
    loop_pool_size(s.n_workers);
    s.workers = calloc(s.n_workers, sizeof(struct worker *));
    s.threads = calloc(s.n_workers, sizeof(*s.threads));
    s.pulses = pulses_new(s.n_workers);
    s.loop = loop_new(&e);
    if (s.workers == NULL || s.threads == NULL || s.pulses == NULL)
        err_set_no_memory(&e);
    else if (s.loop != NULL && check_addresses(&s, &e) == 0 && open_store(&s, &e) == 0 &&
             open_addresses(&s, &e) == 0 && open_memories(&s, &e) == 0 &&
             open_keeper(&s, &e) == 0 && open_cuts(&s, &e) == 0 && open_counts(&s, &e) == 0 &&
             open_seal(&s, &e) == 0 && load_compaction_prompt(&s, &e) == 0 &&
             open_builtin(&s, &e) == 0 && open_hub(&s, &e) == 0 && open_share(&s, &e) == 0 &&
             open_workers(&s, &e) == 0 && run_until_signal(&s, &e) == 0)
        status = EXIT_SUCCESS;
    if (s.is_abandoned) {
        status = EXIT_SUCCESS; /* what it was told to do */
    } else if (status != EXIT_SUCCESS) {
        log_msg(LOG_ERROR, "%s", e.msg);
        status = store_is_too_new(&e) ? EXIT_TOO_NEW : EXIT_FAILURE;
    }
    tear_down(&s, status);
    return status;
}
