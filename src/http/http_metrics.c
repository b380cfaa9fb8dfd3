/* http_metrics.c -- gauges go up where something begins, and down where it ends, whatever its end is. */
#include "http/http_metrics.h"

#include "base/listen_spec.h"

enum { COUNTED_NOT, COUNTED_IDLE, COUNTED_ACTIVE };

static metric_cell *connections(const struct http_listener *l, unsigned activity)
{
    const struct metric_labels labels = {
        {metric_word(METRIC_DOMAIN_LISTENER, str_from_c(l->text)), (uint16_t)activity}};

    return metrics_of(METRIC_CONNECTIONS, &labels);
}

static metric_cell *accepted(const struct http_listener *l)
{
    const struct metric_labels labels = {
        {metric_word(METRIC_DOMAIN_LISTENER, str_from_c(l->text))}};

    return metrics_of(METRIC_ACCEPTED, &labels);
}

/* Servers of the process's own, such as that of the demo model, have a listener without a name. */
static bool is_counted(const struct http_conn *c)
{
    return metrics_are_on && c->listener->text[0] != '\0';
}

void http_metrics_listen(const struct http_listener *l)
{
    if (l->text[0] == '\0')
        return;
    (void)connections(l, METRIC_ACTIVITY_IDLE);
    (void)connections(l, METRIC_ACTIVITY_ACTIVE);
    (void)accepted(l);
}

void http_metrics_accept(const struct http_conn *c)
{
    if (is_counted(c))
        metrics_add(accepted(c->listener), 1);
}

static void count_connection(const struct http_conn *c, unsigned counted, int n)
{
    if (counted != COUNTED_NOT)
        metrics_add(connections(c->listener, counted == COUNTED_IDLE ? METRIC_ACTIVITY_IDLE
                                                                     : METRIC_ACTIVITY_ACTIVE),
                    (uint64_t)(int64_t)n);
}

void http_metrics_note_state(struct http_conn *c)
{
    unsigned char now = c->state == CONN_CLOSED ? COUNTED_NOT
                        : c->state == CONN_IDLE ? COUNTED_IDLE
                                                : COUNTED_ACTIVE;

    if (now == c->counted || !is_counted(c))
        return;
    count_connection(c, c->counted, -1);
    count_connection(c, now, 1);
    c->counted = now;
}

/* ---- exchanges */

static uint16_t method_of(const struct http_exchange *x)
{
    for (unsigned i = 0; i < METRIC_METHOD_OTHER; i++) {
        if (str_eq(x->request.method, metric_closed_word(METRIC_DOMAIN_METHOD, i)))
            return (uint16_t)i;
    }
    return METRIC_METHOD_OTHER;
}

/* That of the client, as far as there is a head that a proxy may have said it in. */
static uint16_t scheme_of(const struct http_exchange *x)
{
    const bool is_tls = (x->conn->listener->marks & LISTEN_TLS) != 0;
    const bool is_https = x->request.listener != NULL ? x->request.is_https : is_tls;

    return is_https ? METRIC_SCHEME_HTTPS : METRIC_SCHEME_HTTP;
}

static void move_active(const struct http_exchange *x, int n)
{
    metrics_move(METRIC_HTTP_ACTIVE, method_of(x) * 2U + scheme_of(x), n);
}

void http_metrics_begin(struct http_exchange *x)
{
    if (!is_counted(x->conn))
        return;
    x->counted.is_open = true;
    x->counted.start_ms = loop_now_ms(x->conn->server->loop);
    move_active(x, 1);
}

static bool is_event_stream(const struct http_header *headers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq_nocase(headers[i].name, STR("content-type")))
            return str_starts_with_nocase(headers[i].value, STR("text/event-stream"));
    }
    return false;
}

void http_metrics_answer(struct http_exchange *x, int status, const struct http_header *headers,
                         size_t n_headers)
{
    if (!x->counted.is_open)
        return;
    x->counted.status = (uint16_t)status;
    x->counted.is_stream = is_event_stream(headers, n_headers);
    if (x->counted.is_stream)
        metrics_move(METRIC_OPEN_STREAMS, 0, 1);
}

static void count_request(const struct http_exchange *x, uint16_t route)
{
    const struct metric_labels labels = {
        {route, x->counted.status, x->counted.model, x->counted.owner}};

    metrics_add(metrics_of(METRIC_REQUESTS, &labels), 1);
}

static void count_duration(const struct http_exchange *x, uint16_t route)
{
    const struct metric_labels labels = {{method_of(x), route, x->counted.status, scheme_of(x)}};
    const uint64_t passed_ms = loop_now_ms(x->conn->server->loop) - x->counted.start_ms;

    metrics_observe(METRIC_HTTP_DURATION, metrics_of(METRIC_HTTP_DURATION, &labels),
                    1000 * passed_ms);
}

void http_metrics_end(struct http_exchange *x)
{
    if (!x->counted.is_open)
        return;
    x->counted.is_open = false;
    move_active(x, -1);
    if (x->counted.is_stream)
        metrics_move(METRIC_OPEN_STREAMS, 0, -1);
    count_duration(x, x->counted.route == 0 ? METRIC_WORD_OTHER : x->counted.route);
    if (x->counted.route != 0)
        count_request(x, x->counted.route);
    metrics_add(metrics_at(METRIC_STREAM_BYTES, METRIC_DIRECTION_IN), x->conn->h1.body.len);
    metrics_add(metrics_at(METRIC_STREAM_BYTES, METRIC_DIRECTION_OUT), x->traffic.bytes_out);
}

void http_exchange_count_route(struct http_exchange *x, uint16_t route)
{
    x->counted.route = route;
}

void http_exchange_count_owner(struct http_exchange *x, uint16_t owner)
{
    x->counted.owner = owner;
}

void http_exchange_count_model(struct http_exchange *x, uint16_t model)
{
    x->counted.model = model;
}

void http_metrics_refuse(const struct err *e)
{
    switch (e->code) {
    case ERR_REQUEST_TOO_LARGE:
    case ERR_LENGTH_REQUIRED:
        metrics_count(METRIC_REJECTED, METRIC_REJECTION_BODY);
        break;
    case ERR_HEADERS_TOO_LARGE:
    case ERR_REQUEST_TIMEOUT:
        metrics_count(METRIC_REJECTED, METRIC_REJECTION_HEAD);
        break;
    default:
        metrics_count(METRIC_REJECTED, METRIC_REJECTION_BAD_REQUEST);
        break;
    }
}
