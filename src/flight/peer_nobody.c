/* peer_nobody.c -- operations that do nothing. */
#include "flight/peer_nobody.h"

static void watch(void *of, const struct http_exchange_handler *handler, void *arg)
{
    struct nobody *n = of;

    n->handler = handler;
    n->arg = arg;
}

static str request_id(void *of)
{
    const struct nobody *n = of;

    return n->request_id;
}

static struct http_traffic *traffic(void *of)
{
    struct nobody *n = of;

    return &n->traffic;
}

static int read_body(void *of, str *ret, struct err *reterr)
{
    const struct nobody *n = of;

    (void)reterr;
    *ret = n->body;
    return 0;
}

static void do_nothing(void *of)
{
    (void)of;
}

static void respond(void *of, int status, const struct http_header *headers, size_t n, str body)
{
    (void)of;
    (void)status;
    (void)headers;
    (void)n;
    (void)body;
}

static void respond_taken(void *of, int status, const struct http_header *headers, size_t n,
                          struct buf *body)
{
    (void)of;
    (void)status;
    (void)headers;
    (void)n;
    buf_fini(body);
}

static void respond_error(void *of, const struct err *e)
{
    (void)of;
    (void)e;
}

static void start_stream(void *of, int status, const struct http_header *headers, size_t n)
{
    respond(of, status, headers, n, STR(""));
}

static void ignore_bytes(void *of, str bytes)
{
    (void)of;
    (void)bytes;
}

static void ignore_taken(void *of, struct buf *bytes)
{
    (void)of;
    buf_fini(bytes);
}

/* The events are those of a client over HTTP, who may read them later. */
static const struct peer_ops ops = {
    .manners = {.has_error_events = true},
    .watch = watch,
    .request_id = request_id,
    .traffic = traffic,
    .body = read_body,
    .hold = do_nothing,
    .release = do_nothing,
    .respond = respond,
    .respond_taken = respond_taken,
    .respond_error = respond_error,
    .start = start_stream,
    .flush = do_nothing,
    .write = ignore_bytes,
    .write_soon = ignore_bytes,
    .write_taken = ignore_taken,
    .end = ignore_bytes,
    .abort = do_nothing,
};

struct peer peer_nobody(struct nobody *n)
{
    return (struct peer){&ops, n};
}

void peer_nobody_leave(struct nobody *n)
{
    n->handler->on_gone(n->arg);
}
