/* http_conn.c -- the life of a connection: bytes in, exchanges, time, the end.
 *
 * Two rules keep it simple. Owners are called from the loop only: what an
 * http_exchange_ call brings about (the next request, on_blocked) is left to
 * conn_settle(), which runs after the batch of events. And the last answer is
 * followed by a lingering close: closing a socket with unread bytes resets it,
 * and the reset can overtake the answer. */
#include "http/http_conn.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/listen_spec.h"
#include "ev/log.h"
#include "http/client_share.h"
#include "http/http_metrics.h"
#include "tls/tls_files.h"

enum {
    /* Budget of a connection, for itself and what else it holds besides buffers and arenas: its
     * timer, a small job that answers its request, the connection to the upstream. */
    CONN_BYTES = 4096,
    LINGER_MS = 5000,          /* without a byte */
    LINGER_TOTAL_MS = 30000,   /* whatever comes: a client may be slow to send its last */
    LINGER_LEAST_MS = 1000,    /* to read the answer, even if others find no place */
    LINGER_REFUSED_MS = 10000, /* for connections over max_connections, whose places are few */
    LINGER_BYTES = 64 * 1024 * 1024, /* of a refused upload that a client insists on sending */
};

static void conn_settle(void *arg);

/* --- time ------------------------------------------------------------------ */

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A later deadline leaves the timer as it is: it will look again when it fires.
 * So a busy connection rarely touches the timer queue. */
static void deadline_set(struct http_conn *c, uint64_t after_ms)
{
    c->deadline_ms = after_ms == 0 ? 0 : loop_now_ms(c->server->loop) + after_ms;
    if (c->deadline_ms == 0 || (c->timer_ms != 0 && c->timer_ms <= c->deadline_ms))
        return;
    c->timer_ms = c->deadline_ms;
    loop_timer_start(c->timer, after_ms);
}

void conn_set_deadline(struct http_conn *c, uint64_t due_ms)
{
    uint64_t now = loop_now_ms(c->server->loop);

    deadline_set(c, due_ms == 0 ? 0 : due_ms > now ? due_ms - now : 1);
}

static void conn_gone(void *arg);

/* Notes how a TLS handshake has ended. */
static void handshake_end(const struct http_conn *c, enum tls_result result)
{
    tls_result_count(result);
    if (result != TLS_OK)
        log_line(LOG_DEBUG, "tls",
                 (struct log_field[]){LOG_STR("handshake", str_from_c(tls_result_word(result))),
                                      LOG_STR("client", str_from_c(c->peer)),
                                      LOG_STR("listener", str_from_c(c->listener->text)), LOG_END});
}

static bool is_late(const struct http_conn *c)
{
    return c->deadline_ms != 0 && loop_now_ms(c->server->loop) >= c->deadline_ms;
}

static void on_timer(void *arg)
{
    struct http_conn *c = arg;
    uint64_t now = loop_now_ms(c->server->loop);
    struct err late;

    c->timer_ms = 0;
    if (c->deadline_ms == 0)
        return;
    if (c->deadline_ms > now) {
        deadline_set(c, c->deadline_ms - now);
    } else if (c->state == CONN_HEAD || c->state == CONN_BODY) {
        err_set(&late, ERR_REQUEST_TIMEOUT, "The request did not arrive in time.");
        conn_refuse(c, &late);
    } else if (c->state == CONN_WEBSOCKET) {
        websocket_on_time(c->websocket);
    } else if (c->state == CONN_PROXY) {
        conn_proxied_late(c);
    } else {
        conn_gone(c);
    }
}

/* --- the end ----------------------------------------------------------------- */

static void exchange_fini(struct http_exchange *x)
{
    arena_fini(&x->arena);
    exchange_free_decoded(x);
    x->is_open = false;
}

void conn_forget_http(struct http_conn *c)
{
    exchange_fini(&c->x);
    h1_fini(&c->h1);
}

static void conn_free(struct http_conn *c)
{
    struct http_server *server = c->server;

    *c->link = c->next;
    if (c->next != NULL)
        c->next->link = c->link;
    conn_forget_http(c);
    buf_fini(&c->ahead);
    websocket_free(c->websocket);
    budget_free(c, CONN_BYTES);
    server_release(server);
}

static void on_socket_closed(void *arg)
{
    struct http_conn *c = arg;

    c->is_memory_free = true;
    if (!loop_message_is_under_way(&c->settle) && !c->is_held)
        conn_free(c);
}

void http_exchange_hold(struct http_exchange *x)
{
    x->conn->is_held = true;
}

void http_exchange_release(struct http_exchange *x)
{
    struct http_conn *c = x->conn;

    c->is_held = false;
    if (c->is_memory_free && !loop_message_is_under_way(&c->settle))
        conn_free(c);
}

/* Gives up everything but the memory and the descriptor. */
static void leave_server(struct http_conn *c)
{
    c->server->n_exchanges -= c->state >= CONN_ANSWER && c->state <= CONN_WEBSOCKET;
    c->server->n_open--;
    c->server->n_refused -= c->refused;
    if (c->state == CONN_LINGER && !c->refused)
        TAILQ_REMOVE(&c->server->lingering, c, by_linger);
    c->state = CONN_CLOSED;
    http_metrics_end(&c->x);
    http_metrics_note_state(c);
    loop_timer_free(c->timer);
    c->timer = NULL;
    large_head_forget(c);
    client_share_give_back(c->server->conf.share, c->share_key);
    exchange_stop_decoding(&c->x);
    server_balance(c->server);
}

void conn_close(struct http_conn *c)
{
    if (c->state == CONN_CLOSED)
        return;
    leave_server(c);
    socket_close(&c->socket);
}

void conn_reset(struct http_conn *c)
{
    if (c->state == CONN_CLOSED)
        return;
    leave_server(c);
    socket_reset(&c->socket);
}

void conn_tell_end(struct http_conn *c)
{
    struct http_exchange *x = &c->x;

    if (!x->is_open || x->is_told)
        return;
    x->is_told = true;
    x->traffic.bytes_in = c->h1.body.len;
    if (c->server->on_end != NULL)
        c->server->on_end(c->server->arg, x);
}

/* The client went away, or took nothing for too long. */
static void conn_gone(void *arg)
{
    struct http_conn *c = arg;
    bool awaited = c->state == CONN_ANSWER, is_websocket = c->state == CONN_WEBSOCKET;

    if (c->state == CONN_HANDSHAKE)
        handshake_end(c, is_late(c) ? TLS_TIMEOUT : TLS_GONE);
    conn_close(c);
    if (awaited && c->x.handler != NULL)
        c->x.handler->on_gone(c->x.arg);
    else if (is_websocket)
        websocket_on_lost(c->websocket);
    conn_tell_end(c);
}

void conn_lose(struct http_conn *c)
{
    conn_gone(c);
}

static void linger_deadline_set(struct http_conn *c)
{
    uint64_t now = loop_now_ms(c->server->loop);
    uint64_t until = c->linger_since_ms + (c->refused ? LINGER_REFUSED_MS : LINGER_TOTAL_MS);

    if (now >= until)
        conn_close(c);
    else
        deadline_set(c, sooner(LINGER_MS, until - now));
}

void conn_linger(struct http_conn *c)
{
    c->state = CONN_LINGER;
    c->linger_since_ms = loop_now_ms(c->server->loop);
    if (!c->refused)
        TAILQ_INSERT_TAIL(&c->server->lingering, c, by_linger);
    buf_fini(&c->ahead);
    h1_fini(&c->h1);
    socket_shutdown(&c->socket);
    socket_read(&c->socket, true);
    linger_deadline_set(c);
}

void conn_make_place(struct http_server *server)
{
    struct http_conn *oldest = TAILQ_FIRST(&server->lingering);

    if (oldest != NULL && loop_now_ms(server->loop) >= oldest->linger_since_ms + LINGER_LEAST_MS)
        conn_close(oldest);
}

/* Counts bytes behind the last request, which are thrown away. */
static void drain_bytes(struct http_conn *c, size_t n)
{
    c->drained_bytes += n;
    if (c->drained_bytes > LINGER_BYTES)
        conn_gone(c);
    else if (c->state == CONN_LINGER)
        linger_deadline_set(c);
}

/* --- an exchange ------------------------------------------------------------- */

/* Fills the request with what the parser knows of it: views that point into h1's buffers. */
static int request_read(struct http_conn *c)
{
    struct http_header *headers =
        arena_array(&c->x.arena, c->h1.n_headers, sizeof(struct http_header));

    if (headers == NULL && c->h1.n_headers > 0)
        return -1;
    h1_headers(&c->h1, headers);
    c->x.request = (struct http_request){
        .method = h1_method(&c->h1),
        .path = h1_path(&c->h1),
        .query = h1_query(&c->h1),
        .headers = headers,
        .n_headers = c->h1.n_headers,
        .wants_upgrade = c->h1.wants_upgrade,
        .is_http_1_0 = c->h1.is_http_1_0,
        .has_body = c->h1.has_body,
        .on_loopback = c->listener->is_loopback,
        .listener = c->listener,
        .peer = str_from_c(c->peer),
        .certificate = c->certificate,
    };
    return conn_proxied_read_request(c);
}

/* Opens the exchange when the head is complete, or as complete as it will be. False when out of
 * memory. */
static bool exchange_open(struct http_conn *c)
{
    bool is_head = str_eq(h1_method(&c->h1), STR("HEAD"));

    large_head_forget(c);
    c->x = (struct http_exchange){
        .conn = c, .is_open = true, .has_body = !is_head, .start_ms = loop_now_ms(c->server->loop)};
    if (!c->h1.has_head || request_read(c) == 0) {
        http_metrics_begin(&c->x);
        return true;
    }
    conn_close(c);
    return false;
}

/* Hands the exchange to its owner, who has to answer. */
static void exchange_start(struct http_conn *c)
{
    c->state = CONN_ANSWER;
    c->reported_blocked = false;
    c->server->n_exchanges++;
    http_metrics_note_state(c);
    deadline_set(c, 0);
}

/* Asks the owner about the head. False when the request has been answered. */
static bool judge_head(struct http_conn *c)
{
    if (c->server->on_head == NULL)
        return true;
    exchange_start(c);
    if (!c->server->on_head(c->server->arg, &c->x, &c->x.request))
        return false;
    c->server->n_exchanges--;
    c->state = CONN_HEAD;
    return true;
}

/* Judges a complete head: true when the request is to be read on. */
static bool head_passes(struct http_conn *c)
{
    if (!exchange_open(c))
        return false;
    c->x.close_after = c->h1.has_body || !c->h1.keep_alive;
    return judge_head(c);
}

/* A request without a length is its server's to refuse: with 411 only if it would have
 * been served with one. Its connection is closed, since what follows could be its body. */
static void refuse_without_length(struct http_conn *c, const struct err *e)
{
    struct err *refusal;

    if (!exchange_open(c))
        return;
    c->x.close_after = true;
    refusal = arena_alloc(&c->x.arena, sizeof(*refusal));
    if (refusal == NULL) {
        conn_close(c);
        return;
    }
    *refusal = *e;
    c->x.request.refusal = refusal;
    if (!judge_head(c))
        return;
    exchange_start(c);
    c->server->on_request(c->server->arg, &c->x, &c->x.request);
}

/* The head, where there is one, tells whose request is refused and which page
 * may read why. */
void conn_refuse(struct http_conn *c, const struct err *e)
{
    if (!c->x.is_open && !exchange_open(c))
        return;
    exchange_start(c);
    c->x.close_after = true;
    if (!c->refused)
        http_metrics_refuse(e);
    http_exchange_respond_error(&c->x, e, NULL, 0);
}

static void request_begin(struct http_conn *c)
{
    enum budget_use before = budget_use_for(BUDGET_NEW_WORK);

    exchange_start(c);
    c->x.close_after = !c->h1.keep_alive;
    c->x.request.body = h1_body(&c->h1);
    c->x.traffic.bytes_in = c->x.request.body.len;
    c->server->on_request(c->server->arg, &c->x, &c->x.request);
    (void)budget_use_for(before);
}

/* --- bytes in ---------------------------------------------------------------- */

/* The moment when a body is late: after a pause, or because it came too slowly from the start.
 * What it has brought counts, and not what frames that: so chunk extensions buy no time. */
uint64_t conn_body_due_ms(const struct http_conn *c, uint64_t since_ms, uint64_t bytes)
{
    const struct http_server_conf *conf = &c->server->conf;
    uint64_t due = UINT64_MAX;

    if (conf->body_total_ms > 0)
        due = since_ms + conf->body_total_ms;
    if (conf->body_timeout_ms > 0)
        due = sooner(due, loop_now_ms(c->server->loop) + conf->body_timeout_ms);
    if (conf->body_timeout_ms > 0 && conf->body_min_rate > 0)
        due = sooner(due, since_ms + conf->body_timeout_ms + bytes * 1000 / conf->body_min_rate);
    return due;
}

static void body_deadline_set(struct http_conn *c)
{
    uint64_t due = conn_body_due_ms(c, c->body_since_ms, c->h1.body.len);

    conn_set_deadline(c, due == UINT64_MAX ? 0 : due);
}

/* Sets the state, and with it the timeout, that the parser has arrived at. */
static void set_reading_state(struct http_conn *c)
{
    const struct http_server_conf *conf = &c->server->conf;

    if (h1_is_idle(&c->h1)) {
        c->state = CONN_IDLE;
        deadline_set(c, conf->keep_alive_ms);
    } else if (c->h1.state == H1_HEAD) {
        if (c->state != CONN_HEAD)
            deadline_set(c, conf->head_timeout_ms);
        c->state = CONN_HEAD;
        large_head_note(c);
    } else {
        if (c->state != CONN_BODY)
            c->body_since_ms = loop_now_ms(c->server->loop);
        c->state = CONN_BODY;
        body_deadline_set(c);
    }
    http_metrics_note_state(c);
}

static void send_continue(struct http_conn *c)
{
    char line[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct iovec piece = {line, sizeof(line) - 1};

    c->h1.expects_continue = false;
    if (!c->h1.is_http_1_0)
        socket_send(&c->socket, &piece, 1);
}

/* Bytes of a body leave memory to what is under way. */
static ssize_t parse_bytes(struct http_conn *c, str bytes, struct err *reterr)
{
    bool is_body = c->h1.state == H1_BODY;
    enum budget_use before = budget_use_for(is_body ? BUDGET_NEW_WORK : BUDGET_CONNECTION);
    ssize_t used = h1_feed(&c->h1, bytes, reterr);

    (void)budget_use_for(before);
    return used;
}

/* Lets the parser take one step; it stops in front of a body. Returns what was used. */
static size_t request_step(struct http_conn *c, str bytes)
{
    struct err e;
    ssize_t used = parse_bytes(c, bytes, &e);

    if (used == -1 && e.code == ERR_LENGTH_REQUIRED) {
        refuse_without_length(c, &e);
        return bytes.len;
    }
    if (used == -1) {
        conn_refuse(c, &e);
        return bytes.len;
    }
    if (c->h1.state != H1_HEAD && !c->x.is_open && !head_passes(c))
        return (size_t)used;
    if (c->h1.state == H1_DONE)
        request_begin(c);
    else
        set_reading_state(c);
    return (size_t)used;
}

/* Feeds the parser; what belongs to later requests is left. Returns what was used. */
static size_t request_feed(struct http_conn *c, str bytes)
{
    enum budget_use before = budget_use_for(BUDGET_CONNECTION);
    size_t used = 0;

    while (used < bytes.len && c->state <= CONN_BODY)
        used += request_step(c, str_skip(bytes, used));
    if (c->h1.expects_continue && c->state == CONN_BODY)
        send_continue(c);
    (void)budget_use_for(before);
    return used;
}

/* Bytes of later requests wait here up to a bound, then in the kernel. */
static void keep_ahead(struct http_conn *c, str bytes)
{
    buf_append(&c->ahead, bytes);
    if (buf_failed(&c->ahead))
        socket_break(&c->socket);
    else if (c->ahead.len > c->server->conf.max_head_bytes)
        socket_read(&c->socket, false);
}

static void conn_bytes(void *arg, str bytes)
{
    struct http_conn *c = arg;

    if (c->state == CONN_PROXY) {
        conn_proxied_bytes(c, bytes);
        return;
    }
    if (c->state <= CONN_BODY)
        bytes = str_skip(bytes, request_feed(c, bytes));
    if (c->state == CONN_WEBSOCKET)
        websocket_on_bytes(c->websocket, bytes);
    else if (c->state == CONN_LINGER || (c->state == CONN_FLUSH && c->x.close_after))
        drain_bytes(c, bytes.len);
    else if (bytes.len > 0 && (c->state == CONN_ANSWER || c->state == CONN_FLUSH))
        keep_ahead(c, bytes);
}

/* --- bytes out, and on to the next request ------------------------------------ */

static void exchange_end(struct http_conn *c)
{
    conn_tell_end(c);
    http_metrics_end(&c->x);
    exchange_fini(&c->x);
    c->server->n_exchanges--;
    c->has_answered = true;
    if (c->x.close_after || (c->server->draining && !c->server->keeps_idle)) {
        conn_linger(c);
        return;
    }
    h1_next(&c->h1);
    socket_trim(&c->socket);
    set_reading_state(c);
    if (c->ahead.len > 0)
        buf_consume(&c->ahead, request_feed(c, buf_str(&c->ahead)));
    if (c->state == CONN_WEBSOCKET) {
        websocket_on_bytes(c->websocket, buf_str(&c->ahead));
        buf_fini(&c->ahead);
        socket_read(&c->socket, true);
        return;
    }
    if (c->ahead.len == 0)
        buf_fini(&c->ahead);
    if (c->state != CONN_CLOSED && c->ahead.len <= c->server->conf.max_head_bytes)
        socket_read(&c->socket, true);
}

bool conn_has_bytes(const struct http_conn *c)
{
    char byte;

    return recv(c->socket.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

static void conn_progress(void *arg)
{
    struct http_conn *c = arg;
    bool all_sent = socket_pending(&c->socket) == 0;

    if (c->state == CONN_WEBSOCKET)
        websocket_on_progress(c->websocket);
    if (c->state != CONN_ANSWER && c->state != CONN_FLUSH)
        return; /* 100 Continue */
    deadline_set(c, all_sent ? 0 : c->server->conf.send_timeout_ms);
    if (all_sent && c->state == CONN_FLUSH) {
        exchange_end(c);
    } else if (all_sent && c->reported_blocked) {
        c->reported_blocked = false;
        if (c->x.handler != NULL)
            c->x.handler->on_blocked(c->x.arg, false);
    }
}

void conn_send(struct http_conn *c, const struct iovec *pieces, size_t n_pieces)
{
    size_t before = socket_pending(&c->socket), after;

    socket_send(&c->socket, pieces, n_pieces);
    after = socket_pending(&c->socket);
    if (after > 0 && (before == 0 || c->deadline_ms == 0))
        deadline_set(c, c->server->conf.send_timeout_ms);
    if (after > c->server->conf.max_pending_bytes && !c->reported_blocked)
        loop_defer(c->server->loop, &c->settle);
}

void conn_flush_later(struct http_conn *c)
{
    c->flush_later = true;
    loop_defer(c->server->loop, &c->settle);
}

void conn_answered(struct http_conn *c)
{
    c->state = CONN_FLUSH;
    c->x.handler = NULL;
    loop_defer(c->server->loop, &c->settle);
}

static void conn_settle(void *arg)
{
    struct http_conn *c = arg;
    size_t pending;

    if (c->is_memory_free) {
        if (!c->is_held)
            conn_free(c);
        return;
    }
    if (c->flush_later && c->state == CONN_ANSWER)
        conn_send(c, NULL, 0);
    c->flush_later = false;
    if (c->state == CONN_WEBSOCKET) {
        websocket_settle(c->websocket);
        return;
    }
    pending = socket_pending(&c->socket);
    if (c->state == CONN_FLUSH && pending == 0) {
        exchange_end(c);
    } else if (c->state == CONN_ANSWER && pending > c->server->conf.max_pending_bytes &&
               !c->reported_blocked && c->x.handler != NULL) {
        c->reported_blocked = true;
        c->x.handler->on_blocked(c->x.arg, true);
    }
}

/* --- the beginning ----------------------------------------------------------- */

static const struct socket_handler handler = {conn_bytes, conn_gone, conn_progress,
                                              on_socket_closed};

static void add_to_server(struct http_conn *c, struct http_server *server)
{
    c->server = server;
    c->next = server->conns;
    c->link = &server->conns;
    if (c->next != NULL)
        c->next->link = &c->next;
    server->conns = c;
    server->n_open++;
}

/* A client that has failed finds out why by the alert, as it would by a last answer. */
static void on_secured(void *arg)
{
    struct http_conn *c = arg;
    const struct tls_channel *channel = c->socket.tls;
    str owner = tls_channel_owner(channel);

    handshake_end(c, tls_channel_result(channel));
    if (tls_channel_state(channel) == TLS_FAILED) {
        conn_linger(c);
        return;
    }
    set_reading_state(c);
    if (str_is_none(owner))
        return;
    c->certificate = tls_files_keep_owner(c->listener->tls, owner);
    if (str_is_none(c->certificate))
        socket_break(&c->socket); /* no room for it: it must not count as nobody */
}

/* False when out of memory. */
static bool begin_handshake(struct http_conn *c)
{
    struct tls_context *context = tls_files_context(c->listener->tls);
    enum budget_use before = budget_use_for(BUDGET_CONNECTION);
    struct tls_channel *channel = tls_channel_new(context);

    (void)budget_use_for(before);
    tls_context_unref(context);
    if (channel == NULL)
        return false;
    socket_secure(&c->socket, channel, on_secured);
    c->state = CONN_HANDSHAKE;
    deadline_set(c, c->server->conf.head_timeout_ms);
    return true;
}

bool conn_begin(struct http_conn *c, str bytes)
{
    if (c->listener->tls == NULL) {
        set_reading_state(c);
        if (bytes.len > 0)
            conn_bytes(c, bytes);
        return true;
    }
    if (!begin_handshake(c)) {
        conn_close(c);
        return false;
    }
    if (bytes.len > 0)
        socket_unseal(&c->socket, bytes);
    return true;
}

static struct http_conn *conn_new(void)
{
    enum budget_use before = budget_use_for(BUDGET_CONNECTION);
    struct http_conn *c = budget_alloc(sizeof(*c), CONN_BYTES);

    (void)budget_use_for(before);
    return c;
}

struct http_conn *conn_open(struct http_server *server, int fd, const char *peer,
                            const struct http_listener *listener)
{
    struct http_conn *c = conn_new();

    if (c == NULL) {
        (void)close(fd);
        return NULL;
    }
    c->timer = loop_timer_new(server->loop, on_timer, c);
    if (c->timer == NULL) {
        (void)close(fd);
        budget_free(c, CONN_BYTES);
        return NULL;
    }
    if (socket_open(&c->socket, server->loop, fd, &handler, c, NULL) == -1) {
        loop_timer_free(c->timer);
        budget_free(c, CONN_BYTES);
        return NULL;
    }
    c->listener = listener;
    memcpy(c->peer, peer, strnlen(peer, sizeof(c->peer) - 1));
    h1_init(&c->h1, &server->limits);
    c->settle = (struct loop_message){.fn = conn_settle, .arg = c};
    add_to_server(c, server);
    http_metrics_accept(c);
    if ((listener->marks & LISTEN_PROXY) != 0)
        conn_proxied_await(c);
    else if (!conn_begin(c, STR("")))
        return NULL;
    return c;
}
