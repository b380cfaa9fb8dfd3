/* server.c -- the daemon: start and end.
 *
 * The main thread sets everything up (server_open.c), starts one thread for each worker, and then turns
 * its loop until the last of them has ended: signals (signals.c), what is read again (reload.c), the
 * drain (drain.c). */
#include "daemon/server.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "access/key_table.h"
#include "access/rate_table.h"
#include "admin/admin.h"
#include "background/background.h"
#include "daemon/addresses.h"
#include "daemon/announce.h"
#include "daemon/drain.h"
#include "daemon/mcp_servers.h"
#include "daemon/reload.h"
#include "daemon/server_internal.h"
#include "daemon/server_open.h"
#include "daemon/signals.h"
#include "daemon/tls_listener.h"
#include "daemon/upgrade.h"
#include "daemon/upstreams.h"
#include "daemon/watchdog.h"
#include "demo/demo.h"
#include "ev/log.h"
#include "flight/pulse.h"
#include "flight/settings.h"
#include "flight/worker.h"
#include "http/client_share.h"
#include "memory/answer_memory.h"
#include "memory/call_memory.h"
#include "memory/cut_memory.h"
#include "memory/memory_keeper.h"
#include "resume/running.h"
#include "store/store.h"
#include "trace/export/tracer.h"
#include "turn/owner_seal.h"
#include "upstream/upstream_pool.h"

/* ---- beginning */

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

/* ---- running */

static void on_worker_end(void *arg)
{
    struct server *s = arg;

    if (++s->n_ended == s->n_threads)
        loop_stop(s->loop);
}

/* Every loop turns, if it began before the end. */
static void on_worker_begin(void *arg)
{
    struct server *s = arg;
    enum life_phase starting = LIFE_STARTING;

    if (++s->n_begun < s->n_threads)
        return;
    (void)atomic_compare_exchange_strong(&s->life.phase, &starting, LIFE_SERVING);
    announce_listening(s);
    log_line(LOG_INFO, "ready", (struct log_field[]){LOG_END});
    if (!server_replaces_another(s))
        notify_send(&s->notify, "READY=1\nMAINPID=%ld", (long)getpid());
    upgrade_report(s, NULL); /* then the former process says who the main one is */
}

static void run_worker(void *arg)
{
    struct thread *t = arg;

    loop_post(t->server->loop, &t->begun);
    worker_run(t->worker);
    running_close(t->server->running, t->worker->loop);
    admin_close_worker(t->server->admin, t->worker);
    pulses_end(t->server->pulses, t->worker->loop);
    watchdog_end_loop(t->server->watchdog, t->worker->loop);
    loop_post(t->server->loop, &t->ended);
}

static int start_threads(struct server *s, struct err *reterr)
{
    for (; s->n_threads < s->n_workers; s->n_threads++) {
        struct thread *t = &s->threads[s->n_threads];

        *t = (struct thread){.server = s, .worker = s->workers[s->n_threads]};
        t->begun = (struct loop_message){.fn = on_worker_begin, .arg = s};
        t->ended = (struct loop_message){.fn = on_worker_end, .arg = s};
        if (uv_thread_create(&t->id, run_worker, t) != 0) {
            err_set(reterr, ERR_INTERNAL, "a worker thread could not be started");
            return -1;
        }
    }
    return 0;
}

static int run_until_signal(struct server *s, struct err *reterr)
{
    s->drain = drain_new(s, reterr);
    if (s->drain == NULL)
        return -1;
    s->reload = reload_new(s, reterr);
    s->upgrade = upgrade_new(s, reterr);
    if (s->reload == NULL || s->upgrade == NULL || signals_watch(s, reterr) == -1)
        return -1;
    s->watchdog = watchdog_new(s, reterr);
    if (s->watchdog == NULL)
        return -1;
    if (start_threads(s, reterr) == -1) {
        drain_to_end(s->drain);
        if (s->n_threads > 0)
            loop_run(s->loop);
        return -1;
    }
    loop_run(s->loop);           /* until the last worker has ended */
    signals_release(s->signals); /* MCP servers may take their time: the next one ends us */
    return 0;
}

static bool is_resolving(const struct server *s)
{
    if (upstream_pool_is_resolving(s->pool))
        return true;
    for (unsigned i = 0; i < s->n_threads; i++) {
        if (worker_is_resolving(s->workers[i]))
            return true;
    }
    return false;
}

/* Spans have what is left of drain_timeout, and some seconds in any case. */
static void close_tracer(struct server *s)
{
    enum { LEAST_MS = 1000, MOST_MS = 3000 };
    uint64_t left_ms = s->drain == NULL ? 0 : drain_left_ms(s->drain);

    if (left_ms < LEAST_MS)
        left_ms = LEAST_MS;
    for (unsigned i = 0; s->workers != NULL && i < s->n_workers; i++) {
        if (s->workers[i] != NULL)
            s->workers[i]->tracer = NULL;
    }
    tracer_close(s->tracer, left_ms > MOST_MS ? MOST_MS : left_ms);
    s->tracer = NULL;
}

static void tear_down(struct server *s, int status)
{
    bool is_over;

    for (unsigned i = 0; i < s->n_threads; i++)
        (void)uv_thread_join(&s->threads[i].id);
    store_close(s->store); /* no worker ends before its tasks, there and at the hub */
    is_over = mcp_hub_free(s->hub);
    is_over = builtin_tools_close(&s->builtin) && is_over;
    close_tracer(s);
    if (status == EXIT_SUCCESS)
        log_line(LOG_INFO, "stopped", (struct log_field[]){LOG_END});
    addresses_close(s);
    if (!is_over || s->is_abandoned || is_resolving(s)) {
        log_stop();
        _exit(status); /* everybody has been answered: nobody is to wait for a silent name server */
    }
    demo_close(s->demo);
    drain_free(s->drain);
    upgrade_close(s->upgrade);
    reload_free(s->reload);
    watchdog_free(s->watchdog);
    notify_close(&s->notify);
    for (unsigned i = 0; s->workers != NULL && i < s->n_workers; i++)
        worker_free(s->workers[i]);
    admin_free(s->admin);
    background_free(s->background);
    client_share_free(s->share);
    rate_table_free(s->rates);
    upstreams_close(s);
    memory_keeper_free(s->keeper);
    call_memory_free(s->reasoning);
    call_memory_free(s->rounds);
    cut_memory_free(s->cuts);
    answer_memory_free(s->answers);
    seal_keys_free(s->seal_keys);
    seal_keys_free(s->compaction_keys);
    seal_keys_free(s->request_keys);
    mcp_config_unref(s->servers);
    key_table_unref(s->table);
    tls_listener_free(s->tls);
    settings_unref(s->settings);
    if (s->loop != NULL)
        loop_free(s->loop);
    signals_free(s->signals);
    upgrade_free(s->upgrade);
    free(s->workers);
    free(s->threads);
    pulses_free(s->pulses);
    running_free(s->running);
    metrics_close();
    arena_fini(&s->memory);
}

static void ask_drain(void *arg)
{
    const struct server *s = arg;

    drain_ask(s->drain, true);
}

static void ask_take_back(void *arg)
{
    const struct server *s = arg;

    drain_ask(s->drain, false);
}

static void ask_reload(void *arg, struct life_reload *reload)
{
    const struct server *s = arg;

    reload_ask(s->reload, reload);
}

static const struct life_ops life_ops = {ask_drain, ask_take_back, ask_reload};

int server_run(const struct config *config, const struct config_sources *sources,
               const struct api_keys *keys, struct mcp_config *servers,
               const struct trace_conf *traces)
{
    struct server s = {.config = config,
                       .sources = sources,
                       .keys = keys,
                       .servers = servers,
                       .life = {.ops = &life_ops},
                       .trace_conf = traces,
                       .n_workers =
                           config->workers != 0 ? config->workers : uv_available_parallelism()};
    enum { EXIT_TOO_NEW = 3 }; /* a newer version has made the store */
    int status = EXIT_FAILURE;
    struct err e;

    s.life.arg = &s;
    (void)notify_open(&s.notify, getenv("NOTIFY_SOCKET"));
    notify_send(&s.notify, "STATUS=Starting");
    signals_ignore();
    raise_descriptor_limit(config);
    memory_set_up(config, s.n_workers);
    loop_pool_size(s.n_workers);
    s.workers = calloc(s.n_workers, sizeof(struct worker *));
    s.threads = calloc(s.n_workers, sizeof(*s.threads));
    s.pulses = pulses_new(s.n_workers);
    s.running = running_new(s.n_workers);
    s.loop = loop_new(&e);
    if (s.workers == NULL || s.threads == NULL || s.pulses == NULL || s.running == NULL)
        err_set_no_memory(&e);
    else if (s.loop != NULL && server_open(&s, &e) == 0 && run_until_signal(&s, &e) == 0)
        status = EXIT_SUCCESS;
    if (s.is_abandoned) {
        status = EXIT_SUCCESS; /* what it was told to do */
    } else if (status != EXIT_SUCCESS) {
        log_msg(LOG_ERROR, "%s", e.msg);
        upgrade_report(&s, e.msg);
        status = store_is_too_new(&e) ? EXIT_TOO_NEW : EXIT_FAILURE;
    }
    tear_down(&s, status);
    return status;
}
