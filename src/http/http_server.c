/* http_server.c -- the listeners, limits, and the list of connections.
 *
 * A connection over the limit is answered 503 and lingers like every other last
 * answer, so that its client finds the answer and no reset. That takes a place
 * for a while, and there is a bounded number of these too: when all are taken,
 * new connections wait in the kernel's backlog until one of either kind is free. */
#include "http/http_server.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/listen_spec.h"
#include "ev/log.h"
#include "http/client_share.h"
#include "http/http_conn.h"
#include "http/http_metrics.h"
#include "net/listen_address.h"
#include "tls/tls_files.h"

enum {
    MAX_REFUSED = 512, /* connections over the limit that may be busy reading their 503 */
    LOG_FULL_MS = 10000,
};

static bool is_full(const struct http_server *server)
{
    return server->n_open - server->n_refused >= server->conf.max_connections;
}

/* New connections wait while there is no place for them, not even to be refused. */
void server_balance(struct http_server *server)
{
    bool waits = server->n_refused >= MAX_REFUSED && is_full(server);

    if (waits == server->listeners_wait)
        return;
    server->listeners_wait = waits;
    for (size_t i = 0; i < HTTP_SERVER_LISTENERS; i++) {
        if (server->listeners[i].listener != NULL)
            listener_pause(server->listeners[i].listener, waits);
    }
}

static void log_refused(struct http_server *server, const char *peer, const char *why)
{
    uint64_t now_ms = loop_now_ms(server->loop);

    if (server->log_full_ms > now_ms)
        return;
    server->log_full_ms = now_ms + LOG_FULL_MS;
    log_line(LOG_WARN, "connections refused",
             (struct log_field[]){LOG_STR("client", str_from_c(peer)),
                                  LOG_STR("limit", str_from_c(why)),
                                  LOG_INT("open", server->n_open), LOG_END});
}

static void refuse_connection(const struct server_listener *l, int fd, const char *peer,
                              const char *limit, const char *message)
{
    struct http_server *server = l->server;
    struct http_conn *c;
    struct err e;

    log_refused(server, peer, limit);
    c = conn_open(server, fd, peer, &l->about);
    if (c == NULL)
        return;
    c->refused = true;
    server->n_refused++;
    err_set(&e, ERR_OVERLOADED, "%s", message);
    conn_refuse(c, &e);
    server_balance(server);
}

/* A client of TLS cannot be told anything before a handshake, which would take a place for as long as
 * the client likes: so its connection is shut at once. */
static void refuse_handshake(const struct server_listener *l, int fd, const char *peer,
                             const char *limit)
{
    log_refused(l->server, peer, limit);
    tls_result_count(TLS_REFUSED);
    (void)close(fd);
}

/* A client that has more than its share is answered as long as that takes none of the places
 * which others need; then its connections are reset. */
static void refuse_client(const struct server_listener *l, int fd, const char *peer)
{
    if (l->about.tls != NULL)
        refuse_handshake(l, fd, peer, "max_connections_per_client");
    else if (l->server->n_refused < MAX_REFUSED / 2)
        refuse_connection(l, fd, peer, "max_connections_per_client",
                          "Too many connections are open from your address.");
    else
        (void)close(fd);
}

static void on_accept(void *arg, int fd, const char *peer)
{
    const struct server_listener *l = arg;
    struct http_server *server = l->server;
    struct client_share *share = server->conf.share;
    uint64_t key = conn_proxied_share_key(server, &l->about, peer);
    struct http_conn *c;

    if (is_full(server))
        conn_make_place(server);
    if (is_full(server))
        metrics_count(METRIC_REJECTED, METRIC_REJECTION_CONNECTIONS);
    if (is_full(server) && l->about.tls != NULL) {
        refuse_handshake(l, fd, peer, "max_connections");
    } else if (is_full(server)) {
        refuse_connection(l, fd, peer, "max_connections",
                          "The server has too many open connections.");
    } else if (!client_share_take(share, key)) {
        metrics_count(METRIC_REJECTED, METRIC_REJECTION_CLIENT_CONNECTIONS);
        refuse_client(l, fd, peer);
    } else if ((c = conn_open(server, fd, peer, &l->about)) != NULL) {
        c->share_key = key;
    } else {
        client_share_give_back(share, key);
    }
}

void http_server_configure(struct http_server *server, const struct http_server_conf *conf)
{
    server->conf = *conf;
    server->limits = (struct h1_limits){
        .max_head_bytes = conf->max_head_bytes,
        .max_headers = conf->max_headers,
        .max_body_bytes = conf->max_body_bytes,
    };
}

struct http_server *http_server_new(struct loop *loop, const struct http_server_conf *conf,
                                    http_server_on_request *on_request, void *arg,
                                    struct err *reterr)
{
    struct http_server *server = calloc(1, sizeof(*server));

    if (server == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    server->loop = loop;
    http_server_configure(server, conf);
    TAILQ_INIT(&server->large_heads);
    TAILQ_INIT(&server->lingering);
    server->on_request = on_request;
    server->arg = arg;
    return server;
}

void http_server_judge_heads(struct http_server *server, http_server_on_head *on_head)
{
    server->on_head = on_head;
}

void http_server_watch_ends(struct http_server *server, http_server_on_end *on_end)
{
    server->on_end = on_end;
}

static bool is_for_operators(const struct server_listener *l)
{
    return (l->about.marks & (LISTEN_METRICS | LISTEN_ADMIN)) != 0;
}

/* A listener comes where one with its number was, for the sake of connections that know it, or where
 * none was. */
static struct server_listener *find_place(struct http_server *server, unsigned number)
{
    struct server_listener *unused = NULL;

    for (size_t i = 0; i < HTTP_SERVER_LISTENERS; i++) {
        struct server_listener *l = &server->listeners[i];

        if (l->server != NULL && l->listener == NULL && l->about.number == number)
            return l;
        if (l->server == NULL && unused == NULL)
            unused = l;
    }
    return unused;
}

int http_server_listen_as(struct http_server *server, int fd, const struct http_listener *listener,
                          struct err *reterr)
{
    struct server_listener *l = find_place(server, listener->number);

    if (l == NULL) {
        (void)close(fd);
        err_set(reterr, ERR_INTERNAL, "listen: more than %d addresses", HTTP_SERVER_LISTENERS);
        return -1;
    }
    *l = (struct server_listener){.server = server, .about = *listener};
    l->about.is_loopback = listen_is_loopback(fd);
    l->about.is_unix = listen_is_unix(fd);
    l->listener = listener_open(server->loop, fd, on_accept, l, reterr);
    if (l->listener == NULL)
        return -1;
    listener_pause(l->listener, server->listeners_wait);
    http_metrics_listen(&l->about);
    return 0;
}

int http_server_listen(struct http_server *server, int fd, struct err *reterr)
{
    return http_server_listen_as(server, fd, &(struct http_listener){.text = ""}, reterr);
}

struct http_server *http_server_open(struct loop *loop, const char *address,
                                     const struct http_server_conf *conf,
                                     http_server_on_request *on_request, void *arg,
                                     struct err *reterr)
{
    struct http_server *server;
    int fd = listen_tcp(address, reterr);

    if (fd == -1)
        return NULL;
    server = http_server_new(loop, conf, on_request, arg, reterr);
    if (server == NULL) {
        (void)close(fd);
        return NULL;
    }
    if (http_server_listen(server, fd, reterr) == -1) {
        http_server_close(server);
        return NULL;
    }
    server->port = listener_port(server->listeners[0].listener);
    return server;
}

int http_server_port(const struct http_server *server)
{
    return server->port;
}

size_t http_server_connections(const struct http_server *server)
{
    return server->n_open;
}

size_t http_server_exchanges(const struct http_server *server)
{
    return server->n_exchanges;
}

struct http_server_counts http_server_count(const struct http_server *server)
{
    struct http_server_counts counts = {.n_idle = 0};

    for (const struct http_conn *c = server->conns; c != NULL; c = c->next) {
        counts.n_idle += c->state <= CONN_IDLE;
        counts.n_active += c->state > CONN_IDLE && c->state < CONN_WEBSOCKET;
        counts.n_websockets += c->state == CONN_WEBSOCKET;
    }
    return counts;
}

/* Another process has the socket as well: its successor, or the service manager. */
static bool is_left_to_others(const struct server_listener *l)
{
    const struct listen_spec spec = listen_spec_of(l->about.text);

    return l->server->keeps_idle || listen_spec_is_descriptor(&spec);
}

/* Who was let in by the kernel is a client that will not try again. */
static void take_waiting(const struct server_listener *l)
{
    if (l->listener != NULL && !is_left_to_others(l))
        listener_take_waiting(l->listener);
}

static void close_listener(struct server_listener *l)
{
    listener_close(l->listener);
    l->listener = NULL;
}

/* Closes the listeners: all of them, or those of clients. */
static void stop_listening(struct http_server *server, bool all)
{
    for (size_t i = 0; i < HTTP_SERVER_LISTENERS; i++) {
        struct server_listener *l = &server->listeners[i];

        if (l->server == NULL || (is_for_operators(l) && !all))
            continue;
        take_waiting(l);
        close_listener(l);
    }
}

/* Has its client just connected, or may it stay for another reason? */
static bool is_new(const struct http_conn *c)
{
    return c->server->keeps_idle || !c->has_answered;
}

/* Is a request to be expected? What has been sent may not have been read yet. */
static bool is_awaited(const struct http_conn *c, bool with_new)
{
    return c->state <= CONN_IDLE && ((with_new && is_new(c)) || conn_has_bytes(c));
}

size_t http_server_coming(const struct http_server *server, bool with_new)
{
    size_t n = 0;

    for (const struct http_conn *c = server->conns; c != NULL; c = c->next)
        n += c->state == CONN_HEAD || c->state == CONN_BODY || is_awaited(c, with_new);
    return n;
}

void http_server_keep_idle(struct http_server *server)
{
    server->keeps_idle = true;
}

static void drain_connections(struct http_server *server)
{
    server->draining = true;
    for (struct http_conn *c = server->conns; c != NULL; c = c->next) {
        if (c->state == CONN_IDLE && !is_awaited(c, true))
            conn_close(c);
        else if (c->state == CONN_WEBSOCKET)
            websocket_drain(c->websocket);
    }
}

void http_server_drain(struct http_server *server)
{
    stop_listening(server, true);
    drain_connections(server);
}

void http_server_rest(struct http_server *server)
{
    stop_listening(server, false);
    drain_connections(server);
}

void http_server_serve(struct http_server *server)
{
    server->draining = false;
}

void server_release(struct http_server *server)
{
    if (!server->closing || server->conns != NULL)
        return;
    buf_fini(&server->head);
    buf_fini(&server->body);
    free(server);
}

/* Closed connections stay in the list until their memory goes; the last one
 * takes the server with it. */
void http_server_close(struct http_server *server)
{
    if (server == NULL)
        return;
    for (size_t i = 0; i < HTTP_SERVER_LISTENERS; i++)
        close_listener(&server->listeners[i]);
    for (struct http_conn *c = server->conns; c != NULL; c = c->next) {
        if (c->state == CONN_WEBSOCKET)
            websocket_end(c->websocket);
        conn_close(c);
    }
    server->closing = true;
    server_release(server);
}
