/* websocket.c -- a connection after its handshake.
 *
 *     OPEN -> CLOSING -> CLOSED      websocket_close(): our close frame is queued, and the client's
 *       |                            is waited for
 *       `------------> CLOSED        the client has closed, or broken a rule
 *
 * In CLOSED all that is queued is sent, then the connection lingers like every other that has had its
 * last answer (http_conn.c).
 *
 * Whatever the client sends is a sign of life, since a pong cannot come within a long frame; and no
 * ping is sent behind bytes that wait for the client, where send_timeout watches. An incomplete frame
 * or message has the times of a body.
 *
 * Of what a connection had as HTTP only the request is kept, in one piece of memory with this: the
 * head of the request was read into a buffer several times as large. */
#include "http/websocket.h"

#include <assert.h>
#include <stdlib.h>

#include "base/budget.h"
#include "http/http_conn.h"
#include "http/ws_handshake.h"
#include "metrics/metrics.h"

enum {
    CLOSE_MS = 5000,             /* in which a client answers our close frame */
    MAX_UNANSWERED = 2,          /* pings */
    MAX_PONG_BYTES = 128 * 1024, /* unsent: twice what one read can bring */
};

enum phase { OPEN, CLOSING, CLOSED };

struct websocket {
    struct http_conn *conn;
    struct ws frames;
    struct websocket_conf conf;
    const struct websocket_handler *handler; /* NULL: nothing is reported */
    void *arg;
    struct http_request request; /* views into what follows this struct */
    str request_id;              /* the same */
    size_t bytes;                /* of this struct with what follows it */
    enum phase phase;
    unsigned n_unanswered;   /* pings */
    uint64_t ping_due_ms;    /* when the next is sent; 0, as for the others: never */
    uint64_t send_due_ms;    /* when the client has taken nothing for too long */
    uint64_t message_due_ms; /* when an incomplete message is late */
    uint64_t message_since_ms;
    uint64_t close_due_ms; /* when the client's close frame is not waited for any more */
    size_t pong_bytes;     /* queued since all was sent last */
    bool owes_pong;        /* to the last ping, since too many were queued */
    bool is_counted;       /* among those that are open */
    unsigned char n_pong;
    char pong[WS_CONTROL_BYTES];
};

static uint64_t now_ms(const struct websocket *ws)
{
    return loop_now_ms(ws->conn->server->loop);
}

size_t websocket_pending(const struct websocket *ws)
{
    return socket_pending(&ws->conn->socket);
}

/* ---- time */

static uint64_t sooner_due(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static void set_deadline(struct websocket *ws)
{
    uint64_t due = sooner_due(sooner_due(ws->send_due_ms, ws->message_due_ms),
                              sooner_due(ws->close_due_ms, ws->ping_due_ms));

    if (ws->conn->state == CONN_WEBSOCKET)
        conn_set_deadline(ws->conn, due);
}

static void start_send_timeout(struct websocket *ws)
{
    uint64_t timeout_ms = ws->conn->server->conf.send_timeout_ms;

    ws->send_due_ms = timeout_ms == 0 ? 0 : now_ms(ws) + timeout_ms;
}

/* ---- out */

static void queue_head(struct websocket *ws, enum ws_opcode opcode, size_t n)
{
    char head[WS_HEAD_BYTES];

    socket_queue(&ws->conn->socket, str_from(head, ws_frame_head(opcode, n, head)));
    conn_flush_later(ws->conn);
}

static void queue_control(struct websocket *ws, enum ws_opcode opcode, str payload)
{
    queue_head(ws, opcode, payload.len);
    socket_queue(&ws->conn->socket, payload);
}

static void queue_close(struct websocket *ws, enum ws_code code, str reason)
{
    char payload[WS_CONTROL_BYTES];

    queue_control(ws, WS_CLOSE, str_from(payload, ws_close_payload(code, reason, payload)));
}

void websocket_write(struct websocket *ws, const str *parts, size_t n_parts)
{
    size_t n = 0;

    if (ws->phase != OPEN)
        return;
    for (size_t i = 0; i < n_parts; i++)
        n += parts[i].len;
    queue_head(ws, WS_TEXT, n);
    for (size_t i = 0; i < n_parts; i++)
        socket_queue(&ws->conn->socket, parts[i]);
}

static void send_queued(struct websocket *ws)
{
    size_t before = websocket_pending(ws), after;

    socket_send(&ws->conn->socket, NULL, 0);
    after = websocket_pending(ws);
    if (after == 0)
        ws->send_due_ms = ws->pong_bytes = 0;
    else if (after < before || ws->send_due_ms == 0)
        start_send_timeout(ws);
    set_deadline(ws);
}

static void answer_ping(struct websocket *ws, str payload)
{
    if (ws->pong_bytes > MAX_PONG_BYTES) {
        ws->owes_pong = true; /* RFC 6455, 5.5.3: only the last one need be answered */
        ws->n_pong = (unsigned char)payload.len;
        memcpy(ws->pong, payload.p, payload.len);
        return;
    }
    ws->pong_bytes += WS_HEAD_BYTES + payload.len;
    queue_control(ws, WS_PONG, payload);
}

/* Answers the last of too many pings, when all is sent. */
static void send_owed_pong(struct websocket *ws)
{
    if (!ws->owes_pong || ws->phase != OPEN)
        return;
    ws->owes_pong = false;
    answer_ping(ws, str_from(ws->pong, ws->n_pong));
}

/* ---- the end */

static void report_gone(struct websocket *ws)
{
    const struct websocket_handler *handler = ws->handler;

    ws->handler = NULL;
    if (handler != NULL)
        handler->on_gone(ws->arg);
}

static void count_open(struct websocket *ws, bool is_open)
{
    if (ws->is_counted != is_open)
        metrics_move(METRIC_OPEN_WEBSOCKETS, 0, is_open ? 1 : -1);
    ws->is_counted = is_open;
}

static void linger(struct websocket *ws)
{
    count_open(ws, false);
    ws->phase = CLOSED;
    ws->conn->server->n_exchanges--;
    conn_linger(ws->conn);
}

/* Reading ends: sends our close frame, unless that is out, and all that is queued. */
static void end_both_ways(struct websocket *ws, enum ws_code code, str reason)
{
    if (ws->phase == OPEN)
        queue_close(ws, code, reason);
    ws->phase = CLOSED;
    ws->ping_due_ms = ws->message_due_ms = ws->close_due_ms = 0;
    conn_flush_later(ws->conn); /* settling looks whether all is sent */
    report_gone(ws);
}

void websocket_close(struct websocket *ws, enum ws_code code, str reason)
{
    ws->handler = NULL;
    if (ws->phase != OPEN)
        return;
    queue_close(ws, code, reason);
    ws->phase = CLOSING;
    ws->ping_due_ms = 0;
    ws_stop(&ws->frames);
}

/* All is sent: the next thing that closing waits for. */
static void close_further(struct websocket *ws)
{
    if (ws->phase == CLOSED || (ws->phase == CLOSING && ws->conn->server->draining))
        linger(ws);
    else if (ws->phase == CLOSING && ws->close_due_ms == 0)
        ws->close_due_ms = now_ms(ws) + CLOSE_MS;
}

void websocket_on_lost(struct websocket *ws)
{
    report_gone(ws);
}

void websocket_drain(struct websocket *ws)
{
    if (ws->handler != NULL)
        ws->handler->on_drain(ws->arg);
    else
        conn_flush_later(ws->conn);
}

void websocket_end(struct websocket *ws)
{
    ws->handler = NULL;
    if (ws->phase == OPEN)
        queue_close(ws, WS_GOING_AWAY, STR("The gateway ends."));
    socket_send(&ws->conn->socket, NULL, 0);
}

/* ---- reports of the connection */

void websocket_settle(struct websocket *ws)
{
    struct http_conn *c = ws->conn;

    c->flush_later = false;
    send_queued(ws);
    if (websocket_pending(ws) == 0) {
        send_owed_pong(ws);
        close_further(ws);
    } else if (websocket_pending(ws) > ws->conf.max_pending_bytes && !c->reported_blocked &&
               ws->handler != NULL) {
        c->reported_blocked = true;
        ws->handler->on_blocked(ws->arg, true);
    }
    set_deadline(ws);
}

/* The client has taken some bytes. */
void websocket_on_progress(struct websocket *ws)
{
    struct http_conn *c = ws->conn;

    if (websocket_pending(ws) > 0) {
        start_send_timeout(ws);
    } else {
        ws->send_due_ms = 0;
        ws->pong_bytes = 0;
        conn_flush_later(c);
    }
    if (websocket_pending(ws) == 0 && c->reported_blocked) {
        c->reported_blocked = false;
        if (ws->handler != NULL)
            ws->handler->on_blocked(ws->arg, false);
    }
    set_deadline(ws);
}

static void send_ping(struct websocket *ws)
{
    if (ws->n_unanswered == MAX_UNANSWERED) {
        conn_lose(ws->conn);
        return;
    }
    socket_trim(&ws->conn->socket);
    if (websocket_pending(ws) == 0) {
        ws->n_unanswered++;
        queue_control(ws, WS_PING, STR(""));
    }
    ws->ping_due_ms = now_ms(ws) + ws->conf.ping_interval_ms;
}

static bool is_due(const struct websocket *ws, uint64_t due_ms)
{
    return due_ms != 0 && due_ms <= now_ms(ws);
}

void websocket_on_time(struct websocket *ws)
{
    if (is_due(ws, ws->send_due_ms))
        conn_lose(ws->conn);
    else if (is_due(ws, ws->message_due_ms))
        end_both_ways(ws, WS_POLICY_VIOLATION, STR("The message did not arrive in time."));
    else if (is_due(ws, ws->close_due_ms))
        linger(ws);
    else if (is_due(ws, ws->ping_due_ms))
        send_ping(ws);
    set_deadline(ws);
}

/* ---- in */

static void on_text(void *arg, str text)
{
    struct websocket *ws = arg;
    enum budget_use before = budget_use_for(BUDGET_NEW_WORK);

    ws->message_since_ms = 0; /* the next may have begun in the same read */
    if (ws->handler != NULL)
        ws->handler->on_message(ws->arg, text);
    (void)budget_use_for(before);
}

static void on_ping(void *arg, str payload)
{
    answer_ping(arg, payload);
}

static void set_message_deadline(struct websocket *ws)
{
    uint64_t due;

    if (ws_is_idle(&ws->frames)) {
        ws->message_due_ms = ws->message_since_ms = 0;
        return;
    }
    if (ws->message_since_ms == 0)
        ws->message_since_ms = now_ms(ws);
    due = conn_body_due_ms(ws->conn, ws->message_since_ms, ws_text_bytes(&ws->frames));
    ws->message_due_ms = due == UINT64_MAX ? 0 : due;
}

void websocket_on_bytes(struct websocket *ws, str bytes)
{
    enum budget_use before;

    if (ws->phase == CLOSED || bytes.len == 0)
        return;
    ws->n_unanswered = 0;
    before = budget_use_for(BUDGET_CONNECTION);
    if (ws_feed(&ws->frames, bytes))
        set_message_deadline(ws);
    else
        end_both_ways(ws, ws->frames.code, str_from_c(ws->frames.reason));
    (void)budget_use_for(before);
    set_deadline(ws);
}

void websocket_take_text(struct websocket *ws, struct buf *ret)
{
    ws_take_text(&ws->frames, ret);
}

/* ---- the beginning */

static const struct ws_handler frames_handler = {on_text, on_ping};

/* Headers that say nothing beyond the handshake; and a key among the subprotocols is kept once. */
static bool is_kept(const struct http_header *h)
{
    return !str_starts_with(h->name, STR("sec-websocket-")) &&
           !str_eq(h->name, STR("connection")) && !str_eq(h->name, STR("upgrade")) &&
           !str_eq(h->name, STR("authorization"));
}

static size_t count_kept(const struct http_request *r, size_t *ret_bytes)
{
    size_t n = 0;

    *ret_bytes = r->path.len + r->query.len;
    for (size_t i = 0; i < r->n_headers; i++) {
        if (!is_kept(&r->headers[i]))
            continue;
        n++;
        *ret_bytes += r->headers[i].name.len + r->headers[i].value.len;
    }
    return n;
}

/* Puts the bytes at *end, which then stands behind them. */
static str place_bytes(str s, char **end)
{
    char *p = *end;

    if (str_is_none(s))
        return s;
    memcpy(p, s.p, s.len);
    *end += s.len;
    return str_from(p, s.len);
}

/* Copies a request, with this Authorization: its headers go to `headers`, its texts to `text`. */
static void copy_request(const struct http_request *r, str authorization,
                         struct http_header *headers, char *text, struct http_request *ret)
{
    size_t n = 0;

    *ret = *r;
    ret->method = STR("GET");
    ret->path = place_bytes(r->path, &text);
    ret->query = place_bytes(r->query, &text);
    for (size_t i = 0; i < r->n_headers; i++) {
        if (is_kept(&r->headers[i]))
            headers[n++] = (struct http_header){place_bytes(r->headers[i].name, &text),
                                                place_bytes(r->headers[i].value, &text)};
    }
    if (!str_is_none(authorization))
        headers[n++] =
            (struct http_header){STR("authorization"), place_bytes(authorization, &text)};
    ret->headers = headers;
    ret->n_headers = n;
}

/* Makes a websocket with a copy of what is kept of the exchange; NULL when out of memory. */
static struct websocket *make_websocket(struct http_exchange *x)
{
    str authorization = ws_handshake_authorization(&x->request, &x->arena);
    str request_id = http_exchange_request_id(x);
    size_t n_texts, n = count_kept(&x->request, &n_texts) + 1;
    size_t at_texts = sizeof(struct websocket) + n * sizeof(struct http_header);
    size_t bytes = at_texts + n_texts + authorization.len + request_id.len;
    enum budget_use before = budget_use_for(BUDGET_CONNECTION);
    struct websocket *ws = budget_alloc(bytes, bytes);
    char *texts = ws == NULL ? NULL : (char *)ws + at_texts;

    (void)budget_use_for(before);
    if (ws == NULL)
        return NULL;
    ws->conn = x->conn;
    ws->bytes = bytes;
    ws->request_id = place_bytes(request_id, &texts);
    copy_request(&x->request, authorization, (struct http_header *)(ws + 1), texts, &ws->request);
    return ws;
}

void websocket_free(struct websocket *ws)
{
    if (ws == NULL)
        return;
    count_open(ws, false);
    ws_fini(&ws->frames);
    budget_free(ws, ws->bytes);
}

static bool send_101(struct http_exchange *x)
{
    char accept[WS_ACCEPT_LETTERS];
    str protocol = ws_handshake_protocol(&x->request);
    struct http_header headers[4] = {
        {STR("Upgrade"), STR("websocket")},
        {STR("Connection"), STR("Upgrade")},
        {STR("Sec-WebSocket-Accept"), str_from(accept, sizeof(accept))},
        {STR("Sec-WebSocket-Protocol"), protocol}};

    if (!ws_handshake_accept(&x->request, accept)) {
        conn_close(x->conn);
        return false;
    }
    return conn_switch_protocols(x, headers, str_is_none(protocol) ? 3 : 4);
}

static void refuse_to_upgrade(struct http_exchange *x)
{
    struct err e;

    if (x->conn->server->draining)
        err_set(&e, ERR_OVERLOADED, "The gateway is shutting down. Please try again.");
    else
        err_set_short_of_memory(&e);
    http_exchange_respond_error(x, &e, NULL, 0);
}

struct websocket *http_exchange_upgrade(struct http_exchange *x, const struct websocket_conf *conf)
{
    struct http_conn *c = x->conn;
    struct websocket *ws = c->server->draining ? NULL : make_websocket(x);

    assert(c->state == CONN_ANSWER);
    if (ws == NULL) {
        refuse_to_upgrade(x);
        return NULL;
    }
    x->close_after = false;
    if (!send_101(x)) {
        websocket_free(ws);
        return NULL;
    }
    conn_forget_http(c);
    ws_init(&ws->frames, c->server->conf.max_body_bytes, &frames_handler, ws);
    ws->conf = *conf;
    if (conf->ping_interval_ms > 0)
        ws->ping_due_ms = now_ms(ws) + conf->ping_interval_ms;
    c->websocket = ws;
    c->state = CONN_WEBSOCKET;
    count_open(ws, true);
    send_queued(ws);
    return ws;
}

void websocket_watch(struct websocket *ws, const struct websocket_handler *handler, void *arg)
{
    ws->handler = handler;
    ws->arg = arg;
}

const struct http_request *websocket_request(const struct websocket *ws)
{
    return &ws->request;
}

str websocket_request_id(const struct websocket *ws)
{
    return ws->request_id;
}

bool websocket_is_draining(const struct websocket *ws)
{
    return ws->conn->server->draining;
}
