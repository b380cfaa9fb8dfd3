/* http_server.c -- the listeners, limits, and the list of connections.
 *
 * A connection over the limit is answered 503 and lingers like every other last
 * answer, so that its client finds the answer and no reset. That takes a place
 * for a while, and there is a bounded number of these too: when all are taken,
 * new connections wait in the kernel's backlog until one of either kind is free. */
#include "http/http_server.h"

#include <stdlib.h>
#include <unistd.h>

#include "ev/log.h"
#include "http/client_share.h"
#include "http/http_conn.h"
#include "net/listen_address.h"

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
    for (size_t i = 0; i < server->n_listeners; i++)
        listener_pause(server->listeners[i].listener, waits);
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

static void refuse_connection(struct http_server *server, int fd, const char *peer,
                              const char *limit, const char *message)
{
    struct http_conn *c;
    struct err e;

    log_refused(server, peer, limit);
    c = conn_open(server, fd, peer);
    if (c == NULL)
        return;
    c->refused = true;
    server->n_refused++;
    err_set(&e, ERR_OVERLOADED, "%s", message);
    conn_refuse(c, &e);
    server_balance(server);
}

/* A client that has more than its share is answered as long as that takes none of the places
 * which others need; then its connections are reset. */
static void refuse_client(struct http_server *server, int fd, const char *peer)
{
    if (server->n_refused < MAX_REFUSED / 2)
        refuse_connection(server, fd, peer, "max_connections_per_client",
                          "Too many connections are open from your address.");
    else
        (void)close(fd);
}

static void on_accept(void *arg, int fd, const char *peer)
{
    const struct server_listener *l = arg;
    struct http_server *server = l->server;
    struct client_share *share = server->conf.share;
    uint64_t key = share == NULL ? 0 : client_share_key(peer);
    struct http_conn *c;

    if (is_full(server))
        conn_make_place(server);
    if (is_full(server)) {
        refuse_connection(server, fd, peer, "max_connections",
                          "The server has too many open connections.");
    } else if (!client_share_take(share, key)) {
        refuse_client(server, fd, peer);
    } else if ((c = conn_open(server, fd, peer)) != NULL) {
        c->share_key = key;
        c->on_loopback = l->is_loopback;
    } else {
        client_share_give_back(share, key);
    }
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
    server->conf = *conf;
    server->limits = (struct h1_limits){
        .max_head_bytes = conf->max_head_bytes,
        .max_headers = conf->max_headers,
        .max_body_bytes = conf->max_body_bytes,
    };
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

int http_server_listen(struct http_server *server, int fd, struct err *reterr)
{
    struct server_listener *l = &server->listeners[server->n_listeners];

    if (server->n_listeners == HTTP_SERVER_LISTENERS) {
        (void)close(fd);
        err_set(reterr, ERR_INTERNAL, "listen: more than %d addresses", HTTP_SERVER_LISTENERS);
        return -1;
    }
    *l = (struct server_listener){.server = server, .is_loopback = listen_is_loopback(fd)};
    l->listener = listener_open(server->loop, fd, on_accept, l, reterr);
    if (l->listener == NULL)
        return -1;
    server->n_listeners++;
    return 0;
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

static void stop_listening(struct http_server *server)
{
    for (size_t i = 0; i < server->n_listeners; i++)
        listener_close(server->listeners[i].listener);
    server->n_listeners = 0;
}

void http_server_drain(struct http_server *server)
{
    server->draining = true;
    stop_listening(server);
    for (struct http_conn *c = server->conns; c != NULL; c = c->next) {
        if (c->state == CONN_IDLE)
            conn_close(c);
        else if (c->state == CONN_WEBSOCKET)
            websocket_drain(c->websocket);
    }
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
    stop_listening(server);
    for (struct http_conn *c = server->conns; c != NULL; c = c->next) {
        if (c->state == CONN_WEBSOCKET)
            websocket_end(c->websocket);
        conn_close(c);
    }
    server->closing = true;
    server_release(server);
}
