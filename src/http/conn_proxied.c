/* conn_proxied.c -- connections and requests that come through proxies: who the client is.
 *
 * On a listener with +proxy the first bytes are a PROXY header (net/proxy_header), and whoever is silent
 * about it does not hold a place for long. What stands in it takes the place of the peer. Behind that, for
 * each request, the headers of proxies that are trusted (http/trusted_proxies). */
#include <string.h>

#include "base/budget.h"
#include "base/listen_spec.h"
#include "ev/log.h"
#include "http/client_share.h"
#include "http/http_conn.h"
#include "http/trusted_proxies.h"
#include "metrics/metrics.h"
#include "net/proxy_header.h"
#include "tls/tls_channel.h"

enum {
    HEADER_MS = 3000,
    LOG_REFUSED_MS = 10000,
};

/* True when the peer speaks for many, so that its connections are not a client's. */
static bool is_trusted(const struct http_server *server, const char *peer)
{
    return server->conf.trusted != NULL &&
           trusted_proxies_have(server->conf.trusted, str_from_c(peer));
}

uint64_t conn_proxied_share_key(const struct http_server *server,
                                const struct http_listener *listener, const char *peer)
{
    if (server->conf.share == NULL || (listener->marks & LISTEN_PROXY) != 0 ||
        is_trusted(server, peer))
        return 0;
    return client_share_key(peer);
}

void conn_proxied_await(struct http_conn *c)
{
    c->state = CONN_PROXY;
    conn_set_deadline(c, loop_now_ms(c->server->loop) + HEADER_MS);
}

/* ---- the PROXY header */

static void log_refused(struct http_conn *c, const char *why)
{
    struct http_server *server = c->server;
    uint64_t now_ms = loop_now_ms(server->loop);

    if (server->log_proxy_ms > now_ms)
        return;
    server->log_proxy_ms = now_ms + LOG_REFUSED_MS;
    log_line(LOG_WARN, "proxy_header_refused",
             (struct log_field[]){LOG_STR("client", str_from_c(c->peer)),
                                  LOG_STR("listener", str_from_c(c->listener->text)),
                                  LOG_STR("error", str_from_c(why)), LOG_END});
}

void conn_proxied_late(struct http_conn *c)
{
    log_refused(c, "no PROXY header: none came in time");
    conn_close(c);
}

/* The client of the header is the one that counts from now on. False when it has its share of
 * connections: it has been told. */
static bool take_client(struct http_conn *c, const struct proxy_header *header)
{
    struct client_share *share = c->server->conf.share;
    uint64_t key;
    struct err e;

    c->is_proxied = true; /* a proxy that names nobody may speak for anybody */
    if (header->keeps_peer)
        return true;
    memcpy(c->peer, header->client, sizeof(c->peer));
    key = share == NULL || is_trusted(c->server, c->peer) ? 0 : client_share_key(c->peer);
    if (client_share_take(share, key)) {
        c->share_key = key;
        return true;
    }
    metrics_count(METRIC_REJECTED, METRIC_REJECTION_CLIENT_CONNECTIONS);
    if (c->listener->tls != NULL) { /* whose client would not understand it */
        tls_result_count(TLS_REFUSED);
        conn_close(c);
        return false;
    }
    err_set(&e, ERR_OVERLOADED, "Too many connections are open from your address.");
    conn_refuse(c, &e);
    return false;
}

/* Reads the header at the beginning of all that has come. Returns its length, 0 when more is needed, or -1
 * when the connection is closed. */
static ssize_t read_header(struct http_conn *c, str all)
{
    struct proxy_header header;
    struct err e;
    ssize_t used = proxy_header_read(all, &header, &e);

    if (used == -1) {
        log_refused(c, e.msg);
        conn_close(c);
    } else if (used > 0 && !take_client(c, &header)) {
        return -1;
    }
    return used;
}

/* What came before waits where later requests do; it is taken from there meanwhile, since the bytes behind
 * the header may be kept there as well. */
void conn_proxied_bytes(struct http_conn *c, str bytes)
{
    enum budget_use before = budget_use_for(BUDGET_CONNECTION);
    struct buf held = c->ahead;
    ssize_t used;

    c->ahead = (struct buf){.limit = 0};
    buf_append(&held, bytes);
    used = buf_failed(&held) ? -1 : read_header(c, buf_str(&held));
    if (buf_failed(&held))
        conn_close(c);
    if (used == 0) {
        c->ahead = held;
        held = (struct buf){.limit = 0};
    } else if (used > 0) {
        (void)conn_begin(c, str_skip(buf_str(&held), (size_t)used));
    }
    buf_fini(&held);
    (void)budget_use_for(before);
}

/* ---- headers of requests */

int conn_proxied_read_request(struct http_conn *c)
{
    const struct trusted_proxies *trusted = c->server->conf.trusted;
    struct http_request *r = &c->x.request;
    char client[PEER_TEXT_BYTES];

    r->is_proxied = c->is_proxied;
    r->is_https = (c->listener->marks & LISTEN_TLS) != 0;
    if (!is_trusted(c->server, c->peer))
        return 0;
    if (!str_is_none(http_request_header(r, STR("x-forwarded-proto"))))
        r->is_https = trusted_proxies_say_https(r);
    if (trusted_proxies_client(trusted, r, client))
        r->peer = arena_dup(&c->x.arena, str_from_c(client));
    return str_is_none(r->peer) ? -1 : 0;
}
