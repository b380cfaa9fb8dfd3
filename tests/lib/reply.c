/* reply.c -- starts calls and keeps what they report. */
#include "lib/reply.h"

#include <stdio.h>

#include "lib/test.h"

void reply_on_head(void *arg, int status, const struct http_header *headers, size_t n)
{
    struct reply *r = arg;

    r->status = status;
    for (size_t i = 0; i < n; i++) {
        buf_append(&r->headers, headers[i].name);
        buf_char(&r->headers, '=');
        buf_append(&r->headers, headers[i].value);
        buf_char(&r->headers, '\n');
    }
}

void reply_on_body(void *arg, str bytes)
{
    struct reply *r = arg;

    r->n_reads++;
    buf_append(&r->body, bytes);
}

void reply_on_end(void *arg, const struct err *failure)
{
    struct reply *r = arg;

    assert_false(r->ended);
    r->ended = true;
    r->call = NULL;
    r->failed = failure != NULL;
    if (failure != NULL)
        r->failure = *failure;
}

const struct http_call_handler reply_handler = {reply_on_head, reply_on_body, reply_on_end};

void reply_fini(struct reply *r)
{
    buf_fini(&r->headers);
    buf_fini(&r->body);
}

struct http_call_conf reply_conf(char url[160], const char *path)
{
    int port = fx.server != NULL ? http_server_port(fx.server) : listener_port(fx.listener);

    (void)snprintf(url, 160, "http://127.0.0.1:%d%s", port, path);
    return (struct http_call_conf){.method = "GET", .url = url, .body = STR_NONE};
}

void reply_start(struct reply *r, const struct http_call_conf *conf,
                 const struct http_call_handler *handler)
{
    struct err e;

    *r = (struct reply){.call = NULL};
    r->call = http_client_start(fx.client, conf, handler, r, &e);
    assert_non_null(r->call);
    assert_false(r->ended);
}

void reply_call(struct reply *r, const char *path, const struct http_call_handler *handler)
{
    char url[160];
    struct http_call_conf conf = reply_conf(url, path);

    reply_start(r, &conf, handler);
}

void reply_fetch(struct reply *r, const char *path)
{
    reply_call(r, path, &reply_handler);
    UNTIL(r->ended);
}

void reply_check_hello(struct reply *r)
{
    UNTIL(r->ended);
    assert_false(r->failed);
    assert_string_equal(buf_cstr(&r->body), "hello");
    reply_fini(r);
}

void reply_fetch_hello(void)
{
    struct reply r;

    reply_fetch(&r, "/");
    reply_check_hello(&r);
}
