/* peer_exchange.c -- the client of an HTTP exchange, as a flight knows it. */
#include "flight/peer.h"

static void watch(void *of, const struct http_exchange_handler *handler, void *arg)
{
    http_exchange_watch(of, handler, arg);
}

static str request_id(void *of)
{
    return http_exchange_request_id(of);
}

static struct http_traffic *traffic(void *of)
{
    return http_exchange_traffic(of);
}

static void tell_trace(void *of, const char *traceparent)
{
    http_exchange_tell_trace(of, traceparent);
}

static void tell_headers(void *of, const struct http_header *headers, size_t n)
{
    http_exchange_tell(of, headers, n);
}

static int read_body(void *of, str *ret, struct err *reterr)
{
    return http_exchange_body(of, ret, reterr);
}

static void hold_exchange(void *of)
{
    http_exchange_hold(of);
}

static void release_exchange(void *of)
{
    http_exchange_release(of);
}

static void count_model(void *of, uint16_t model)
{
    http_exchange_count_model(of, model);
}

static void respond(void *of, int status, const struct http_header *headers, size_t n, str body)
{
    http_exchange_respond(of, status, headers, n, body);
}

static void respond_taken(void *of, int status, const struct http_header *headers, size_t n,
                          struct buf *body)
{
    http_exchange_respond_taken(of, status, headers, n, body);
}

static void respond_error(void *of, const struct err *e)
{
    http_exchange_respond_error(of, e, NULL, 0);
}

static void start_stream(void *of, int status, const struct http_header *headers, size_t n)
{
    http_exchange_start(of, status, headers, n);
}

static void flush_head(void *of)
{
    http_exchange_flush(of);
}

static void write_bytes(void *of, str bytes)
{
    http_exchange_write(of, bytes);
}

static void write_soon(void *of, str bytes)
{
    http_exchange_write_soon(of, bytes);
}

static void write_taken(void *of, struct buf *bytes)
{
    http_exchange_write_taken(of, bytes);
}

static void end_stream(void *of, str bytes)
{
    http_exchange_end(of, bytes);
}

static void abort_answer(void *of)
{
    http_exchange_abort(of);
}

static const struct peer_ops ops = {
    .manners = {.has_comments = true, .has_error_events = true, .has_dialects = true},
    .watch = watch,
    .request_id = request_id,
    .traffic = traffic,
    .tell_trace = tell_trace,
    .tell_headers = tell_headers,
    .body = read_body,
    .hold = hold_exchange,
    .release = release_exchange,
    .count_model = count_model,
    .respond = respond,
    .respond_taken = respond_taken,
    .respond_error = respond_error,
    .start = start_stream,
    .flush = flush_head,
    .write = write_bytes,
    .write_soon = write_soon,
    .write_taken = write_taken,
    .end = end_stream,
    .abort = abort_answer,
};

struct peer peer_of_exchange(struct http_exchange *x)
{
    return (struct peer){&ops, x};
}
