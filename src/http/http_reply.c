/* http_reply.c -- answers: status line, headers, and a body with a length or in
 * chunks.
 *
 * An answer of unknown length keeps its head in the socket's queue until the
 * first chunk, so that both leave in one segment; then each write is one chunk
 * and one system call. A client of HTTP/1.0 knows no chunks: there the end of
 * the connection is the end of the body. */
#include <assert.h>
#include <stdio.h>
#include <time.h>

#include "base/budget.h"
#include "http/body_decode.h"
#include "http/http_conn.h"
#include "http/http_metrics.h"
#include "http/request_id.h"
#include "json/json_err.h"

static const struct {
    int status;
    const char *reason;
} reasons[] = {
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {411, "Length Required"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {422, "Unprocessable Content"},
    {424, "Failed Dependency"},
    {426, "Upgrade Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

/* HTTP allows the phrase to be empty. */
static const char *reason_of(int status)
{
    for (size_t i = 0; i < COUNT_OF(reasons); i++) {
        if (reasons[i].status == status)
            return reasons[i].reason;
    }
    return "";
}

struct arena *http_exchange_arena(struct http_exchange *x)
{
    return &x->arena;
}

void http_exchange_attach(struct http_exchange *x, void *found)
{
    x->attached = found;
}

void *http_exchange_attached(const struct http_exchange *x)
{
    return x->attached;
}

void http_exchange_tell_trace(struct http_exchange *x, const char *traceparent)
{
    x->traceparent = arena_dup(&x->arena, str_from_c(traceparent));
}

void http_exchange_tell(struct http_exchange *x, const struct http_header *headers, size_t n)
{
    struct http_header *told = arena_array(&x->arena, n, sizeof(*told));

    x->told = told;
    x->n_told = told == NULL ? 0 : n;
    for (size_t i = 0; i < x->n_told; i++)
        told[i] = (struct http_header){arena_dup(&x->arena, headers[i].name),
                                       arena_dup(&x->arena, headers[i].value)};
}

str http_exchange_request_id(struct http_exchange *x)
{
    bool is_readable = x->request.method.len > 0;

    if (str_is_none(x->request_id))
        x->request_id = request_id_choose(is_readable ? &x->request : NULL, &x->arena);
    return x->request_id;
}

void http_exchange_note(struct http_exchange *x, void *noted)
{
    x->noted = noted;
}

void *http_exchange_noted(const struct http_exchange *x)
{
    return x->noted;
}

const struct http_request *http_exchange_request(const struct http_exchange *x)
{
    return &x->request;
}

struct http_traffic *http_exchange_traffic(struct http_exchange *x)
{
    return &x->traffic;
}

uint64_t http_exchange_start_ms(const struct http_exchange *x)
{
    return x->start_ms;
}

void http_exchange_watch(struct http_exchange *x, const struct http_exchange_handler *handler,
                         void *arg)
{
    assert(handler->on_gone != NULL && handler->on_blocked != NULL);
    x->handler = handler;
    x->arg = arg;
}

/* --- the head ---------------------------------------------------------------- */

static str date_now(struct http_server *server)
{
    int64_t now_s = clock_unix_s();

    if (now_s != server->date_s) {
        time_t seconds = (time_t)now_s;
        struct tm utc;

        (void)gmtime_r(&seconds, &utc);
        (void)strftime(server->date, sizeof(server->date), "%a, %d %b %Y %H:%M:%S GMT", &utc);
        server->date_s = now_s;
    }
    return str_from_c(server->date);
}

/* A value that would end its line is left out: some come from upstream. */
static void write_header(struct buf *out, str name, str value)
{
    if (!str_is_one_line(name) || !str_is_one_line(value))
        return;
    buf_append(out, name);
    buf_append(out, STR(": "));
    buf_append(out, value);
    buf_append(out, STR("\r\n"));
}

static void write_connection(struct http_exchange *x, struct buf *out)
{
    const struct http_conn *c = x->conn;

    if (x->close_after)
        write_header(out, STR("Connection"), STR("close"));
    else if (c->h1.is_http_1_0)
        write_header(out, STR("Connection"), STR("keep-alive"));
}

/* Pages of the origins that are configured may read every answer, errors included. */
static void write_cors(struct http_exchange *x, struct buf *out)
{
    const struct cors *cors = &x->conn->server->conf.cors;
    str origin = cors_allowed_origin(cors, http_request_header(&x->request, STR("origin")));

    if (cors_varies(cors))
        write_header(out, STR("Vary"), STR("Origin"));
    if (str_is_none(origin))
        return;
    write_header(out, STR("Access-Control-Allow-Origin"), origin);
    write_header(out, STR("Access-Control-Expose-Headers"),
                 STR("x-request-id, retry-after, idempotent-replayed, openai-poll-after-ms"));
}

/* Some answers never have a body, so they need no length. */
static bool status_has_length(int status)
{
    return status != 101 && status != 204 && status != 304;
}

/* Writes the head up to the headers that tell the length. */
static struct buf *start_head(struct http_exchange *x, int status,
                              const struct http_header *headers, size_t n_headers)
{
    struct http_server *server = x->conn->server;
    struct buf *out = &server->head;

    x->close_after = x->close_after || server->draining;
    x->has_body = x->has_body && status_has_length(status);
    x->traffic.status = status;
    http_metrics_answer(x, status, headers, n_headers);
    buf_reset(out);
    buf_append(out, STR("HTTP/1.1 "));
    buf_int(out, status);
    buf_char(out, ' ');
    buf_c(out, reason_of(status));
    buf_append(out, STR("\r\n"));
    write_header(out, STR("Date"), date_now(server));
    write_header(out, STR("x-request-id"), http_exchange_request_id(x));
    if (!str_is_none(x->traceparent))
        write_header(out, STR("traceparent"), x->traceparent);
    for (size_t i = 0; i < x->n_told; i++)
        write_header(out, x->told[i].name, x->told[i].value);
    for (size_t i = 0; i < n_headers; i++)
        write_header(out, headers[i].name, headers[i].value);
    write_cors(x, out);
    write_connection(x, out);
    return out;
}

static void count_out(struct http_exchange *x, size_t n)
{
    x->traffic.bytes_out += x->has_body ? n : 0;
}

/* --- whole answers ------------------------------------------------------------- */

/* Ends a head whose body has a known length. False when out of memory: the connection is closed. */
static bool finish_head(struct http_exchange *x, int status, size_t body_bytes)
{
    struct http_conn *c = x->conn;
    struct buf *out = &c->server->head;

    assert(c->state == CONN_ANSWER);
    if (status_has_length(status)) {
        buf_append(out, STR("Content-Length: "));
        buf_uint(out, body_bytes);
        buf_append(out, STR("\r\n"));
    }
    buf_append(out, STR("\r\n"));
    if (!buf_failed(out))
        return true;
    conn_close(c);
    return false;
}

void http_exchange_respond(struct http_exchange *x, int status, const struct http_header *headers,
                           size_t n_headers, str body)
{
    struct buf *out = start_head(x, status, headers, n_headers);
    struct iovec pieces[2];

    if (!finish_head(x, status, body.len))
        return;
    pieces[0] = socket_piece(buf_str(out));
    pieces[1] = socket_piece(body);
    count_out(x, body.len);
    conn_send(x->conn, pieces, x->has_body && body.len > 0 ? 2 : 1);
    conn_answered(x->conn);
}

void http_exchange_respond_taken(struct http_exchange *x, int status,
                                 const struct http_header *headers, size_t n_headers,
                                 struct buf *body)
{
    struct buf *out = start_head(x, status, headers, n_headers);

    if (!finish_head(x, status, body->len))
        return;
    socket_queue(&x->conn->socket, buf_str(out));
    count_out(x, body->len);
    if (x->has_body)
        socket_take(&x->conn->socket, body);
    buf_fini(body);
    conn_send(x->conn, NULL, 0);
    conn_answered(x->conn);
}

bool conn_switch_protocols(struct http_exchange *x, const struct http_header *headers,
                           size_t n_headers)
{
    struct buf *out = start_head(x, 101, headers, n_headers);
    struct iovec piece;

    if (!finish_head(x, 101, 0))
        return false;
    piece = socket_piece(buf_str(out));
    conn_send(x->conn, &piece, 1);
    conn_tell_end(x->conn);
    http_metrics_end(x);
    return true;
}

/* Seconds after which a client may try again; 0: no word about it. */
static int retry_after_s(const struct err *e)
{
    int status = err_http_status(e);

    if (e->retry_after_s > 0)
        return e->retry_after_s;
    return status == 429 || status == 503 ? 1 : 0;
}

static void respond_error(struct http_exchange *x, const struct err *e,
                          const struct http_header *headers, size_t n_headers)
{
    struct http_header *all = arena_array(&x->arena, n_headers + 3, sizeof(*all));
    struct buf *body = &x->conn->server->body;
    size_t n = 0;
    char seconds[16];

    buf_reset(body);
    json_err_write(e, body);
    if (all == NULL || buf_failed(body)) {
        http_exchange_respond(x, err_http_status(e), NULL, 0, STR(""));
        return;
    }
    for (; n < n_headers; n++)
        all[n] = headers[n];
    all[n++] = (struct http_header){STR("Content-Type"), STR("application/json")};
    if (e->code == ERR_UNSUPPORTED_MEDIA_TYPE &&
        !str_is_none(http_request_header(&x->request, STR("content-encoding"))))
        all[n++] = (struct http_header){STR("Accept-Encoding"), STR(BODY_CODINGS)};
    if (retry_after_s(e) > 0) {
        (void)snprintf(seconds, sizeof(seconds), "%d", retry_after_s(e));
        all[n++] = (struct http_header){STR("Retry-After"), str_from_c(seconds)};
    }
    http_exchange_respond(x, err_http_status(e), all, n, buf_str(body));
}

/* Memory for a refusal is little, and taken as for what is under way. */
void http_exchange_respond_error(struct http_exchange *x, const struct err *e,
                                 const struct http_header *headers, size_t n_headers)
{
    enum budget_use before = budget_use_for(BUDGET_UNDER_WAY);

    respond_error(x, e, headers, n_headers);
    (void)budget_use_for(before);
}

/* --- answers in pieces ----------------------------------------------------------- */

void http_exchange_start(struct http_exchange *x, int status, const struct http_header *headers,
                         size_t n_headers)
{
    struct http_conn *c = x->conn;
    struct buf *out;

    assert(c->state == CONN_ANSWER);
    x->chunked = !c->h1.is_http_1_0;
    x->close_after = x->close_after || !x->chunked;
    out = start_head(x, status, headers, n_headers);
    if (x->chunked && status_has_length(status))
        write_header(out, STR("Transfer-Encoding"), STR("chunked"));
    buf_append(out, STR("\r\n"));
    if (buf_failed(out))
        socket_break(&c->socket);
    else
        socket_queue(&c->socket, buf_str(out));
}

/* Room for the size line of a chunk. */
struct size_text {
    char bytes[2 * sizeof(size_t) + 2];
};

static struct iovec size_line(size_t n, struct size_text *text)
{
    static const char hex[] = "0123456789abcdef";
    char *end = text->bytes + sizeof(text->bytes), *p = end;

    *--p = '\n';
    *--p = '\r';
    for (; n > 0; n >>= 4)
        *--p = hex[n & 15];
    return (struct iovec){p, (size_t)(end - p)};
}

/* The body's next bytes as pieces; returns how many there are. A chunk without
 * bytes would be the last. */
static size_t body_pieces(const struct http_exchange *x, str bytes, struct size_text *size,
                          struct iovec out[3])
{
    if (bytes.len == 0 || !x->has_body)
        return 0;
    if (!x->chunked) {
        out[0] = socket_piece(bytes);
        return 1;
    }
    out[0] = size_line(bytes.len, size);
    out[1] = socket_piece(bytes);
    out[2] = socket_piece(STR("\r\n"));
    return 3;
}

void http_exchange_write(struct http_exchange *x, str bytes)
{
    struct size_text size;
    struct iovec pieces[3];
    size_t n = body_pieces(x, bytes, &size, pieces);

    assert(x->conn->state == CONN_ANSWER);
    count_out(x, bytes.len);
    if (n > 0)
        conn_send(x->conn, pieces, n);
}

void http_exchange_write_taken(struct http_exchange *x, struct buf *bytes)
{
    struct socket *socket = &x->conn->socket;
    struct size_text size;
    struct iovec pieces[3];
    size_t n = body_pieces(x, buf_str(bytes), &size, pieces);

    assert(x->conn->state == CONN_ANSWER);
    count_out(x, bytes->len);
    if (n > 1)
        socket_queue(socket, str_from(pieces[0].iov_base, pieces[0].iov_len));
    if (n > 0)
        socket_take(socket, bytes);
    if (n > 1)
        socket_queue(socket, STR("\r\n"));
    buf_fini(bytes);
    conn_send(x->conn, NULL, 0);
}

void http_exchange_write_soon(struct http_exchange *x, str bytes)
{
    struct size_text size;
    struct iovec pieces[3];
    size_t n = body_pieces(x, bytes, &size, pieces);

    assert(x->conn->state == CONN_ANSWER);
    count_out(x, bytes.len);
    for (size_t i = 0; i < n; i++)
        socket_queue(&x->conn->socket, str_from(pieces[i].iov_base, pieces[i].iov_len));
    conn_flush_later(x->conn);
}

void http_exchange_flush(struct http_exchange *x)
{
    assert(x->conn->state == CONN_ANSWER);
    conn_send(x->conn, NULL, 0);
}

void http_exchange_end(struct http_exchange *x, str bytes)
{
    struct size_text size;
    struct iovec pieces[4];
    size_t n = body_pieces(x, bytes, &size, pieces);

    assert(x->conn->state == CONN_ANSWER);
    count_out(x, bytes.len);
    if (x->chunked && x->has_body)
        pieces[n++] = socket_piece(STR("0\r\n\r\n"));
    conn_send(x->conn, pieces, n);
    conn_answered(x->conn);
}

/* Without a reset, a body that ends with the connection would look whole. */
void http_exchange_abort(struct http_exchange *x)
{
    struct http_conn *c = x->conn;

    assert(c->state == CONN_ANSWER);
    if (x->chunked)
        conn_close(c);
    else
        conn_reset(c);
    conn_tell_end(c);
}
