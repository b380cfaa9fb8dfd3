/* client_direct.c -- a call on a connection of our own.
 *
 *     idle connection ------------------------> send -> head -> body* -> end
 *     lookup -> dial -> new connection -------/  ^ |                     |
 *         ^                                        | closed, no answer   v
 *         +---- once, if it was an idle one -------+             idle, or closed
 *
 * Head and body of the request leave in one system call, from where they are:
 * what the kernel refuses is not copied. What is read of the answer is reported
 * from the loop's scratch buffer, in one piece for each read.
 *
 * A kept connection may be closed by its upstream in the moment we use it. When
 * it closes before the first byte of an answer the request is sent once more,
 * whatever its method: nothing was answered, and a model may be asked twice.
 *
 * A report may drop the call. So while bytes are being dealt with, a dropped
 * call is closed down but its memory stays until they have been, and with it the
 * views that were reported. */
#include "http/client_direct.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ev/loop.h"
#include "http/conn_pool.h"
#include "net/dial.h"
#include "net/h1_response.h"
#include "net/resolve.h"

enum { MAX_IDLE_MS = 118 * 1000 }; /* servers tend to close after two minutes */

struct direct_client {
    struct loop *loop;
    struct resolver *resolver;
    struct conn_pool *pool;
};

struct direct_call {
    struct http_call call; /* first: they are converted into each other */
    struct direct_client *client;
    struct origin *origin;

    struct resolve_wait wait; /* one of these three is under way */
    struct dial *dial;
    struct pool_conn *conn;

    struct buf request; /* its head; kept as long as it may have to be sent again */
    str body;           /* the caller's */
    const struct http_connection_count *count; /* the caller's, or NULL */
    uint64_t connect_ms;                       /* how long it took, if the call has connected */
    bool has_connected;
    struct iovec pieces[2];
    struct h1_response response;

    struct loop_timer *release; /* not NULL: held is to be dealt with when the call is resumed */
    struct buf held;            /* came together with the head, on which the caller paused */

    bool is_retried;
    bool is_receiving, is_dropped; /* both: to be freed when it is not receiving any more */
};

/* Wipes the request: there are credentials in its head. */
static void forget_request(struct direct_call *d)
{
    if (d->request.p != NULL)
        explicit_bzero(d->request.p, d->request.len);
    buf_fini(&d->request);
}

static void call_free(struct direct_call *d)
{
    h1_response_fini(&d->response);
    free(d);
}

static struct direct_call *direct_call_of(struct http_call *call)
{
    return (struct direct_call *)call;
}

static void fail_call(struct direct_call *d, const char *cause)
{
    struct err e;

    call_describe(&d->call, cause, &e);
    call_on_end(&d->call, &e);
}

static void fail_errno(struct direct_call *d, int error)
{
    char cause[CALL_CAUSE_BYTES];

    fail_call(d, call_cause_of_errno(error, cause));
}

/* --- the answer comes in -------------------------------------------------------- */

static const char *const faults[] = {
    [H1_FAULT_NONE] = CAUSE_CLOSED,
    [H1_FAULT_NOT_HTTP] = CAUSE_NOT_HTTP,
    [H1_FAULT_HEAD_LIMIT] = CAUSE_LARGE_HEAD,
    [H1_FAULT_CODING] = "its answer has a transfer coding that is not supported",
    [H1_FAULT_CHUNK] = "a chunk of its answer is malformed",
    [H1_FAULT_FRAMING] = "its answer has more chunk extensions or trailers than content",
    [H1_FAULT_NO_MEMORY] = CAUSE_LARGE_HEAD,
};

/* Ends a call whose answer is whole. Its connection is kept only if the request is out as well:
 * otherwise its rest would be taken for the next. */
static void finish_call(struct direct_call *d, bool is_clean)
{
    struct pool_conn *conn = d->conn;

    d->conn = NULL;
    if (is_clean && d->response.keep_alive && socket_pending(&conn->socket) == 0)
        conn_pool_release(conn);
    else
        conn_pool_close(conn);
    call_on_end(&d->call, NULL);
}

static void receive_body(struct direct_call *d, char *p, size_t n)
{
    str body;
    ssize_t used = h1_response_feed(&d->response, p, n, &body);

    if (body.len > 0)
        call_on_body(&d->call, body);
    if (d->is_dropped)
        return;
    if (used == -1)
        fail_call(d, faults[d->response.fault]);
    else if (d->response.state == H1_RESPONSE_DONE)
        finish_call(d, (size_t)used == n);
}

static bool report_head(struct direct_call *d)
{
    struct h1_response *r = &d->response;
    struct http_header *headers = calloc(r->n_headers + 1, sizeof(*headers));

    if (headers == NULL)
        return false;
    h1_response_headers(r, headers);
    if (socket_pending(&d->conn->socket) == 0)
        forget_request(d);
    call_on_head(&d->call, r->status, headers, r->n_headers);
    free(headers);
    return true;
}

static void on_release(void *arg);

/* Holds the beginning of the body, as the caller has paused on the head. */
static bool hold_body(struct direct_call *d, str rest)
{
    d->release = loop_timer_new(d->client->loop, on_release, d);
    buf_append(&d->held, rest);
    (void)buf_cstr(&d->held); /* the parser wants a pointer also when nothing came */
    socket_read(&d->conn->socket, false);
    return d->release != NULL && !buf_failed(&d->held);
}

static void receive_head(struct direct_call *d, char *p, size_t n)
{
    str body;
    ssize_t used = h1_response_feed(&d->response, p, n, &body);

    if (used == -1) {
        fail_call(d, faults[d->response.fault]);
        return;
    }
    if (d->response.state == H1_RESPONSE_HEAD)
        return;
    if (!report_head(d)) {
        fail_call(d, CAUSE_LARGE_HEAD);
        return;
    }
    if (d->is_dropped)
        return;
    h1_response_drop_head(&d->response);
    if (!d->call.paused)
        receive_body(d, p + used, n - (size_t)used);
    else if (!hold_body(d, str_from(p + used, n - (size_t)used)))
        fail_call(d, CAUSE_LARGE_HEAD);
}

static void on_bytes(void *arg, char *p, size_t n)
{
    struct direct_call *d = arg;

    d->is_receiving = true;
    if (d->response.state == H1_RESPONSE_HEAD)
        receive_head(d, p, n);
    else
        receive_body(d, p, n);
    d->is_receiving = false;
    if (d->is_dropped)
        call_free(d);
}

static void on_release(void *arg)
{
    struct direct_call *d = arg;
    struct buf held = d->held;

    if (d->call.paused)
        return;
    d->held = (struct buf){.limit = 0};
    loop_timer_free(d->release);
    d->release = NULL;
    socket_read(&d->conn->socket, true);
    on_bytes(d, held.p, held.len);
    buf_fini(&held);
}

/* --- the way to the upstream -------------------------------------------------------- */

static bool reach_upstream(struct direct_call *d);

static void retry_request(struct direct_call *d)
{
    d->is_retried = true;
    conn_pool_close(d->conn);
    d->conn = NULL;
    if (reach_upstream(d))
        call_watch_time(&d->call);
    else
        fail_errno(d, ENOMEM);
}

static void on_gone(void *arg, int error)
{
    struct direct_call *d = arg;

    if (!d->response.begun && d->conn->is_reused && !d->is_retried)
        retry_request(d);
    else if (error != 0)
        fail_call(d, CAUSE_CLOSED);
    else if (h1_response_end(&d->response))
        finish_call(d, false);
    else
        fail_call(d, d->response.begun ? CAUSE_CUT : CAUSE_NO_ANSWER);
}

static const struct pool_user pool_user = {on_bytes, on_gone};

static void send_request(struct direct_call *d)
{
    d->pieces[0] = socket_piece(buf_str(&d->request));
    d->pieces[1] = socket_piece(d->body);
    socket_lend(&d->conn->socket, d->pieces, d->body.len > 0 ? 2 : 1);
}

static void on_dialled(void *arg, int fd, int error)
{
    struct direct_call *d = arg;

    d->dial = NULL;
    if (fd == -1) {
        fail_errno(d, error);
        return;
    }
    d->conn = conn_pool_open(d->client->pool, d->origin, fd, &pool_user, d, NULL);
    if (d->conn == NULL) {
        fail_errno(d, ENOMEM);
        return;
    }
    conn_pool_count(d->conn, d->count);
    d->has_connected = true;
    d->connect_ms = loop_now_ms(d->client->loop) - d->call.connecting_ms;
    d->call.connecting_ms = 0;
    send_request(d);
}

static bool dial_addresses(struct direct_call *d, const struct address_list *addresses)
{
    struct address_list list = *addresses;

    address_set_port(&list, d->origin->port);
    d->dial = dial_start(d->client->loop, &list, on_dialled, d);
    return d->dial != NULL;
}

static void on_resolved(void *arg, const struct address_list *list)
{
    struct direct_call *d = arg;

    if (list == NULL)
        fail_call(d, CAUSE_NO_NAME);
    else if (!dial_addresses(d, list))
        fail_errno(d, ENOMEM);
}

/* Starts the way to the upstream; false when out of memory. The path fits: else there would be no
 * call. */
static bool reach_upstream(struct direct_call *d)
{
    struct address_list list = {.n = 0};

    d->call.connecting_ms = loop_now_ms(d->client->loop);
    d->wait.on_resolved = on_resolved;
    d->wait.arg = d;
    if (d->origin->is_unix)
        return address_of_path(str_from_c(d->origin->name), &list) && dial_addresses(d, &list);
    if (resolver_get(d->client->resolver, d->origin->name, &d->wait, &list))
        return dial_addresses(d, &list);
    return d->wait.link != NULL;
}

/* --- what http_client.c wants -------------------------------------------------------- */

static void on_paused(struct http_call *call)
{
    struct direct_call *d = direct_call_of(call);

    if (d->release != NULL) {
        if (!call->paused)
            loop_timer_start(d->release, 0);
    } else if (d->conn != NULL) {
        /* The head is wanted also while the caller has paused. */
        socket_read(&d->conn->socket, !call->paused || !call->head_done);
    }
}

static void drop_call(struct http_call *call)
{
    struct direct_call *d = direct_call_of(call);

    resolve_cancel(&d->wait);
    dial_cancel(d->dial);
    if (d->conn != NULL)
        conn_pool_close(d->conn);
    origin_unref(d->origin);
    forget_request(d);
    buf_fini(&d->held);
    loop_timer_free(d->release);
    d->is_dropped = true;
    if (!d->is_receiving)
        call_free(d);
}

static bool is_connected(const struct http_call *call)
{
    return ((const struct direct_call *)call)->conn != NULL;
}

static bool connect_time(const struct http_call *call, uint64_t *ret_ms)
{
    const struct direct_call *d = (const struct direct_call *)call;

    *ret_ms = d->connect_ms;
    return d->has_connected;
}

static void write_where(const struct http_call *call, char out[CALL_WHERE_BYTES])
{
    const struct origin *o = ((const struct direct_call *)call)->origin;
    bool has_colon = strchr(o->name, ':') != NULL; /* an IPv6 address */

    if (o->is_unix)
        (void)snprintf(out, CALL_WHERE_BYTES, "%s", o->name);
    else
        (void)snprintf(out, CALL_WHERE_BYTES, has_colon ? "[%s]:%u" : "%s:%u", o->name, o->port);
}

static void write_field(struct buf *out, str name, str value)
{
    buf_append(out, name);
    buf_c(out, ": ");
    buf_append(out, value);
    buf_c(out, "\r\n");
}

/* Room for the head, at least its size, so that it never moves and leaves a copy behind. */
static size_t head_size(const struct http_call_conf *conf, const struct http_url *url)
{
    enum { FRAME = 128, FIELD_FRAME = 4 };
    size_t n = FRAME + strlen(conf->method) + url->target.len + url->authority.len;

    for (size_t i = 0; i < conf->n_headers; i++)
        n += conf->headers[i].name.len + conf->headers[i].value.len + FIELD_FRAME;
    return n;
}

static void write_request(const struct http_call_conf *conf, const struct http_url *url,
                          struct buf *out)
{
    bool has_host = false;

    (void)buf_reserve(out, head_size(conf, url));
    buf_c(out, conf->method);
    buf_c(out, str_starts_with(url->target, STR("/")) ? " " : " /");
    buf_append(out, url->target);
    buf_c(out, " HTTP/1.1\r\n");
    for (size_t i = 0; i < conf->n_headers; i++) {
        has_host = has_host || str_eq_nocase(conf->headers[i].name, STR("host"));
        write_field(out, conf->headers[i].name, conf->headers[i].value);
    }
    if (!has_host)
        write_field(out, STR("Host"), url->authority);
    if (call_sends_body(conf)) {
        buf_c(out, "Content-Length: ");
        buf_uint(out, conf->body.len);
        buf_c(out, "\r\n");
    }
    buf_c(out, "\r\n");
}

static bool check_path(const struct http_url *url, struct err *reterr)
{
    struct address_list list;

    if (str_is_none(url->socket_path) || address_of_path(url->socket_path, &list))
        return true;
    err_set(reterr, ERR_INTERNAL, "The path of the upstream server's socket is too long.");
    return false;
}

static struct direct_call *call_new(struct direct_client *client, const struct http_url *url,
                                    struct err *reterr)
{
    struct origin *origin = conn_pool_origin(client->pool, url);
    struct direct_call *d = origin == NULL ? NULL : calloc(1, sizeof(*d));

    if (d == NULL) {
        if (origin != NULL)
            origin_unref(origin);
        err_set_no_memory(reterr);
        return NULL;
    }
    d->client = client;
    d->origin = origin;
    return d;
}

struct http_call *direct_client_start(struct direct_client *client,
                                      const struct http_call_conf *conf, const struct http_url *url,
                                      struct err *reterr)
{
    static const struct call_transport transport = {on_paused, drop_call, is_connected,
                                                    connect_time, write_where};
    struct direct_call *d = check_path(url, reterr) ? call_new(client, url, reterr) : NULL;

    if (d == NULL)
        return NULL;
    d->call.transport = &transport;
    d->body = conf->body;
    d->count = conf->count;
    write_request(conf, url, &d->request);
    h1_response_init(&d->response, CALL_MAX_HEAD_BYTES, strcmp(conf->method, "HEAD") == 0);
    if (!conf->is_unique)
        d->conn = conn_pool_take(client->pool, d->origin, &pool_user, d);
    if (buf_failed(&d->request) || (d->conn == NULL && !reach_upstream(d))) {
        drop_call(&d->call);
        err_set_no_memory(reterr);
        return NULL;
    }
    if (d->conn != NULL)
        send_request(d);
    return &d->call;
}

/* --- the client --------------------------------------------------------------------- */

struct direct_client *direct_client_new(struct loop *loop, size_t max_idle_connections)
{
    struct direct_client *client = calloc(1, sizeof(*client));

    if (client == NULL)
        return NULL;
    client->loop = loop;
    client->resolver = resolver_new(loop);
    client->pool = conn_pool_new(loop, max_idle_connections, MAX_IDLE_MS);
    if (client->resolver == NULL || client->pool == NULL) {
        direct_client_free(client);
        return NULL;
    }
    return client;
}

bool direct_client_is_resolving(const struct direct_client *client)
{
    return resolver_is_busy(client->resolver);
}

void direct_client_free(struct direct_client *client)
{
    if (client == NULL)
        return;
    resolver_free(client->resolver);
    conn_pool_free(client->pool);
    free(client);
}
