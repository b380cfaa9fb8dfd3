/* test_http_server.c -- our server and raw peers, which send bytes as they stand
 * in the test: framing, keep-alive, limits, timeouts, back-pressure, and clients
 * that leave. lib/http_fixture.h says what the paths of the requests mean. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/http_fixture.h"
#include "lib/test.h"

#define GET(path)  "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define LAST_CHUNK "\r\n0\r\n\r\n"

static void one_connection_serves_many_requests(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = peer_dial(0);
    for (unsigned i = 1; i <= 3; i++) {
        peer_say(p, GET("/x?y=z"));
        UNTIL(peer_count(p, "hello") == i);
    }
    assert_string_equal(buf_cstr(&fx.requests), "GET /x?y=z \nGET /x?y=z \nGET /x?y=z \n");
    assert_int_equal(http_server_connections(fx.server), 1);
    assert_int_equal(http_server_exchanges(fx.server), 0);
    assert_true(peer_heard(p, "HTTP/1.1 200 OK\r\nDate: "));
    assert_true(peer_heard(p, " GMT\r\nx-request-id: req_"));
    assert_true(peer_heard(p, "\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"));
    assert_false(peer_heard(p, "Connection"));
}

static void connection_close_ends_with_a_fin_behind_the_last_byte(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = peer_dial(0);
    peer_say(p, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    UNTIL(p->gone);
    assert_true(peer_heard(p, "Connection: close\r\n"));
    assert_true(peer_heard(p, "\r\n\r\nhello"));
    UNTIL(http_server_connections(fx.server) == 0);
}

static void an_answer_of_unknown_length_is_chunked(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = peer_dial(0);
    peer_say(p, GET("/stream"));
    UNTIL(peer_heard(p, LAST_CHUNK));
    assert_true(
        peer_heard(p, "Transfer-Encoding: chunked\r\n\r\n4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n"));
    peer_say(p, GET("/"));
    UNTIL(peer_heard(p, "hello"));
}

static void http_1_0_gets_no_chunks(void **state)
{
    struct peer *p, *q;

    (void)state;
    serve();
    p = peer_dial(0);
    peer_say(p, "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    UNTIL(p->gone);
    assert_true(peer_heard(p, "Connection: close\r\n\r\none two"));
    q = peer_dial(1);
    peer_say(q, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    UNTIL(peer_heard(q, "hello"));
    assert_true(peer_heard(q, "Connection: keep-alive\r\n"));
    assert_false(q->gone);
}

static void head_gets_the_head_only(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = peer_dial(0);
    peer_say(p, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    UNTIL(peer_heard(p, "Content-Length: 5\r\n\r\n"));
    peer_say(p, "HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    UNTIL(peer_heard(p, "chunked\r\n\r\n"));
    peer_say(p, GET("/"));
    UNTIL(peer_heard(p, "hello"));
    assert_int_equal(peer_count(p, "hello"), 1);
    assert_int_equal(peer_count(p, "one"), 0);
}

static void a_client_that_waits_for_100_continue_gets_it(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = peer_dial(0);
    peer_say(p, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    UNTIL(peer_heard(p, "HTTP/1.1 100 Continue\r\n\r\n"));
    peer_say(p, "abc");
    UNTIL(peer_heard(p, "hello"));
    peer_say(p,
             "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc");
    UNTIL(peer_count(p, "hello") == 2);
    assert_int_equal(peer_count(p, "100 Continue"), 1);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = peer_dial(0);
    peer_say(p, GET("/stream")
                    GET("/1") "POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab" GET(
                        "/3") "GET ");
    UNTIL(peer_count(p, "hello") == 3);
    peer_say(p, "/4 HTTP/1.1\r\nHost: a\r\n\r\n");
    UNTIL(peer_count(p, "hello") == 4);
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
    p = peer_dial(0);
    peer_say(p, GET("/hold"));
    UNTIL(fx.x != NULL);
    for (; socket_pending(&p->socket) == 0; n++)
        peer_say(p, post);
    let_pass(20);
    for (; socket_pending(&p->socket) == 0; n++)
        peer_say(p, post);
    let_pass(20);
    assert_true(socket_pending(&p->socket) > 0);
    http_exchange_respond(fx.x, 200, NULL, 0, STR("held"));
    UNTIL(fx.n_requests == n + 1);
    UNTIL(peer_count(p, "hello") == n);
}

static void a_client_that_leaves_is_noticed(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = peer_dial(0);
    peer_say(p, GET("/hold"));
    UNTIL(fx.x != NULL);
    peer_close(p);
    UNTIL(fx.n_gone == 1);
    assert_int_equal(http_server_exchanges(fx.server), 0);
    p = peer_dial(1);
    peer_say(p, GET("/half"));
    UNTIL(peer_heard(p, "half"));
    socket_shutdown(&p->socket);
    UNTIL(fx.n_gone == 2);
    p = peer_dial(2);
    peer_say(p, GET("/half"));
    UNTIL(peer_heard(p, "half"));
    socket_reset(&p->socket);
    p->open = false;
    UNTIL(fx.n_gone == 3);
}

static void a_client_that_leaves_with_unread_requests_is_noticed(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = peer_dial(0);
    peer_say(p, GET("/hold"));
    for (unsigned i = 0; i < 500; i++)
        peer_say(p, GET("/0123456789"));
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
    p = peer_dial(0);
    peer_say(
        p, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 8388608\r\n\r\n");
    UNTIL(peer_heard(p, "HTTP/1.1 413 Content Too Large\r\n"));
    for (int i = 0; i < 8; i++) /* the client sends it all the same */
        socket_send(&p->socket, &piece, 1);
    UNTIL(socket_pending(&p->socket) == 0 || p->gone);
    UNTIL(p->gone);
    assert_true(peer_heard(p, "Connection: close\r\n"));
    assert_true(peer_heard(
        p, "{\"error\":{\"message\":\"The request body is larger than 4194304 bytes.\",\"type\":"
           "\"invalid_request_error\",\"param\":null,\"code\":\"request_too_large\"}}"));
    assert_false(peer_heard(p, "100 Continue"));
    assert_string_equal(buf_cstr(&fx.requests), "");
    free(block);
}

/* The client waits for the answer: nothing but the head has been sent. */
static void a_request_is_refused_when_its_head_is_there(void **state)
{
    static const char *const heads[] = {
        "Content-Length: 5\r\n\r\n",
        "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n",
    };

    (void)state;
    serve();
    for (size_t i = 0; i < 3; i++) {
        struct peer *p = peer_dial(i);

        peer_say(p, "POST /stranger HTTP/1.1\r\nHost: a\r\n");
        peer_say(p, heads[i]);
        UNTIL(p->gone);
        assert_true(peer_heard(p, "HTTP/1.1 401 Unauthorized\r\n"));
        assert_true(peer_heard(p, "Connection: close\r\n"));
        assert_true(peer_heard(p, "Who are you?"));
        assert_false(peer_heard(p, "100 Continue"));
    }
    assert_int_equal(fx.n_heads, 3);
    assert_int_equal(fx.n_requests, 0);
    UNTIL(http_server_connections(fx.server) == 0);
    assert_int_equal(http_server_exchanges(fx.server), 0);
}

/* A client may send its whole body before it reads: it must not find a reset. */
static void a_refused_body_is_taken_and_thrown_away(void **state)
{
    char *block = calloc(1, MIB);
    struct iovec piece = {block, MIB};
    struct peer *p;

    (void)state;
    serve();
    p = peer_dial(0);
    socket_read(&p->socket, false);
    socket_keep_end(&p->socket);
    peer_say(p, "POST /stranger HTTP/1.1\r\nHost: a\r\nContent-Length: 4194304\r\n\r\n");
    for (int i = 0; i < 4; i++)
        socket_send(&p->socket, &piece, 1);
    UNTIL(socket_pending(&p->socket) == 0);
    socket_read(&p->socket, true);
    UNTIL(p->gone);
    assert_int_equal(p->socket.error, 0);
    assert_true(peer_heard(p, "HTTP/1.1 401 Unauthorized\r\n"));
    assert_int_equal(peer_count(p, "HTTP/1.1 "), 1);
    free(block);
}

static void a_refusal_without_a_body_keeps_the_connection(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = peer_dial(0);
    peer_say(p, GET("/stranger") "POST /stranger HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    peer_say(p, GET("/"));
    UNTIL(peer_heard(p, "hello"));
    assert_int_equal(peer_count(p, "HTTP/1.1 401 "), 2);
    assert_int_equal(fx.n_heads, 3);
    assert_int_equal(fx.n_requests, 1);
}

/* The head and the body of one request and the next, cut everywhere. */
static void a_head_is_judged_once_whatever_the_pieces(void **state)
{
    static const char two[] = "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
                              "POST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                              "3\r\ndef\r\n0\r\n\r\n";

    (void)state;
    serve();
    for (size_t cut = 1; cut < sizeof(two) - 1; cut++) {
        struct peer *p = &fx.peers[0];
        char first[sizeof(two)];

        *p = (struct peer){.open = false};
        p = peer_dial(0);
        memcpy(first, two, cut);
        first[cut] = '\0';
        fx.n_heads = fx.n_requests = 0;
        buf_reset(&fx.requests);
        peer_say(p, first);
        let_pass(0);
        peer_say(p, two + cut);
        UNTIL(peer_count(p, "hello") == 2);
        assert_int_equal(fx.n_heads, 2);
        assert_string_equal(buf_cstr(&fx.requests), "POST /1 abc\nPOST /2 def\n");
        peer_close(p);
        UNTIL(http_server_connections(fx.server) == 0);
        buf_fini(&p->in);
    }
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
        struct peer *p = peer_dial(i);

        peer_say(p, cases[i].request);
        UNTIL(p->gone);
        assert_true(peer_heard(p, cases[i].status));
        assert_true(peer_heard(p, "Content-Type: application/json\r\n"));
    }
    UNTIL(http_server_connections(fx.server) == 0);
}

static void a_head_over_the_limit_is_refused(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = peer_dial(0);
    peer_say(p, "GET / HTTP/1.1\r\nHost: a\r\nLong: ");
    for (int i = 0; i < 500; i++)
        peer_say(p, "0123456789");
    UNTIL(p->gone);
    assert_true(peer_heard(p, "HTTP/1.1 431 "));
    assert_true(peer_heard(p, "\"code\":\"headers_too_large\""));
}

/* Two fit in: the oldest has to go, and one that comes whole is served. */
static void unfinished_heads_are_bounded_together(void **state)
{
    char head[9000];
    struct peer *first, *second, *third, *whole;

    (void)state;
    (void)snprintf(head, sizeof(head), "GET / HTTP/1.1\r\nHost: a\r\nA: %06000d", 0);
    fx.conf.max_head_bytes = 16384;
    fx.conf.max_large_heads_bytes = (size_t)2 * 8192;
    serve();
    first = peer_dial(0);
    peer_say(first, head);
    let_pass(20);
    second = peer_dial(1);
    peer_say(second, head);
    let_pass(20);
    whole = peer_dial(2);
    peer_say(whole, head);
    peer_say(whole, "\r\n\r\n");
    UNTIL(peer_heard(whole, "hello"));
    third = peer_dial(3);
    peer_say(third, head);
    UNTIL(first->gone);
    assert_true(peer_heard(first, "HTTP/1.1 503 Service Unavailable\r\n"));
    assert_true(peer_heard(first, "Retry-After: "));
    peer_say(second, "\r\n\r\n");
    peer_say(third, "\r\n\r\n");
    UNTIL(peer_heard(second, "hello") && peer_heard(third, "hello"));
    assert_int_equal(http_server_exchanges(fx.server), 0);
}

static void connections_over_the_limit_are_told_so(void **state)
{
    struct peer *p, *q;

    (void)state;
    fx.conf.max_connections = 1;
    serve();
    p = peer_dial(0);
    peer_say(p, GET("/"));
    UNTIL(peer_heard(p, "hello"));
    q = peer_dial(1);
    peer_say(q, GET("/"));
    UNTIL(q->gone);
    assert_true(peer_heard(q, "HTTP/1.1 503 Service Unavailable\r\n"));
    assert_true(peer_heard(q, "Retry-After: 1\r\n"));
    assert_true(peer_heard(q, "\"code\":\"server_is_overloaded\""));
    peer_say(p, GET("/"));
    UNTIL(peer_count(p, "hello") == 2);
    peer_close(p);
    UNTIL(http_server_connections(fx.server) == 0);
    p = peer_dial(2);
    peer_say(p, GET("/"));
    UNTIL(peer_heard(p, "hello"));
}

static void an_error_answer_has_four_members(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = peer_dial(0);
    peer_say(p, GET("/error"));
    UNTIL(peer_heard(p, "}}"));
    assert_true(peer_heard(p, "HTTP/1.1 429 Too Many Requests\r\n"));
    assert_true(peer_heard(p, "Retry-After: 1\r\n"));
    assert_true(peer_heard(
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
    head = peer_dial(0);
    body = peer_dial(1);
    idle = peer_dial(2);
    peer_say(head, "GET / HT");
    peer_say(body, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");
    peer_say(idle, GET("/"));
    UNTIL(head->gone && body->gone && idle->gone);
    assert_true(peer_heard(head, "HTTP/1.1 408 Request Timeout\r\n"));
    assert_true(peer_heard(body, "HTTP/1.1 408 Request Timeout\r\n"));
    assert_true(peer_heard(idle, "HTTP/1.1 200 OK\r\n"));
    assert_false(peer_heard(idle, "408"));
}

/* Says the text again and again until the server has had enough, and never stops for long. */
static void drip(struct peer *p, const char *text)
{
    for (int i = 0; i < 400 && !p->gone; i++) {
        peer_say(p, text);
        let_pass(5);
    }
}

static void a_dripping_head_is_late_as_a_whole(void **state)
{
    struct peer *p;

    (void)state;
    fx.conf.head_timeout_ms = 100;
    serve();
    p = peer_dial(0);
    peer_say(p, "GET / HTTP/1.1\r\nHost: a\r\nA: ");
    drip(p, "x");
    assert_true(p->gone);
    assert_true(peer_heard(p, "HTTP/1.1 408 Request Timeout\r\n"));
}

/* No pause is as long as body_timeout, so only the rate can end these. */
static void a_body_below_the_least_rate_is_late(void **state)
{
    static const char *const drops[] = {"x", "1\r\nx\r\n", "a"};
    static const char *const heads[] = {"Content-Length: 100000\r\n\r\n",
                                        "Transfer-Encoding: chunked\r\n\r\n",
                                        "Transfer-Encoding: chunked\r\n\r\n1;"};

    (void)state;
    fx.conf.body_timeout_ms = 100;
    fx.conf.body_min_rate = 100000;
    serve();
    for (size_t i = 0; i < 3; i++) {
        struct peer *p = peer_dial(i);

        peer_say(p, "POST / HTTP/1.1\r\nHost: a\r\n");
        peer_say(p, heads[i]);
        drip(p, drops[i]);
        assert_true(p->gone);
        assert_true(peer_heard(p, "HTTP/1.1 408 Request Timeout\r\n"));
        assert_true(peer_heard(p, "\"code\":\"request_timeout\""));
    }
}

/* What has come early is time that may be taken later. */
static void a_body_that_is_ahead_of_the_least_rate_may_pause(void **state)
{
    char block[4001];
    struct peer *p;

    (void)state;
    memset(block, 'x', 4000);
    block[4000] = '\0';
    fx.conf.body_timeout_ms = 2000;
    fx.conf.body_min_rate = 1;
    serve();
    p = peer_dial(0);
    peer_say(p, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4020\r\n\r\n");
    peer_say(p, block);
    for (int i = 0; i < 20; i++) {
        peer_say(p, "y");
        let_pass(5);
    }
    UNTIL(peer_heard(p, "hello"));
}

static void a_body_is_late_as_a_whole(void **state)
{
    struct peer *p, *trailer;

    (void)state;
    fx.conf.body_total_ms = 100;
    serve();
    p = peer_dial(0);
    peer_say(p, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
    drip(p, "0123456789");
    assert_true(p->gone);
    assert_true(peer_heard(p, "HTTP/1.1 408 Request Timeout\r\n"));
    trailer = peer_dial(1);
    peer_say(trailer, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                      "1\r\nx\r\n0\r\nTrailer: ");
    drip(trailer, "x");
    assert_true(trailer->gone);
    assert_true(peer_heard(trailer, "HTTP/1.1 408 Request Timeout\r\n"));
}

static void a_silent_owner_does_not_time_out(void **state)
{
    struct peer *p;

    (void)state;
    fx.conf.head_timeout_ms = fx.conf.body_timeout_ms = fx.conf.keep_alive_ms = 10;
    fx.conf.send_timeout_ms = 10;
    serve();
    p = peer_dial(0);
    peer_say(p, GET("/half"));
    UNTIL(peer_heard(p, "half"));
    let_pass(60);
    http_exchange_write(fx.x, STR("rest"));
    http_exchange_end(fx.x, STR(""));
    UNTIL(peer_heard(p, "rest" LAST_CHUNK));
}

static void a_slow_client_blocks_its_exchange_only(void **state)
{
    struct peer *p, *q;

    (void)state;
    serve();
    fx.left_to_write = 32 * MIB;
    p = peer_dial(0);
    socket_read(&p->socket, false);
    peer_say(p, GET("/large"));
    UNTIL(fx.n_blocked == 1);
    q = peer_dial(1);
    peer_say(q, GET("/"));
    UNTIL(peer_heard(q, "hello"));
    socket_read(&p->socket, true);
    UNTIL(fx.x == NULL && p->in.len > 32 * MIB);
    UNTIL(peer_heard(p, LAST_CHUNK));
    assert_int_equal(fx.n_blocked, fx.n_unblocked);
}

static void a_client_that_takes_nothing_is_dropped(void **state)
{
    struct peer *p;

    (void)state;
    fx.conf.send_timeout_ms = 50;
    serve();
    fx.left_to_write = 64 * MIB;
    p = peer_dial(0);
    socket_read(&p->socket, false);
    peer_say(p, GET("/large"));
    UNTIL(fx.n_gone == 1);
}

static void an_aborted_answer_does_not_look_whole(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = peer_dial(0);
    peer_say(p, GET("/half"));
    UNTIL(peer_heard(p, "half"));
    http_exchange_abort(fx.x);
    UNTIL(p->gone);
    assert_false(peer_heard(p, LAST_CHUNK));
    assert_int_equal(fx.n_gone, 0);
}

static void draining_lets_running_exchanges_finish(void **state)
{
    struct peer *idle, *busy;

    (void)state;
    serve();
    idle = peer_dial(0);
    peer_say(idle, GET("/"));
    UNTIL(peer_heard(idle, "hello"));
    busy = peer_dial(1);
    peer_say(busy, GET("/hold"));
    UNTIL(fx.x != NULL);
    http_server_drain(fx.server);
    UNTIL(idle->gone);
    assert_int_equal(http_server_connections(fx.server), 1);
    http_exchange_respond(fx.x, 200, NULL, 0, STR("held"));
    UNTIL(busy->gone);
    assert_true(peer_heard(busy, "Connection: close\r\n"));
    UNTIL(http_server_connections(fx.server) == 0);
}

static void closing_with_an_open_exchange_frees_everything(void **state)
{
    struct peer *p;

    (void)state;
    serve();
    p = peer_dial(0);
    peer_say(p, GET("/half"));
    UNTIL(peer_heard(p, "half"));
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
            http_server_open(fx.loop, good[i], &fx.conf, serve_request, NULL, &e);

        if (server == NULL && i == 1)
            continue; /* a machine without IPv6 */
        assert_non_null(server);
        assert_true(http_server_port(server) > 0);
        http_server_close(server);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_null(http_server_open(fx.loop, bad[i], &fx.conf, serve_request, NULL, &e));
        assert_true(strstr(e.msg, bad[i]) != NULL);
    }
}

/* ---- what is told of the end of an exchange */

static struct buf told;

static void tell_end(void *arg, struct http_exchange *x)
{
    const struct http_request *r = http_exchange_request(x);
    const struct http_traffic *traffic = http_exchange_traffic(x);

    (void)arg;
    buf_append(&told, r->method.len == 0 ? STR("-") : r->method);
    buf_char(&told, ' ');
    buf_int(&told, traffic->status);
    buf_char(&told, ' ');
    buf_uint(&told, traffic->bytes_in);
    buf_char(&told, ' ');
    buf_uint(&told, traffic->bytes_out);
    buf_char(&told, '\n');
}

static void serve_and_tell(void)
{
    buf_fini(&told);
    serve();
    http_server_watch_ends(fx.server, tell_end);
}

static void the_end_of_each_exchange_is_told_once(void **state)
{
    struct peer *p, *q;

    (void)state;
    serve_and_tell();
    p = peer_dial(0);
    peer_say(p, GET("/"));
    UNTIL(peer_heard(p, "hello"));
    peer_say(p, "POST /stream HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    UNTIL(peer_heard(p, LAST_CHUNK));
    peer_say(p, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    UNTIL(peer_count(p, "Content-Length: 5\r\n\r\n") == 2);
    UNTIL(str_find(buf_str(&told), STR("HEAD")) < told.len);
    assert_string_equal(buf_cstr(&told), "GET 200 0 5\nPOST 200 3 7\nHEAD 200 0 0\n");
    peer_close(p);
    q = peer_dial(1);
    peer_say(q, "nonsense\r\n\r\n");
    UNTIL(q->gone);
    UNTIL(http_server_connections(fx.server) == 0);
    assert_non_null(strstr(buf_cstr(&told), "\n- 400 0 "));
    assert_null(strstr(strstr(buf_cstr(&told), "- 400"), "\n-"));
    buf_fini(&told);
}

static void a_client_that_leaves_is_told_of_as_well(void **state)
{
    struct peer *p, *q, *r;

    (void)state;
    serve_and_tell();
    p = peer_dial(0);
    peer_say(p, GET("/hold")); /* before the answer */
    UNTIL(fx.x != NULL);
    peer_close(p);
    UNTIL(told.len > 0);
    assert_string_equal(buf_cstr(&told), "GET 0 0 0\n");
    q = peer_dial(1);
    peer_say(q, GET("/half")); /* within it */
    UNTIL(peer_heard(q, "half"));
    peer_close(q);
    UNTIL(fx.n_gone == 2);
    assert_string_equal(buf_cstr(&told), "GET 0 0 0\nGET 200 0 4\n");
    r = peer_dial(2);
    peer_say(r,
             "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc"); /* within the request */
    UNTIL(fx.n_heads == 3);
    let_pass(20);
    peer_close(r);
    UNTIL(http_server_connections(fx.server) == 0);
    assert_string_equal(buf_cstr(&told), "GET 0 0 0\nGET 200 0 4\nPOST 0 3 0\n");
    buf_fini(&told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(one_connection_serves_many_requests),
        HTTP_TEST(the_end_of_each_exchange_is_told_once),
        HTTP_TEST(a_client_that_leaves_is_told_of_as_well),
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
        HTTP_TEST(a_request_is_refused_when_its_head_is_there),
        HTTP_TEST(a_refused_body_is_taken_and_thrown_away),
        HTTP_TEST(a_refusal_without_a_body_keeps_the_connection),
        HTTP_TEST(a_head_is_judged_once_whatever_the_pieces),
        HTTP_TEST(bad_requests_get_their_status_and_the_end),
        HTTP_TEST(a_head_over_the_limit_is_refused),
        HTTP_TEST(unfinished_heads_are_bounded_together),
        HTTP_TEST(connections_over_the_limit_are_told_so),
        HTTP_TEST(an_error_answer_has_four_members),
        HTTP_TEST(late_requests_time_out),
        HTTP_TEST(a_dripping_head_is_late_as_a_whole),
        HTTP_TEST(a_body_below_the_least_rate_is_late),
        HTTP_TEST(a_body_that_is_ahead_of_the_least_rate_may_pause),
        HTTP_TEST(a_body_is_late_as_a_whole),
        HTTP_TEST(a_silent_owner_does_not_time_out),
        HTTP_TEST(a_slow_client_blocks_its_exchange_only),
        HTTP_TEST(a_client_that_takes_nothing_is_dropped),
        HTTP_TEST(an_aborted_answer_does_not_look_whole),
        HTTP_TEST(draining_lets_running_exchanges_finish),
        HTTP_TEST(closing_with_an_open_exchange_frees_everything),
        HTTP_TEST(addresses_are_understood_or_explained),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
