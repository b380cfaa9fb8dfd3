/* test_http.c -- server and client on one loop, over the loopback interface.
 *
 * Three kinds of partners: our server with our client, our server with a raw
 * peer that sends bytes as they stand in the test, and our client with a
 * scripted server that answers canned bytes. Every test ends when what it waits
 * for has happened; a watchdog ends it otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "http/http_client.h"
#include "http/http_server.h"
#include "net/listener.h"
#include "net/socket.h"

enum { WATCHDOG_MS = 20000, MIB = 1024 * 1024 };

/* --- the fixture -------------------------------------------------------------- */

/* A raw end of a connection: collects what it is sent. */
struct peer {
    struct socket socket;
    struct buf in;
    bool open, gone;
};

/* A step of a scripted server, taken at each request it reads. */
struct step {
    const char *answer; /* NULL: silence */
    bool close_after;
};

/* What a call has reported. */
struct reply {
    struct http_call *call;
    int status;
    struct buf headers, body;
    bool ended, failed;
    struct err failure;
};

struct fixture {
    struct loop *loop;
    struct loop_timer *watchdog, *timer;
    struct http_server *server;
    struct http_server_conf conf;
    struct http_client *client;
    struct peer peers[4];

    /* our server's side */
    struct http_exchange *x; /* the last one that was not answered at once */
    struct buf requests;     /* "METHOD path?query body" of each */
    unsigned n_requests, n_gone, n_blocked, n_unblocked;
    size_t left_to_write;

    /* the scripted server */
    struct listener *listener;
    uv_poll_t unix_poll;
    int unix_fd;
    struct peer accepted[8];
    const struct step *script;
    unsigned n_accepted, n_steps;
};

static struct fixture fx;

static void on_watchdog(void *arg)
{
    (void)arg;
    (void)fputs("the test waits in vain\n", stderr);
    abort();
}

static void on_request(void *arg, struct http_exchange *x, const struct http_request *request);

static int setup(void **state)
{
    static const struct http_client_conf client_conf = {.max_idle_connections = 8,
                                                        .verify_tls = true};

    (void)state;
    memset(&fx, 0, sizeof(fx));
    fx.unix_fd = -1;
    fx.conf = (struct http_server_conf){.max_head_bytes = 4096,
                                        .max_headers = 20,
                                        .max_body_bytes = 4 * MIB,
                                        .max_connections = 100,
                                        .max_pending_bytes = 64 * 1024,
                                        .head_timeout_ms = 5000,
                                        .body_timeout_ms = 5000,
                                        .keep_alive_ms = 5000,
                                        .send_timeout_ms = 0};
    fx.loop = loop_new(NULL);
    fx.client = http_client_new(fx.loop, &client_conf);
    fx.watchdog = loop_timer_new(fx.loop, on_watchdog, NULL);
    loop_timer_start(fx.watchdog, WATCHDOG_MS);
    return 0;
}

static void peer_close(struct peer *p)
{
    if (p->open)
        socket_close(&p->socket);
    p->open = false;
}

static int teardown(void **state)
{
    (void)state;
    http_client_free(fx.client);
    http_server_close(fx.server);
    listener_close(fx.listener);
    if (fx.unix_fd != -1) {
        uv_close((uv_handle_t *)&fx.unix_poll, NULL);
        (void)close(fx.unix_fd);
    }
    for (size_t i = 0; i < 4; i++)
        peer_close(&fx.peers[i]);
    for (size_t i = 0; i < fx.n_accepted; i++)
        peer_close(&fx.accepted[i]);
    loop_timer_free(fx.watchdog);
    loop_timer_free(fx.timer);
    loop_free(fx.loop);
    for (size_t i = 0; i < 4; i++)
        buf_fini(&fx.peers[i].in);
    for (size_t i = 0; i < 8; i++)
        buf_fini(&fx.accepted[i].in);
    buf_fini(&fx.requests);
    return 0;
}

static void serve(void)
{
    struct err e;

    fx.server = http_server_open(fx.loop, "127.0.0.1:0", &fx.conf, on_request, NULL, &e);
    assert_non_null(fx.server);
}

/* Turns the loop until the condition holds. */
#define UNTIL(condition)                                                                           \
    while (!(condition))                                                                           \
    (void)uv_run(loop_uv(fx.loop), UV_RUN_ONCE)

static void on_time(void *arg)
{
    *(bool *)arg = true;
}

static void let_pass(uint64_t ms)
{
    bool passed = false;
    struct loop_timer *timer = loop_timer_new(fx.loop, on_time, &passed);

    uv_update_time(loop_uv(fx.loop));
    loop_timer_start(timer, ms);
    UNTIL(passed);
    loop_timer_free(timer);
}

/* --- raw peers ---------------------------------------------------------------------- */

static void peer_on_bytes(void *arg, str bytes)
{
    struct peer *p = arg;

    buf_append(&p->in, bytes);
}

static void peer_on_gone(void *arg)
{
    struct peer *p = arg;

    p->gone = true;
    peer_close(p);
}

static void nothing(void *arg)
{
    (void)arg;
}

static const struct socket_handler peer_handler = {peer_on_bytes, peer_on_gone, nothing, nothing};

static struct peer *dial(size_t i)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)http_server_port(fx.server)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct peer *p = &fx.peers[i];
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(socket_open(&p->socket, fx.loop, fd, &peer_handler, p, NULL), 0);
    p->open = true;
    return p;
}

static void say(struct peer *p, const char *text)
{
    char *copy = strdup(text);
    struct iovec piece = {copy, strlen(copy)};

    socket_send(&p->socket, &piece, 1);
    free(copy);
}

static bool heard(struct peer *p, const char *text)
{
    return strstr(buf_cstr(&p->in), text) != NULL;
}

static unsigned count_of(struct peer *p, const char *text)
{
    unsigned n = 0;

    for (const char *at = buf_cstr(&p->in); (at = strstr(at, text)) != NULL; at++)
        n++;
    return n;
}

/* --- our server's owner: the path says what to do -------------------------------------- */

static void on_gone(void *arg)
{
    (void)arg;
    fx.n_gone++;
    fx.x = NULL;
}

static void write_on(void)
{
    char block[10000];

    memset(block, 'x', sizeof(block));
    for (int i = 0; i < 10 && fx.left_to_write > 0; i++) { /* then the loop may report */
        size_t n = fx.left_to_write < sizeof(block) ? fx.left_to_write : sizeof(block);

        http_exchange_write(fx.x, str_from(block, n));
        fx.left_to_write -= n;
    }
    if (fx.left_to_write == 0) {
        http_exchange_end(fx.x);
        fx.x = NULL;
    }
}

static void write_more(void *arg)
{
    (void)arg;
    if (fx.x == NULL || fx.n_blocked != fx.n_unblocked)
        return;
    write_on();
    if (fx.x != NULL)
        assert_true(loop_defer(fx.loop, write_more, NULL));
}

static void on_blocked(void *arg, bool blocked)
{
    (void)arg;
    fx.n_blocked += blocked;
    fx.n_unblocked += !blocked;
    if (!blocked)
        assert_true(loop_defer(fx.loop, write_more, NULL));
}

static const struct http_exchange_handler exchange_handler = {on_gone, on_blocked};
static const struct http_header text_type[] = {{STR_INIT("Content-Type"), STR_INIT("text/plain")}};

static void hold(struct http_exchange *x)
{
    fx.x = x;
    http_exchange_watch(x, &exchange_handler, NULL);
}

static void answer_stream(struct http_exchange *x)
{
    http_exchange_start(x, 200, text_type, 1);
    http_exchange_write(x, STR("one "));
    http_exchange_write(x, STR("two"));
    http_exchange_end(x);
}

static void answer_error(struct http_exchange *x)
{
    struct err e;

    err_set_param(&e, ERR_RATE_LIMIT, "tools[0]", "Say \"please\".");
    http_exchange_respond_error(x, &e, text_type, 0);
}

static void on_request(void *arg, struct http_exchange *x, const struct http_request *request)
{
    (void)arg;
    fx.n_requests++;
    buf_append(&fx.requests, request->method);
    buf_char(&fx.requests, ' ');
    buf_append(&fx.requests, request->path);
    buf_c(&fx.requests, request->query.len > 0 ? "?" : "");
    buf_append(&fx.requests, request->query);
    buf_char(&fx.requests, ' ');
    buf_append(&fx.requests,
               str_from(request->body.p, request->body.len < 40 ? request->body.len : 40));
    buf_char(&fx.requests, '\n');
    if (str_eq(request->path, STR("/stream"))) {
        answer_stream(x);
    } else if (str_eq(request->path, STR("/error"))) {
        answer_error(x);
    } else if (str_eq(request->path, STR("/hold"))) {
        hold(x);
    } else if (str_eq(request->path, STR("/half"))) {
        hold(x);
        http_exchange_start(x, 200, text_type, 1);
        http_exchange_write(x, STR("half"));
    } else if (str_eq(request->path, STR("/large"))) {
        hold(x);
        http_exchange_start(x, 200, text_type, 1);
        assert_true(loop_defer(fx.loop, write_more, NULL));
    } else {
        http_exchange_respond(x, 200, text_type, 1, STR("hello"));
    }
}

/* --- our server and a raw peer ------------------------------------------------------------ */

#define GET(path)  "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define LAST_CHUNK "\r\n0\r\n\r\n"

static void one_connection_serves_many_requests(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = dial(0);
    for (unsigned i = 1; i <= 3; i++) {
        say(p, GET("/x?y=z"));
        UNTIL(count_of(p, "hello") == i);
    }
    assert_string_equal(buf_cstr(&fx.requests), "GET /x?y=z \nGET /x?y=z \nGET /x?y=z \n");
    assert_int_equal(http_server_connections(fx.server), 1);
    assert_int_equal(http_server_exchanges(fx.server), 0);
    assert_true(heard(p, "HTTP/1.1 200 OK\r\nDate: "));
    assert_true(heard(p, " GMT\r\nx-request-id: req_"));
    assert_true(heard(p, "\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"));
    assert_false(heard(p, "Connection"));
}

static void connection_close_ends_with_a_fin_behind_the_last_byte(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = dial(0);
    say(p, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    UNTIL(p->gone);
    assert_true(heard(p, "Connection: close\r\n"));
    assert_true(heard(p, "\r\n\r\nhello"));
    UNTIL(http_server_connections(fx.server) == 0);
}

static void an_answer_of_unknown_length_is_chunked(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = dial(0);
    say(p, GET("/stream"));
    UNTIL(heard(p, LAST_CHUNK));
    assert_true(heard(p, "Transfer-Encoding: chunked\r\n\r\n4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n"));
    say(p, GET("/"));
    UNTIL(heard(p, "hello"));
}

static void http_1_0_gets_no_chunks(void **state)
{
    struct peer *p, *q;

    (void)state;
    serve();
    p = dial(0);
    say(p, "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    UNTIL(p->gone);
    assert_true(heard(p, "Connection: close\r\n\r\none two"));
    q = dial(1);
    say(q, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    UNTIL(heard(q, "hello"));
    assert_true(heard(q, "Connection: keep-alive\r\n"));
    assert_false(q->gone);
}

static void head_gets_the_head_only(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = dial(0);
    say(p, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    UNTIL(heard(p, "Content-Length: 5\r\n\r\n"));
    say(p, "HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    UNTIL(heard(p, "chunked\r\n\r\n"));
    say(p, GET("/"));
    UNTIL(heard(p, "hello"));
    assert_int_equal(count_of(p, "hello"), 1);
    assert_int_equal(count_of(p, "one"), 0);
}

static void a_client_that_waits_for_100_continue_gets_it(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = dial(0);
    say(p, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    UNTIL(heard(p, "HTTP/1.1 100 Continue\r\n\r\n"));
    say(p, "abc");
    UNTIL(heard(p, "hello"));
    say(p, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc");
    UNTIL(count_of(p, "hello") == 2);
    assert_int_equal(count_of(p, "100 Continue"), 1);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = dial(0);
    say(p, GET("/stream") GET(
               "/1") "POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab" GET("/3") "GET ");
    UNTIL(count_of(p, "hello") == 3);
    say(p, "/4 HTTP/1.1\r\nHost: a\r\n\r\n");
    UNTIL(count_of(p, "hello") == 4);
    assert_string_equal(buf_cstr(&fx.requests),
                        "GET /stream \nGET /1 \nPOST /2 ab\nGET /3 \nGET /4 \n");
    assert_true(strstr(buf_cstr(&p->in), "two") < strstr(buf_cstr(&p->in), "hello"));
}

/* As many requests as the kernel takes, which is far more than is read ahead. */
static void a_flood_of_pipelined_requests_waits_in_the_kernel(void **state)
{
    char post[8192];
    unsigned n = 0;
    struct peer *p;

    (void)state;
    (void)snprintf(post, sizeof(post),
                   "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8000\r\n\r\n%08000d", 0);
    serve();
    p = dial(0);
    say(p, GET("/hold"));
    UNTIL(fx.x != NULL);
    for (; socket_pending(&p->socket) == 0; n++)
        say(p, post);
    let_pass(20);
    for (; socket_pending(&p->socket) == 0; n++)
        say(p, post);
    let_pass(20);
    assert_true(socket_pending(&p->socket) > 0);
    http_exchange_respond(fx.x, 200, NULL, 0, STR("held"));
    UNTIL(fx.n_requests == n + 1);
    UNTIL(count_of(p, "hello") == n);
}

static void a_client_that_leaves_is_noticed(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = dial(0);
    say(p, GET("/hold"));
    UNTIL(fx.x != NULL);
    peer_close(p);
    UNTIL(fx.n_gone == 1);
    assert_int_equal(http_server_exchanges(fx.server), 0);
    p = dial(1);
    say(p, GET("/half"));
    UNTIL(heard(p, "half"));
    socket_shutdown(&p->socket);
    UNTIL(fx.n_gone == 2);
    p = dial(2);
    say(p, GET("/half"));
    UNTIL(heard(p, "half"));
    socket_reset(&p->socket);
    p->open = false;
    UNTIL(fx.n_gone == 3);
}

static void a_client_that_leaves_with_unread_requests_is_noticed(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = dial(0);
    say(p, GET("/hold"));
    for (unsigned i = 0; i < 500; i++)
        say(p, GET("/0123456789"));
    UNTIL(fx.x != NULL);
    let_pass(20);
    peer_close(p);
    UNTIL(fx.n_gone == 1);
}

static void a_body_over_the_limit_is_refused_at_its_length(void **state)
{
    struct peer *p;
    char *block = calloc(1, MIB);
    struct iovec piece = {block, MIB};

    (void)state;
    serve();
    p = dial(0);
    say(p, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 8388608\r\n\r\n");
    UNTIL(heard(p, "HTTP/1.1 413 Content Too Large\r\n"));
    for (int i = 0; i < 8; i++) /* the client sends it all the same */
        socket_send(&p->socket, &piece, 1);
    UNTIL(socket_pending(&p->socket) == 0 || p->gone);
    UNTIL(p->gone);
    assert_true(heard(p, "Connection: close\r\n"));
    assert_true(heard(
        p, "{\"error\":{\"message\":\"The request body is larger than 4194304 bytes.\",\"type\":"
           "\"invalid_request_error\",\"param\":null,\"code\":\"request_too_large\"}}"));
    assert_false(heard(p, "100 Continue"));
    assert_string_equal(buf_cstr(&fx.requests), "");
    free(block);
}

static void bad_requests_get_their_status_and_the_end(void **state)
{
    static const struct {
        const char *request, *status;
    } cases[] = {
        {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"},
        {"\x16\x03\x01", "HTTP/1.1 400 Bad Request\r\n"},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
         "HTTP/1.1 501 Not Implemented\r\n"},
    };

    (void)state;
    serve();
    for (size_t i = 0; i < 3; i++) {
        struct peer *p = dial(i);

        say(p, cases[i].request);
        UNTIL(p->gone);
        assert_true(heard(p, cases[i].status));
        assert_true(heard(p, "Content-Type: application/json\r\n"));
    }
    UNTIL(http_server_connections(fx.server) == 0);
}

static void a_head_over_the_limit_is_refused(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = dial(0);
    say(p, "GET / HTTP/1.1\r\nHost: a\r\nLong: ");
    for (int i = 0; i < 500; i++)
        say(p, "0123456789");
    UNTIL(p->gone);
    assert_true(heard(p, "HTTP/1.1 431 "));
    assert_true(heard(p, "\"code\":\"headers_too_large\""));
}

static void connections_over_the_limit_are_told_so(void **state)
{
    struct peer *p, *q;

    (void)state;
    fx.conf.max_connections = 1;
    serve();
    p = dial(0);
    say(p, GET("/"));
    UNTIL(heard(p, "hello"));
    q = dial(1);
    say(q, GET("/"));
    UNTIL(q->gone);
    assert_true(heard(q, "HTTP/1.1 503 Service Unavailable\r\n"));
    assert_true(heard(q, "Retry-After: 1\r\n"));
    assert_true(heard(q, "\"code\":\"server_is_overloaded\""));
    say(p, GET("/"));
    UNTIL(count_of(p, "hello") == 2);
    peer_close(p);
    UNTIL(http_server_connections(fx.server) == 0);
    p = dial(2);
    say(p, GET("/"));
    UNTIL(heard(p, "hello"));
}

static void an_error_answer_has_four_members(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = dial(0);
    say(p, GET("/error"));
    UNTIL(heard(p, "}}"));
    assert_true(heard(p, "HTTP/1.1 429 Too Many Requests\r\n"));
    assert_true(heard(p, "Retry-After: 1\r\n"));
    assert_true(heard(
        p, "\r\n\r\n{\"error\":{\"message\":\"Say \\\"please\\\".\",\"type\":\"rate_limit_error\","
           "\"param\":\"tools[0]\",\"code\":\"rate_limit_exceeded\"}}"));
}

static void late_requests_time_out(void **state)
{
    struct peer *head, *body, *idle;

    (void)state;
    fx.conf.head_timeout_ms = 30;
    fx.conf.body_timeout_ms = 60;
    fx.conf.keep_alive_ms = 90;
    serve();
    head = dial(0);
    body = dial(1);
    idle = dial(2);
    say(head, "GET / HT");
    say(body, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");
    say(idle, GET("/"));
    UNTIL(head->gone && body->gone && idle->gone);
    assert_true(heard(head, "HTTP/1.1 408 Request Timeout\r\n"));
    assert_true(heard(body, "HTTP/1.1 408 Request Timeout\r\n"));
    assert_true(heard(idle, "HTTP/1.1 200 OK\r\n"));
    assert_false(heard(idle, "408"));
}

static void a_silent_owner_does_not_time_out(void **state)
{
    struct peer *p;

    (void)state;
    fx.conf.head_timeout_ms = fx.conf.body_timeout_ms = fx.conf.keep_alive_ms = 10;
    fx.conf.send_timeout_ms = 10;
    serve();
    p = dial(0);
    say(p, GET("/half"));
    UNTIL(heard(p, "half"));
    let_pass(60);
    http_exchange_write(fx.x, STR("rest"));
    http_exchange_end(fx.x);
    UNTIL(heard(p, "rest" LAST_CHUNK));
}

static void a_slow_client_blocks_its_exchange_only(void **state)
{
    struct peer *p, *q;

    (void)state;
    serve();
    fx.left_to_write = 32 * MIB;
    p = dial(0);
    socket_read(&p->socket, false);
    say(p, GET("/large"));
    UNTIL(fx.n_blocked == 1);
    q = dial(1);
    say(q, GET("/"));
    UNTIL(heard(q, "hello"));
    socket_read(&p->socket, true);
    UNTIL(fx.x == NULL && p->in.len > 32 * MIB);
    UNTIL(heard(p, LAST_CHUNK));
    assert_int_equal(fx.n_blocked, fx.n_unblocked);
}

static void a_client_that_takes_nothing_is_dropped(void **state)
{
    struct peer *p;

    (void)state;
    fx.conf.send_timeout_ms = 50;
    serve();
    fx.left_to_write = 64 * MIB;
    p = dial(0);
    socket_read(&p->socket, false);
    say(p, GET("/large"));
    UNTIL(fx.n_gone == 1);
}

static void an_aborted_answer_does_not_look_whole(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = dial(0);
    say(p, GET("/half"));
    UNTIL(heard(p, "half"));
    http_exchange_abort(fx.x);
    UNTIL(p->gone);
    assert_false(heard(p, LAST_CHUNK));
    assert_int_equal(fx.n_gone, 0);
}

static void draining_lets_running_exchanges_finish(void **state)
{
    struct peer *idle, *busy;

    (void)state;
    serve();
    idle = dial(0);
    say(idle, GET("/"));
    UNTIL(heard(idle, "hello"));
    busy = dial(1);
    say(busy, GET("/hold"));
    UNTIL(fx.x != NULL);
    http_server_drain(fx.server);
    UNTIL(idle->gone);
    assert_int_equal(http_server_connections(fx.server), 1);
    http_exchange_respond(fx.x, 200, NULL, 0, STR("held"));
    UNTIL(busy->gone);
    assert_true(heard(busy, "Connection: close\r\n"));
    UNTIL(http_server_connections(fx.server) == 0);
}

static void closing_with_an_open_exchange_frees_everything(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = dial(0);
    say(p, GET("/half"));
    UNTIL(heard(p, "half"));
    http_server_close(fx.server);
    fx.server = NULL;
    UNTIL(p->gone);
    assert_int_equal(fx.n_gone, 0);
}

static void addresses_are_understood_or_explained(void **state)
{
    static const char *const good[] = {"127.0.0.1:0", "[::1]:0", "localhost:0", ":0"};
    static const char *const bad[] = {"127.0.0.1",   "::1:0",          "[::1]",
                                      "127.0.0.1:x", "no such host:1", "127.0.0.1:99999"};
    struct err e;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct http_server *server =
            http_server_open(fx.loop, good[i], &fx.conf, on_request, NULL, &e);

        if (server == NULL && i == 1)
            continue; /* a machine without IPv6 */
        assert_non_null(server);
        assert_true(http_server_port(server) > 0);
        http_server_close(server);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_null(http_server_open(fx.loop, bad[i], &fx.conf, on_request, NULL, &e));
        assert_true(strstr(e.msg, bad[i]) != NULL);
    }
}

/* --- our client ------------------------------------------------------------------------------- */

static void reply_on_head(void *arg, int status, const struct http_header *headers, size_t n)
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

static void reply_on_body(void *arg, str bytes)
{
    struct reply *r = arg;

    buf_append(&r->body, bytes);
}

static void reply_on_end(void *arg, const struct err *failure)
{
    struct reply *r = arg;

    assert_false(r->ended);
    r->ended = true;
    r->call = NULL;
    r->failed = failure != NULL;
    if (failure != NULL)
        r->failure = *failure;
}

static const struct http_call_handler reply_handler = {reply_on_head, reply_on_body, reply_on_end};

static void reply_fini(struct reply *r)
{
    buf_fini(&r->headers);
    buf_fini(&r->body);
}

static struct http_call_conf call_conf(char url[160], const char *path)
{
    int port = fx.server != NULL ? http_server_port(fx.server) : listener_port(fx.listener);

    (void)snprintf(url, 160, "http://127.0.0.1:%d%s", port, path);
    return (struct http_call_conf){.method = "GET", .url = url, .body = STR_NONE};
}

static void start(struct reply *r, const struct http_call_conf *conf,
                  const struct http_call_handler *handler)
{
    struct err e;

    *r = (struct reply){.call = NULL};
    r->call = http_client_start(fx.client, conf, handler, r, &e);
    assert_non_null(r->call);
    assert_false(r->ended);
}

/* A whole call of our server. */
static void fetch(struct reply *r, const char *path)
{
    char url[160];
    struct http_call_conf conf = call_conf(url, path);

    start(r, &conf, &reply_handler);
    UNTIL(r->ended);
}

static void a_call_reports_head_body_and_end(void **state)
{
    struct reply r;

    (void)state;
    serve();
    fetch(&r, "/stream");
    assert_false(r.failed);
    assert_int_equal(r.status, 200);
    assert_string_equal(buf_cstr(&r.body), "one two");
    assert_true(strstr(buf_cstr(&r.headers), "content-type=text/plain\n") != NULL);
    reply_fini(&r);
}

static void a_request_carries_its_body_and_headers(void **state)
{
    static const struct http_header headers[] = {
        {STR_INIT("content-type"), STR_INIT("application/json")},
        {STR_INIT("x-empty"), STR_INIT("")}};
    struct reply r;
    char url[160], *large = calloc(1, MIB);
    struct http_call_conf conf;

    (void)state;
    serve();
    conf = call_conf(url, "/post?q=1");
    conf.method = "POST";
    conf.headers = headers;
    conf.n_headers = 2;
    conf.body = STR("{\"a\":1}");
    start(&r, &conf, &reply_handler);
    UNTIL(r.ended);
    assert_string_equal(buf_cstr(&r.body), "hello");
    reply_fini(&r);
    conf.method = "DELETE";
    conf.body = STR_NONE;
    start(&r, &conf, &reply_handler);
    UNTIL(r.ended);
    reply_fini(&r);
    conf.method = "POST";
    memset(large, 'y', MIB);
    conf.body = str_from(large, MIB);
    start(&r, &conf, &reply_handler);
    UNTIL(r.ended);
    assert_false(r.failed);
    reply_fini(&r);
    assert_string_equal(buf_cstr(&fx.requests),
                        "POST /post?q=1 {\"a\":1}\nDELETE /post?q=1 \nPOST /post?q=1 "
                        "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\n");
    free(large);
}

static void calls_one_after_the_other_share_a_connection(void **state)
{
    (void)state;
    serve();
    for (int i = 0; i < 5; i++) {
        struct reply r;

        fetch(&r, i % 2 == 0 ? "/stream" : "/");
        assert_false(r.failed);
        reply_fini(&r);
    }
    assert_int_equal(http_server_connections(fx.server), 1);
}

static void a_server_that_is_not_there_is_named(void **state)
{
    static const struct http_call_conf conf = {
        .method = "GET", .url = "http://user:secret@127.0.0.1:9/path?token=secret"};
    struct reply r;

    (void)state;
    start(&r, &conf, &reply_handler);
    UNTIL(r.ended);
    assert_int_equal(r.failure.code, ERR_UPSTREAM_UNAVAILABLE);
    assert_string_equal(r.failure.msg, "The upstream server at 127.0.0.1:9 is not reachable: "
                                       "connection refused.");
    reply_fini(&r);
}

static void bad_urls_are_refused_at_once(void **state)
{
    static const char *const bad[] = {
        "",           "127.0.0.1:80", "ftp://a/", "file:///etc/passwd", "unix:relative.sock:/v1",
        "http://a b/"};
    struct err e;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct http_call_conf conf = {.method = "GET", .url = bad[i]};

        e.code = ERR_NONE;
        assert_null(http_client_start(fx.client, &conf, &reply_handler, NULL, &e));
        assert_int_equal(e.code, ERR_INTERNAL);
    }
}

static void a_server_that_stays_silent_times_out(void **state)
{
    struct reply first, idle, total;
    struct http_call_conf conf;
    char url[160];

    (void)state;
    serve();
    conf = call_conf(url, "/hold");
    conf.first_byte_timeout_ms = 30;
    conf.idle_timeout_ms = 10000;
    start(&first, &conf, &reply_handler);
    UNTIL(first.ended);
    assert_int_equal(first.failure.code, ERR_UPSTREAM_TIMEOUT);
    assert_true(
        strstr(first.failure.msg, "The upstream server did not answer in time (127.0.0.1:"));
    assert_true(strstr(first.failure.msg, "no answer within 30 ms") != NULL);
    UNTIL(fx.n_gone == 1);
    conf = call_conf(url, "/half");
    conf.first_byte_timeout_ms = 10000;
    conf.idle_timeout_ms = 30;
    start(&idle, &conf, &reply_handler);
    UNTIL(idle.ended);
    assert_string_equal(buf_cstr(&idle.body), "half");
    assert_true(strstr(idle.failure.msg, "no data for 30 ms") != NULL);
    conf.idle_timeout_ms = 0;
    conf.total_timeout_ms = 30;
    start(&total, &conf, &reply_handler);
    UNTIL(total.ended);
    assert_true(strstr(total.failure.msg, "not complete after 30 ms") != NULL);
    UNTIL(fx.n_gone == 3);
    reply_fini(&first);
    reply_fini(&idle);
    reply_fini(&total);
}

/* --- cancel ------------------------------------------------------------------------------------ */

static struct reply other; /* a second call that is still running */

static void cancel_on_head(void *arg, int status, const struct http_header *headers, size_t n)
{
    struct reply *r = arg;

    reply_on_head(arg, status, headers, n);
    http_call_cancel(r->call);
}

static void cancel_on_body(void *arg, str bytes)
{
    struct reply *r = arg;

    reply_on_body(arg, bytes);
    http_call_cancel(r->call);
}

static void cancel_on_end(void *arg, const struct err *failure)
{
    struct reply *r = arg;

    http_call_pause(r->call);
    http_call_resume(r->call);
    http_call_cancel(r->call);
    reply_on_end(arg, failure);
}

static void cancel_other_on_body(void *arg, str bytes)
{
    reply_on_body(arg, bytes);
    http_call_cancel(other.call);
    other.call = NULL;
}

static void a_cancelled_call_is_silent_and_its_connection_closed(void **state)
{
    static const struct http_call_handler handlers[] = {
        {cancel_on_head, reply_on_body, reply_on_end},
        {reply_on_head, cancel_on_body, reply_on_end}};
    struct http_call_conf conf;
    struct reply r;
    char url[160];

    (void)state;
    serve();
    conf = call_conf(url, "/half");
    for (unsigned i = 0; i < 2; i++) {
        uint64_t before;

        start(&r, &conf, &handlers[i]);
        UNTIL(r.status == 200);
        before = uv_hrtime();
        UNTIL(fx.n_gone == i + 1);
        assert_true(uv_hrtime() - before < 100 * 1000000u);
        assert_false(r.ended);
        assert_int_equal(r.body.len, i == 0 ? 0 : 4);
        reply_fini(&r);
    }
    start(&r, &conf, &reply_handler);
    http_call_cancel(r.call);
    start(&r, &conf, &reply_handler);
    UNTIL(r.body.len == 4);
    http_call_cancel(r.call);
    UNTIL(fx.n_gone == 3);
    assert_false(r.ended);
    reply_fini(&r);
}

static void cancel_is_harmless_at_the_end(void **state)
{
    static const struct http_call_handler handler = {reply_on_head, reply_on_body, cancel_on_end};
    struct http_call_conf conf;
    struct reply r;
    char url[160];

    (void)state;
    serve();
    conf = call_conf(url, "/");
    start(&r, &conf, &handler);
    UNTIL(r.ended);
    assert_false(r.failed);
    reply_fini(&r);
}

static void a_call_may_cancel_another(void **state)
{
    static const struct http_call_handler handler = {reply_on_head, cancel_other_on_body,
                                                     reply_on_end};
    struct http_call_conf conf;
    struct reply r;
    char url[160];

    (void)state;
    serve();
    conf = call_conf(url, "/half");
    start(&other, &conf, &reply_handler);
    UNTIL(other.body.len == 4);
    conf = call_conf(url, "/");
    start(&r, &conf, &handler);
    UNTIL(r.ended && fx.n_gone == 1);
    assert_false(other.ended);
    assert_string_equal(buf_cstr(&r.body), "hello");
    reply_fini(&r);
    reply_fini(&other);
}

static char chained_url[160];

static void chain_on_body(void *arg, str bytes)
{
    struct http_call_conf conf = call_conf(chained_url, "/stream");

    reply_on_body(arg, bytes);
    start(&other, &conf, &reply_handler);
}

static void a_call_may_start_another(void **state)
{
    static const struct http_call_handler handler = {reply_on_head, chain_on_body, reply_on_end};
    struct http_call_conf conf;
    struct reply r;
    char url[160];

    (void)state;
    other = (struct reply){.call = NULL};
    serve();
    conf = call_conf(url, "/");
    start(&r, &conf, &handler);
    UNTIL(r.ended && other.ended);
    assert_string_equal(buf_cstr(&other.body), "one two");
    reply_fini(&r);
    reply_fini(&other);
}

static void a_freed_client_leaves_no_call_behind(void **state)
{
    struct http_call_conf conf;
    struct reply r[2];
    char url[160];

    (void)state;
    serve();
    conf = call_conf(url, "/half");
    start(&r[0], &conf, &reply_handler);
    UNTIL(r[0].body.len == 4);
    start(&r[1], &conf, &reply_handler);
    http_client_free(fx.client);
    fx.client = NULL;
    UNTIL(fx.n_gone == 1);
    assert_false(r[0].ended || r[1].ended);
    reply_fini(&r[0]);
}

/* --- pause -------------------------------------------------------------------------------------- */

static void resume(void *arg)
{
    struct reply *r = arg;

    if (r->call != NULL)
        http_call_resume(r->call);
}

static void pause_on_body(void *arg, str bytes)
{
    struct reply *r = arg;

    reply_on_body(arg, bytes);
    http_call_pause(r->call);
    assert_true(loop_defer(fx.loop, resume, r));
}

static void pausing_every_read_loses_nothing(void **state)
{
    static const struct http_call_handler handler = {reply_on_head, pause_on_body, reply_on_end};
    struct http_call_conf conf;
    static struct reply r; /* outlives the test: a resume may still be deferred */
    char url[160];

    (void)state;
    serve();
    fx.left_to_write = 4 * MIB;
    conf = call_conf(url, "/large");
    start(&r, &conf, &handler);
    UNTIL(r.ended);
    assert_false(r.failed);
    assert_int_equal(r.body.len, 4 * MIB);
    reply_fini(&r);
}

static void pause_once_on_body(void *arg, str bytes)
{
    struct reply *r = arg;

    if (r->body.len == 0)
        http_call_pause(r->call);
    reply_on_body(arg, bytes);
}

static void a_paused_call_blocks_the_server_and_outlives_the_idle_limit(void **state)
{
    static const struct http_call_handler handler = {reply_on_head, pause_once_on_body,
                                                     reply_on_end};
    struct http_call_conf conf;
    struct reply r;
    char url[160];
    size_t at_pause;

    (void)state;
    serve();
    fx.left_to_write = 32 * MIB;
    conf = call_conf(url, "/large");
    conf.idle_timeout_ms = 500;
    start(&r, &conf, &handler);
    UNTIL(fx.n_blocked == 1 && r.body.len > 0);
    at_pause = r.body.len;
    let_pass(700);
    assert_int_equal(r.body.len, at_pause);
    assert_int_equal(fx.n_unblocked, 0);
    http_call_resume(r.call);
    assert_int_equal(r.body.len, at_pause); /* never from inside the call */
    UNTIL(r.ended);
    assert_false(r.failed);
    assert_int_equal(r.body.len, 32 * MIB);
    reply_fini(&r);
}

static void a_paused_call_may_be_cancelled(void **state)
{
    static const struct http_call_handler handler = {reply_on_head, pause_once_on_body,
                                                     reply_on_end};
    struct http_call_conf conf;
    struct reply r;
    char url[160];

    (void)state;
    serve();
    fx.left_to_write = 32 * MIB;
    conf = call_conf(url, "/large");
    start(&r, &conf, &handler);
    UNTIL(fx.n_blocked == 1 && r.body.len > 0);
    http_call_resume(r.call);
    http_call_cancel(r.call);
    UNTIL(fx.n_gone == 1);
    reply_fini(&r);
}

/* --- our client and a scripted server -------------------------------------------------------------- */

static void scripted_on_bytes(void *arg, str bytes)
{
    struct peer *p = arg;
    const struct step *step;

    buf_append(&p->in, bytes);
    if (!heard(p, "\r\n\r\n"))
        return;
    buf_reset(&p->in);
    step = &fx.script[fx.n_steps++];
    if (step->answer != NULL)
        say(p, step->answer);
    if (step->close_after)
        peer_close(p);
}

static const struct socket_handler scripted_handler = {scripted_on_bytes, peer_on_gone, nothing,
                                                       nothing};

static void scripted_on_accept(void *arg, int fd, const char *peer)
{
    struct peer *p = &fx.accepted[fx.n_accepted++];

    (void)arg;
    (void)peer;
    assert_true(fx.n_accepted <= 8);
    assert_int_equal(socket_open(&p->socket, fx.loop, fd, &scripted_handler, p, NULL), 0);
    p->open = true;
}

static void play(const struct step *script)
{
    fx.script = script;
    fx.listener = listener_open(fx.loop, "127.0.0.1:0", scripted_on_accept, NULL, NULL);
    assert_non_null(fx.listener);
}

#define OK_HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

static void informational_answers_and_trailers_are_not_reported(void **state)
{
    static const struct step script[] = {
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
         "HTTP/1.1 201 Created\r\nX-Name:  value \r\nTransfer-Encoding: chunked\r\n\r\n"
         "5\r\nhello\r\n0\r\nTrailer: x\r\n\r\n",
         false}};
    struct reply r;

    (void)state;
    play(script);
    fetch(&r, "/");
    assert_false(r.failed);
    assert_int_equal(r.status, 201);
    assert_string_equal(buf_cstr(&r.headers), "x-name=value\ntransfer-encoding=chunked\n");
    assert_string_equal(buf_cstr(&r.body), "hello");
    reply_fini(&r);
}

static void an_answer_that_breaks_off_is_an_error(void **state)
{
    static const struct step script[] = {
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", true},
        {"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf", true},
    };

    (void)state;
    play(script);
    for (int i = 0; i < 2; i++) {
        struct reply r;

        fetch(&r, "/");
        assert_true(r.failed);
        assert_int_equal(r.failure.code, ERR_UPSTREAM_ERROR);
        assert_true(strstr(r.failure.msg, "The answer of the upstream server at 127.0.0.1:") !=
                    NULL);
        assert_true(strstr(r.failure.msg, " broke off: it closed the connection before the end.") !=
                    NULL);
        assert_string_equal(buf_cstr(&r.body), "half");
        reply_fini(&r);
    }
}

static void a_server_that_answers_nothing_is_not_reachable(void **state)
{
    static const struct step script[] = {{NULL, true}, {"SSH-2.0-x\r\n", true}};
    struct reply r;

    (void)state;
    play(script);
    fetch(&r, "/");
    assert_int_equal(r.failure.code, ERR_UPSTREAM_UNAVAILABLE);
    assert_true(strstr(r.failure.msg, "it closed the connection without an answer.") != NULL);
    fetch(&r, "/");
    assert_int_equal(r.failure.code, ERR_UPSTREAM_UNAVAILABLE);
    assert_true(strstr(r.failure.msg, "it does not speak HTTP/1.1.") != NULL);
    reply_fini(&r);
}

/* The server closes a kept connection in the moment the next request arrives. */
static void a_kept_connection_that_is_dead_is_replaced(void **state)
{
    static const struct step script[] = {{OK_HELLO, false}, {NULL, true}, {OK_HELLO, false}};
    struct http_call_conf conf;
    struct reply r;
    char url[160];

    (void)state;
    play(script);
    fetch(&r, "/");
    reply_fini(&r);
    conf = call_conf(url, "/");
    conf.method = "POST";
    conf.body = STR("body");
    start(&r, &conf, &reply_handler);
    UNTIL(r.ended);
    assert_false(r.failed);
    assert_string_equal(buf_cstr(&r.body), "hello");
    assert_int_equal(fx.n_accepted, 2);
    assert_int_equal(fx.n_steps, 3);
    reply_fini(&r);
}

static void on_unix_accept(uv_poll_t *poll, int status, int events)
{
    (void)poll;
    (void)status;
    (void)events;
    scripted_on_accept(NULL, accept(fx.unix_fd, NULL, NULL), "");
}

static void a_unix_socket_is_called_by_its_path(void **state)
{
    static const struct step script[] = {{OK_HELLO, false}, {NULL, true}};
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct http_call_conf conf = {.method = "GET"};
    struct reply r;
    char url[200];

    (void)state;
    (void)snprintf(at.sun_path, sizeof(at.sun_path), "/tmp/test_http.%d.sock", (int)getpid());
    fx.unix_fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fx.unix_fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fx.unix_fd, 8), 0);
    assert_int_equal(uv_poll_init(loop_uv(fx.loop), &fx.unix_poll, fx.unix_fd), 0);
    assert_int_equal(uv_poll_start(&fx.unix_poll, UV_READABLE, on_unix_accept), 0);
    fx.script = script;
    (void)snprintf(url, sizeof(url), "unix:%s:/v1/models", at.sun_path);
    conf.url = url;
    start(&r, &conf, &reply_handler);
    UNTIL(r.ended);
    assert_string_equal(buf_cstr(&r.body), "hello");
    reply_fini(&r);
    (void)unlink(at.sun_path);
}

#define HTTP_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(one_connection_serves_many_requests),
        HTTP_TEST(connection_close_ends_with_a_fin_behind_the_last_byte),
        HTTP_TEST(an_answer_of_unknown_length_is_chunked),
        HTTP_TEST(http_1_0_gets_no_chunks),
        HTTP_TEST(head_gets_the_head_only),
        HTTP_TEST(a_client_that_waits_for_100_continue_gets_it),
        HTTP_TEST(pipelined_requests_are_answered_in_order),
        HTTP_TEST(a_flood_of_pipelined_requests_waits_in_the_kernel),
        HTTP_TEST(a_client_that_leaves_is_noticed),
        HTTP_TEST(a_client_that_leaves_with_unread_requests_is_noticed),
        HTTP_TEST(a_body_over_the_limit_is_refused_at_its_length),
        HTTP_TEST(bad_requests_get_their_status_and_the_end),
        HTTP_TEST(a_head_over_the_limit_is_refused),
        HTTP_TEST(connections_over_the_limit_are_told_so),
        HTTP_TEST(an_error_answer_has_four_members),
        HTTP_TEST(late_requests_time_out),
        HTTP_TEST(a_silent_owner_does_not_time_out),
        HTTP_TEST(a_slow_client_blocks_its_exchange_only),
        HTTP_TEST(a_client_that_takes_nothing_is_dropped),
        HTTP_TEST(an_aborted_answer_does_not_look_whole),
        HTTP_TEST(draining_lets_running_exchanges_finish),
        HTTP_TEST(closing_with_an_open_exchange_frees_everything),
        HTTP_TEST(addresses_are_understood_or_explained),
        HTTP_TEST(a_call_reports_head_body_and_end),
        HTTP_TEST(a_request_carries_its_body_and_headers),
        HTTP_TEST(calls_one_after_the_other_share_a_connection),
        HTTP_TEST(a_server_that_is_not_there_is_named),
        HTTP_TEST(bad_urls_are_refused_at_once),
        HTTP_TEST(a_server_that_stays_silent_times_out),
        HTTP_TEST(a_cancelled_call_is_silent_and_its_connection_closed),
        HTTP_TEST(cancel_is_harmless_at_the_end),
        HTTP_TEST(a_call_may_cancel_another),
        HTTP_TEST(a_call_may_start_another),
        HTTP_TEST(a_freed_client_leaves_no_call_behind),
        HTTP_TEST(pausing_every_read_loses_nothing),
        HTTP_TEST(a_paused_call_blocks_the_server_and_outlives_the_idle_limit),
        HTTP_TEST(a_paused_call_may_be_cancelled),
        HTTP_TEST(informational_answers_and_trailers_are_not_reported),
        HTTP_TEST(an_answer_that_breaks_off_is_an_error),
        HTTP_TEST(a_server_that_answers_nothing_is_not_reachable),
        HTTP_TEST(a_kept_connection_that_is_dead_is_replaced),
        HTTP_TEST(a_unix_socket_is_called_by_its_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
