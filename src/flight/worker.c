/* worker.c -- start and end of a worker. */
#include "flight/worker.h"

#include <stdlib.h>

#include "access/api_key.h"
#include "access/key_table.h"
#include "flight/builtin_tools.h"
#include "flight/flight.h"
#include "flight/loop_lag.h"
#include "flight/reach.h"
#include "mcp/hub/mcp_hub.h"
#include "net/listen_address.h"
#include "upstream/upstream_table.h"

enum { DRAIN_CHECK_MS = 20, IDLE_UPSTREAM_CONNECTIONS = 256, KEPT_OUT_BYTES = 1024 * 1024 };

_Static_assert((int)CONFIG_MAX_LISTEN <= (int)HTTP_SERVER_LISTENERS, "all can be opened");

static struct http_server_conf server_conf(const struct worker *w)
{
    const struct config *c = w->config;

    return (struct http_server_conf){
        .max_head_bytes = c->max_head_bytes,
        .max_headers = c->max_headers,
        .max_large_heads_bytes = c->max_unfinished_heads_bytes / w->n_workers,
        .max_body_bytes = c->max_body_bytes,
        .max_body_ratio = c->max_body_ratio,
        .max_connections = (c->max_connections + w->n_workers - 1) / w->n_workers,
        .share = w->share,
        .trusted = w->trusted,
        .max_pending_bytes = c->max_pending_bytes,
        .head_timeout_ms = c->head_timeout_ms,
        .body_timeout_ms = c->body_timeout_ms,
        .body_total_ms = c->body_total_timeout_ms,
        .body_min_rate = c->body_min_rate_bytes,
        .keep_alive_ms = c->keep_alive_ms,
        .send_timeout_ms = c->send_timeout_ms,
        .cors = {c->cors_origins.items, c->cors_origins.n},
    };
}

static int listen_on_all(struct worker *w, const struct worker_conf *conf, struct err *reterr)
{
    for (size_t i = 0; i < conf->n_addresses; i++) {
        size_t n = listen_address_per_worker(conf->addresses[i], conf->n_workers);

        while (n-- > 0) {
            int fd = listen_address_fd(conf->addresses[i], reterr);

            if (fd == -1 || http_server_listen_as(w->server, fd, &conf->listeners[i], reterr) == -1)
                return -1;
        }
    }
    return 0;
}

static struct http_client_conf client_conf(const struct config *c)
{
    return (struct http_client_conf){
        .max_idle_connections = IDLE_UPSTREAM_CONNECTIONS,
        .ca_file = c->ca_file,
        .proxy = c->proxy,
        .verify_tls = c->tls_verify,
    };
}

static int open_client(struct worker *w, struct http_client **ret, struct http_client_conf conf,
                       struct err *reterr)
{
    *ret = http_client_new(w->loop, &conf);
    if (*ret != NULL)
        return 0;
    err_set(reterr, ERR_INTERNAL, "An HTTP client could not be set up.");
    return -1;
}

/* ---- clients for upstreams that are reached otherwise than the worker's own client does */

struct worker_client {
    char *ca_file, *proxy, *client_cert, *client_key; /* or NULL */
    bool verifies_tls;
    struct http_client *client;
    struct worker_client *next;
};

static bool is_reached_so(const struct http_client_conf *a, const struct http_client_conf *b)
{
    return a->verify_tls == b->verify_tls && str_same_c(a->ca_file, b->ca_file) &&
           str_same_c(a->proxy, b->proxy) && str_same_c(a->client_cert, b->client_cert) &&
           str_same_c(a->client_key, b->client_key);
}

static void free_clients(struct worker *w)
{
    struct worker_client *next;

    for (struct worker_client *c = w->clients; c != NULL; c = next) {
        next = c->next;
        http_client_free(c->client);
        free(c->ca_file);
        free(c->proxy);
        free(c->client_cert);
        free(c->client_key);
        free(c);
    }
    w->clients = NULL;
}

static char *copy_text(const char *text)
{
    return text == NULL ? NULL : strdup(text);
}

static struct http_client *add_client(struct worker *w, const struct http_client_conf *conf)
{
    struct worker_client *c = calloc(1, sizeof(*c));
    struct http_client_conf own = *conf;

    if (c == NULL)
        return NULL;
    c->next = w->clients;
    w->clients = c;
    c->verifies_tls = conf->verify_tls;
    own.ca_file = c->ca_file = copy_text(conf->ca_file);
    own.proxy = c->proxy = copy_text(conf->proxy);
    own.client_cert = c->client_cert = copy_text(conf->client_cert);
    own.client_key = c->client_key = copy_text(conf->client_key);
    if (is_reached_so(&own, conf))
        c->client = http_client_new(w->loop, &own);
    return c->client;
}

struct http_client *worker_client(struct worker *w, const struct upstream_entry *u)
{
    const struct http_client_conf own = client_conf(w->config);
    struct http_client_conf wanted = client_conf(u->config);

    wanted.client_cert = u->client_cert;
    wanted.client_key = u->client_key;
    if (is_reached_so(&wanted, &own))
        return w->client;
    for (const struct worker_client *c = w->clients; c != NULL; c = c->next) {
        const struct http_client_conf has = {.ca_file = c->ca_file,
                                             .proxy = c->proxy,
                                             .client_cert = c->client_cert,
                                             .client_key = c->client_key,
                                             .verify_tls = c->verifies_tls};

        if (c->client != NULL && is_reached_so(&wanted, &has))
            return c->client;
    }
    return add_client(w, &wanted);
}

bool worker_is_resolving(const struct worker *w)
{
    for (const struct worker_client *c = w->clients; c != NULL; c = c->next) {
        if (c->client != NULL && http_client_is_resolving(c->client))
            return true;
    }
    return http_client_is_resolving(w->client) ||
           (w->pages != NULL && http_client_is_resolving(w->pages));
}

/* What this worker searches the web with. */
static int open_search(struct worker *w, struct err *reterr)
{
    struct http_client_conf pages = client_conf(w->config);
    struct search_http_conf search;

    if (w->config->search_provider == CONFIG_SEARCH_PROVIDER_OFF)
        return 0;
    pages.may_connect = builtin_page_guard(w->config);
    if (w->config->page_fetch != CONFIG_PAGE_FETCH_OFF &&
        open_client(w, &w->pages, pages, reterr) == -1)
        return -1;
    if (!builtin_searches_by_http(w->config))
        return 0;
    search = builtin_search_conf(w->config);
    w->search = search_http_new(w->client, &search);
    if (w->search != NULL)
        return 0;
    return err_set_no_memory(reterr);
}

static void check_drained(void *arg);
static void take_keys(void *arg);

static int open_all(struct worker *w, const struct worker_conf *conf, struct err *reterr)
{
    const struct http_server_conf server = server_conf(w);

    w->loop = loop_new(reterr);
    if (w->loop == NULL)
        return -1;
    w->given = (struct loop_message){.fn = take_keys, .arg = w};
    w->drain_timer = loop_timer_new(w->loop, check_drained, w);
    if (w->drain_timer == NULL)
        return err_set_no_memory(reterr);
    if (open_client(w, &w->client, client_conf(conf->config), reterr) == -1 ||
        open_search(w, reterr) == -1)
        return -1;
    w->server = http_server_new(w->loop, &server, conf->on_request, w, reterr);
    if (w->server == NULL)
        return -1;
    http_server_judge_heads(w->server, conf->on_head);
    http_server_watch_ends(w->server, conf->on_end);
    return listen_on_all(w, conf, reterr);
}

void worker_apply_config(struct worker *w)
{
    const struct http_server_conf server = server_conf(w);

    http_server_configure(w->server, &server);
    reach_forget_profiles(w);
}

struct worker *worker_new(const struct worker_conf *conf, struct err *reterr)
{
    struct worker *w = calloc(1, sizeof(*w));

    if (w == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    w->config = conf->config;
    w->n_workers = conf->n_workers;
    w->share = conf->share;
    w->keys = conf->keys;
    atomic_init(&w->has_keys, w->keys->n > 0);
    w->origins = conf->origins;
    w->trusted = conf->trusted;
    w->ids = (struct id_source){random_fill, NULL};
    if (open_all(w, conf, reterr) == -1) {
        worker_free(w);
        return NULL;
    }
    return w;
}

void worker_free(struct worker *w)
{
    if (w == NULL)
        return;
    while (w->watchers != NULL)
        w->watchers->on_end(w->watchers->arg);
    flight_drop_all(w);
    if (w->server != NULL)
        http_server_close(w->server);
    search_http_free(w->search);
    http_client_free(w->pages);
    free_clients(w);
    http_client_free(w->client);
    reach_free_all(w); /* which count the connections of clients */
    if (w->at_end.fn != NULL)
        w->at_end.fn(w->at_end.arg);
    loop_timer_free(w->drain_timer);
    loop_lag_free(w->lag);
    if (w->loop != NULL)
        loop_free(w->loop);
    buf_fini(&w->out);
    upstream_route_memo_clear(&w->last_route);
    key_table_unref(w->table);
    key_table_unref(atomic_load(&w->given_table));
    free(w);
}

/* The loop's last turn may complete an upload, which begins something. */
void worker_run(struct worker *w)
{
    do {
        loop_run(w->loop);
    } while (loop_n_expected(w->loop) > 0);
}

static void take_keys(void *arg)
{
    struct worker *w = arg;
    struct key_table *given = atomic_exchange(&w->given_table, NULL);

    if (given == NULL)
        return; /* taken, when the message before this one came */
    key_table_unref(w->table);
    w->table = given;
    w->keys = key_table_keys(w->table);
    atomic_store(&w->has_keys, w->keys->n > 0);
    key_table_taken(given);
    for (struct worker_watcher *k = w->watchers, *next; k != NULL; k = next) {
        next = k->next;
        k->on_keys(k->arg);
    }
}

void worker_watch(struct worker *w, struct worker_watcher *watcher)
{
    watcher->next = w->watchers;
    watcher->link = &w->watchers;
    if (watcher->next != NULL)
        watcher->next->link = &watcher->next;
    w->watchers = watcher;
}

void worker_unwatch(struct worker_watcher *watcher)
{
    *watcher->link = watcher->next;
    if (watcher->next != NULL)
        watcher->next->link = watcher->link;
}

/* What the worker has not taken yet is overtaken. */
void worker_give_keys(struct worker *w, struct key_table *table)
{
    struct key_table *overtaken = atomic_exchange(&w->given_table, key_table_ref(table));

    if (overtaken != NULL)
        key_table_taken(overtaken);
    key_table_unref(overtaken);
    loop_post(w->loop, &w->given);
}

static bool has_servers(const struct worker *w)
{
    return w->hub != NULL && w->config->mcp_config != NULL;
}

struct mcp_snapshot *worker_mcp_servers(const struct worker *w)
{
    return has_servers(w) ? mcp_hub_snapshot(w->hub) : NULL;
}

void worker_shrink_out(struct worker *w)
{
    if (w->out.cap > KEPT_OUT_BYTES)
        buf_fini(&w->out);
}

/* ---- draining */

static void fail_all(struct worker *w)
{
    struct err e;

    err_set(&e, ERR_OVERLOADED, "The gateway is shutting down.");
    flight_end_all(w, &e);
}

/* Is there a request that is still coming in, and may be waited for? Who has just connected has a
 * moment. */
static bool has_coming(const struct worker *w)
{
    enum { NEW_MS = 500, COMING_MS = 5000 };
    const uint64_t passed_ms = loop_now_ms(w->loop) - w->drain_begin_ms;

    return passed_ms < COMING_MS &&
           http_server_coming(w->server, passed_ms < NEW_MS || w->is_handing_over) > 0;
}

/* Is anything of clients left? One that rests goes on answering others. */
static bool has_clients(const struct worker *w)
{
    if (!w->is_ending)
        return w->flights != NULL || has_coming(w);
    return http_server_exchanges(w->server) > 0 || w->n_runs > 0 || has_coming(w);
}

static void check_drained(void *arg)
{
    struct worker *w = arg;
    bool is_late = loop_now_ms(w->loop) >= w->drain_deadline_ms;

    if (is_late)
        fail_all(w);
    if (w->is_ending && loop_n_expected(w->loop) == 0 && (is_late || !has_clients(w)))
        loop_stop(w->loop);
    if (w->is_ending || has_clients(w))
        loop_timer_start(w->drain_timer, DRAIN_CHECK_MS);
}

static void start_draining(struct worker *w)
{
    struct err e;

    err_set(&e, ERR_OVERLOADED, "The gateway is shutting down.");
    flight_end_waiting(w, &e);
    w->is_draining = true;
    w->drain_begin_ms = loop_now_ms(w->loop);
    w->drain_deadline_ms = w->drain_begin_ms + w->config->drain_timeout_ms;
    check_drained(w);
}

void worker_drain(void *arg)
{
    struct worker *w = arg;

    if (w->is_ending)
        return;
    w->is_ending = true;
    http_server_drain(w->server);
    start_draining(w);
}

void worker_hand_over(struct worker *w)
{
    w->is_handing_over = true;
    http_server_keep_idle(w->server);
    worker_drain(w);
}

void worker_rest(void *arg)
{
    struct worker *w = arg;

    if (w->is_draining)
        return;
    http_server_rest(w->server);
    start_draining(w);
}

void worker_serve(struct worker *w)
{
    if (w->is_ending)
        return;
    w->is_draining = false;
    loop_timer_stop(w->drain_timer);
    http_server_serve(w->server);
}
