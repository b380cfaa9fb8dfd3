/* test_http_client_direct.c -- what our own transport does beyond libcurl's:
 * which connection it takes, how it gets one, and what it makes of the bytes on
 * it. It calls a scripted server, or a test plays the server itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/reply.h"
#include "lib/test.h"
#include "net/listen_address.h"

#define OK_HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

static void check_hello(struct reply *r)
{
    UNTIL(r->ended);
    assert_false(r->failed);
    assert_string_equal(buf_cstr(&r->body), "hello");
    reply_fini(r);
}

static void fetch_hello(void)
{
    struct reply r;

    reply_fetch(&r, "/");
    check_hello(&r);
}

/* A GET from a host by another of its names. */
static void start_at(struct reply *r, const char *host, int port)
{
    char url[160];
    struct http_call_conf conf = {.method = "GET", .url = url};

    (void)snprintf(url, sizeof(url), "http://%s:%d/", host, port);
    reply_start(r, &conf, &reply_handler);
}

/* --- a server in the test's own hands ------------------------------------------ */

/* Collects what it is sent into peer.in and answers nothing. */
static void gather_on_bytes(void *arg, str bytes)
{
    struct peer *p = arg;

    buf_append(&p->in, bytes);
}

static void gather_on_gone(void *arg)
{
    struct peer *p = arg;

    p->gone = true;
    peer_close(p);
}

static void nothing(void *arg)
{
    (void)arg;
}

static void gather_on_accept(void *arg, int fd, const char *from)
{
    static const struct socket_handler handler = {gather_on_bytes, gather_on_gone, nothing,
                                                  nothing};
    struct peer *p = &fx.accepted[fx.n_accepted++];

    (void)from;
    assert_int_equal(socket_open(&p->socket, fx.loop, fd, &handler, p, NULL), 0);
    p->open = true;
    if (arg != NULL) /* it takes nothing until the test says so */
        socket_read(&p->socket, false);
}

static struct peer *gather_at(const char *address, bool reads)
{
    int fd = listen_tcp(address, false, NULL);

    if (fd != -1)
        fx.listener = listener_open(fx.loop, fd, gather_on_accept, reads ? NULL : &fx, NULL);
    return &fx.accepted[0];
}

static struct peer *gather(void)
{
    return gather_at("127.0.0.1:0", true);
}

/* --- what is sent --------------------------------------------------------------- */

static void a_request_is_written_as_it_should_be(void **state)
{
    static const struct http_header headers[] = {{STR_INIT("content-type"), STR_INIT("text/plain")},
                                                 {STR_INIT("x-empty"), STR_INIT("")}};
    struct peer *p = gather();
    struct http_call_conf conf;
    struct reply r;
    char url[160], expected[300];

    (void)state;
    conf = reply_conf(url, "?q=1");
    conf.method = "POST";
    conf.headers = headers;
    conf.n_headers = 2;
    conf.body = STR("body");
    reply_start(&r, &conf, &reply_handler);
    UNTIL(peer_heard(p, "body"));
    (void)snprintf(expected, sizeof(expected),
                   "POST /?q=1 HTTP/1.1\r\ncontent-type: text/plain\r\nx-empty: \r\n"
                   "Host: 127.0.0.1:%d\r\nContent-Length: 4\r\n\r\nbody",
                   listener_port(fx.listener));
    assert_string_equal(buf_cstr(&p->in), expected);
    peer_say(p, OK_HELLO);
    check_hello(&r);
}

/* More than any socket buffers; the body has a different byte at each place of a
 * period that no buffer's size is a multiple of. */
static void a_large_body_reaches_a_slow_reader_whole(void **state)
{
    enum { BODY_BYTES = 24 * MIB, PERIOD = 251 };
    struct peer *p = gather_at("127.0.0.1:0", false);
    struct http_call_conf conf;
    struct reply r;
    char url[160], *body = malloc(BODY_BYTES);
    str got;

    (void)state;
    assert_non_null(body);
    for (size_t i = 0; i < BODY_BYTES; i++)
        body[i] = (char)(i % PERIOD);
    conf = reply_conf(url, "/");
    conf.method = "POST";
    conf.body = str_from(body, BODY_BYTES);
    reply_start(&r, &conf, &reply_handler);
    UNTIL(fx.n_accepted == 1);
    let_pass(20);
    socket_read(&p->socket, true);
    UNTIL(p->in.len >= BODY_BYTES &&
          p->in.len >= BODY_BYTES + str_find(buf_str(&p->in), STR("\r\n\r\n")) + 4);
    got = str_skip(buf_str(&p->in), str_find(buf_str(&p->in), STR("\r\n\r\n")) + 4);
    assert_true(str_eq(got, conf.body));
    peer_say(p, OK_HELLO);
    check_hello(&r);
    free(body);
}

/* The server has seen enough: it answers and closes, with most of the body unread. */
static void an_answer_that_comes_before_the_end_of_the_body_is_read(void **state)
{
    struct peer *p = gather_at("127.0.0.1:0", false);
    struct http_call_conf conf;
    struct reply r;
    char url[160], *body = calloc(1, 24 * MIB);

    (void)state;
    conf = reply_conf(url, "/");
    conf.method = "POST";
    conf.body = str_from(body, 24 * MIB);
    reply_start(&r, &conf, &reply_handler);
    UNTIL(fx.n_accepted == 1);
    peer_say(p, "HTTP/1.1 413 No\r\nContent-Length: 5\r\n\r\nlarge");
    UNTIL(r.ended);
    assert_int_equal(r.status, 413);
    assert_string_equal(buf_cstr(&r.body), "large");
    socket_read(&p->socket, true);
    UNTIL(p->gone); /* the rest would be taken for another request */
    reply_fini(&r);
    free(body);
}

/* --- what comes back ------------------------------------------------------------- */

static void an_answer_in_single_bytes_is_the_same(void **state)
{
    static const struct script_step script[] = {
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX-Name: value\r\n"
         "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
         false},
        {OK_HELLO, false}};
    struct reply r;

    (void)state;
    fx.byte_by_byte = true;
    script_play(script);
    reply_fetch(&r, "/");
    assert_false(r.failed);
    assert_string_equal(buf_cstr(&r.headers), "x-name=value\ntransfer-encoding=chunked\n");
    assert_string_equal(buf_cstr(&r.body), "abcde");
    assert_int_equal(r.n_reads, 5);
    reply_fini(&r);
    fetch_hello();
    assert_int_equal(fx.n_accepted, 1);
}

static void the_chunks_of_one_read_are_one_report(void **state)
{
    static const struct script_step script[] = {
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
         "3\r\nabc\r\n3\r\ndef\r\n1\r\ng\r\n0\r\n\r\n",
         false}};
    struct reply r;

    (void)state;
    script_play(script);
    reply_fetch(&r, "/");
    assert_string_equal(buf_cstr(&r.body), "abcdefg");
    assert_int_equal(r.n_reads, 1);
    reply_fini(&r);
}

static void an_answer_that_breaks_off_in_its_head_is_unavailable(void **state)
{
    static const struct script_step script[] = {{"HTTP/1.1 200 OK\r\nX: ", true}};
    struct reply r;

    (void)state;
    script_play(script);
    reply_fetch(&r, "/");
    assert_int_equal(r.failure.code, ERR_UPSTREAM_UNAVAILABLE);
    assert_true(strstr(r.failure.msg, "it closed the connection before the end.") != NULL);
    assert_int_equal(fx.n_accepted, 1); /* part of an answer: not asked again */
    reply_fini(&r);
}

static void a_malformed_chunk_breaks_the_answer_off(void **state)
{
    static const struct script_step script[] = {
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nno\r\n", false}};
    struct reply r;

    (void)state;
    script_play(script);
    reply_fetch(&r, "/");
    assert_int_equal(r.failure.code, ERR_UPSTREAM_ERROR);
    assert_true(strstr(r.failure.msg, "a chunk of its answer is malformed.") != NULL);
    assert_string_equal(buf_cstr(&r.body), "hi");
    reply_fini(&r);
}

/* --- which connection ------------------------------------------------------------- */

static void the_connection_used_last_is_used_first(void **state)
{
    static const struct script_step script[] = {{NULL, false}, {NULL, false}, {OK_HELLO, false}};
    struct reply r[2];

    (void)state;
    script_play(script);
    reply_call(&r[0], "/", &reply_handler);
    reply_call(&r[1], "/", &reply_handler);
    UNTIL(fx.n_steps == 2);
    peer_say(&fx.accepted[1], OK_HELLO);
    UNTIL(r[0].ended || r[1].ended);
    peer_say(&fx.accepted[0], OK_HELLO);
    check_hello(&r[0]);
    check_hello(&r[1]);
    fetch_hello();
    assert_int_equal(fx.accepted[0].n_requests, 2);
    assert_int_equal(fx.accepted[1].n_requests, 1);
}

static void an_idle_connection_that_is_closed_is_forgotten_at_once(void **state)
{
    static const struct script_step script[] = {{OK_HELLO, false}, {OK_HELLO, false}};

    (void)state;
    script_play(script);
    fetch_hello();
    socket_shutdown(&fx.accepted[0].socket);
    UNTIL(fx.accepted[0].gone);
    fetch_hello();
    assert_int_equal(fx.n_accepted, 2);
}

static void bytes_that_nobody_asked_for_end_a_connection(void **state)
{
    static const struct script_step script[] = {
        {OK_HELLO "HTTP/1.1 200", false}, {OK_HELLO, false}, {OK_HELLO, false}};

    (void)state;
    script_play(script);
    fetch_hello();
    UNTIL(fx.accepted[0].gone);
    fetch_hello();
    peer_say(&fx.accepted[1], "HTTP/1.1 408 Timeout\r\n\r\n");
    UNTIL(fx.accepted[1].gone);
    fetch_hello();
    assert_int_equal(fx.n_accepted, 3);
}

static void a_connection_that_is_not_kept_is_closed_by_us(void **state)
{
    static const struct script_step script[] = {
        {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", false},
        {"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", false}};

    (void)state;
    script_play(script);
    fetch_hello();
    UNTIL(fx.accepted[0].gone);
    fetch_hello();
    UNTIL(fx.accepted[1].gone);
}

static void a_dead_connection_is_replaced_only_once(void **state)
{
    static const struct script_step script[] = {
        {OK_HELLO, false}, {NULL, true}, {NULL, true}, {OK_HELLO, false}};
    struct reply r;

    (void)state;
    script_play(script);
    fetch_hello();
    reply_fetch(&r, "/");
    assert_int_equal(r.failure.code, ERR_UPSTREAM_UNAVAILABLE);
    assert_int_equal(fx.n_steps, 3);
    reply_fini(&r);
    fetch_hello();
}

static void only_so_many_connections_are_kept(void **state)
{
    struct reply r[12];

    (void)state;
    serve();
    for (size_t i = 0; i < COUNT_OF(r); i++)
        reply_call(&r[i], "/", &reply_handler);
    for (size_t i = 0; i < COUNT_OF(r); i++)
        check_hello(&r[i]);
    UNTIL(http_server_connections(fx.server) == 8); /* as the fixture's client is set up */
}

static void each_origin_has_connections_of_its_own(void **state)
{
    struct reply r;
    int port;

    (void)state;
    serve();
    port = http_server_port(fx.server);
    for (int i = 0; i < 4; i++) {
        start_at(&r, i % 2 == 0 ? "127.0.0.1" : "LOCALHOST", port);
        check_hello(&r);
    }
    assert_int_equal(http_server_connections(fx.server), 2);
}

/* --- how it gets one --------------------------------------------------------------- */

static void a_refusal_is_reported_later_with_its_cause(void **state)
{
    static const struct {
        const char *url, *message;
    } cases[] = {
        {"http://127.0.0.1:9/secret?token=1",
         "The upstream server at 127.0.0.1:9 is not reachable: connection refused."},
        {"http://[::1]:9", "The upstream server at [::1]:9 is not reachable: connection refused."},
        {"unix:/nowhere/at.sock:/v1",
         "The upstream server at /nowhere/at.sock is not reachable: no such file or directory."},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct http_call_conf conf = {.method = "GET", .url = cases[i].url};
        struct reply r;

        reply_start(&r, &conf, &reply_handler);
        UNTIL(r.ended);
        assert_int_equal(r.failure.code, ERR_UPSTREAM_UNAVAILABLE);
        assert_string_equal(r.failure.msg, cases[i].message);
        reply_fini(&r);
    }
}

static void a_socket_path_that_is_too_long_is_refused(void **state)
{
    struct http_call_conf conf = {.method = "GET"};
    char url[300] = "unix:/";
    struct err e = {.code = ERR_NONE};

    (void)state;
    memset(url + strlen(url), 'x', 120);
    conf.url = url;
    assert_null(http_client_start(fx.client, &conf, &reply_handler, NULL, &e));
    assert_int_equal(e.code, ERR_INTERNAL);
}

/* localhost is 127.0.0.1 first, where nobody listens. */
static void the_next_address_is_tried_after_a_refusal(void **state)
{
    struct peer *p = gather_at("[::1]:0", true);
    struct reply r;

    (void)state;
    if (fx.listener == NULL)
        skip(); /* a machine without IPv6 */
    start_at(&r, "localhost", listener_port(fx.listener));
    UNTIL(peer_heard(p, "\r\n\r\n"));
    peer_say(p, OK_HELLO);
    check_hello(&r);
}

/* "127.1" is an address for the system's resolver only. */
static void names_are_looked_up_once_for_all_who_wait(void **state)
{
    struct reply r[3], again[5], cancelled;
    int port;

    (void)state;
    serve();
    port = http_server_port(fx.server);
    start_at(&cancelled, "127.1", port);
    for (size_t i = 0; i < COUNT_OF(r); i++)
        start_at(&r[i], "127.1", port);
    http_call_cancel(cancelled.call);
    for (size_t i = 0; i < COUNT_OF(r); i++)
        check_hello(&r[i]);
    for (size_t i = 0; i < COUNT_OF(again); i++) /* more than are kept: some dial once more */
        start_at(&again[i], "127.1", port);
    for (size_t i = 0; i < COUNT_OF(again); i++)
        check_hello(&again[i]);
    assert_int_equal(fx.n_requests, 8);
}

static void a_client_may_go_while_names_are_looked_up(void **state)
{
    struct reply r;

    (void)state;
    start_at(&r, "127.1", 9);
    http_client_free(fx.client);
    fx.client = NULL;
    let_pass(20);
    assert_false(r.ended);
}

static void cancel(void *arg)
{
    struct reply *r = arg;

    http_call_cancel(r->call);
}

/* Before it has dialled, and between that and its connection. */
static void a_call_may_be_cancelled_before_it_is_connected(void **state)
{
    struct reply early, late;

    (void)state;
    serve();
    start_at(&early, "127.0.0.1", http_server_port(fx.server));
    http_call_cancel(early.call);
    start_at(&late, "127.0.0.1", http_server_port(fx.server));
    assert_true(loop_defer(fx.loop, cancel, &late)); /* it is deferred behind the dialling */
    let_pass(20);
    assert_false(early.ended || late.ended);
    assert_int_equal(fx.n_requests, 0);
    assert_int_equal(http_server_connections(fx.server), 0);
}

/* --- pausing --------------------------------------------------------------------- */

static void pause_once_on_body(void *arg, str bytes)
{
    struct reply *r = arg;

    if (r->body.len == 0)
        http_call_pause(r->call);
    reply_on_body(arg, bytes);
}

/* The server has said everything and closes while nothing is read. */
static void a_paused_call_loses_nothing_to_a_server_that_closes(void **state)
{
    static const struct http_call_handler handler = {reply_on_head, pause_once_on_body,
                                                     reply_on_end};
    struct peer *p = gather();
    char *rest = malloc(100001);
    struct reply r;

    (void)state;
    assert_non_null(rest);
    memset(rest, 'x', 100000);
    rest[100000] = '\0';
    reply_call(&r, "/", &handler);
    UNTIL(peer_heard(p, "\r\n\r\n"));
    peer_say(p, "HTTP/1.1 200 OK\r\n\r\nfirst");
    UNTIL(r.body.len == 5);
    peer_say(p, rest);
    UNTIL(socket_pending(&p->socket) == 0);
    socket_shutdown(&p->socket);
    let_pass(30);
    assert_false(r.ended);
    http_call_resume(r.call);
    UNTIL(r.ended);
    assert_false(r.failed);
    assert_int_equal(r.body.len, 100005);
    reply_fini(&r);
    free(rest);
}

static void a_reset_is_not_the_end_of_an_answer(void **state)
{
    struct peer *p = gather();
    struct reply r;

    (void)state;
    reply_call(&r, "/", &reply_handler);
    UNTIL(peer_heard(p, "\r\n\r\n"));
    peer_say(p, "HTTP/1.1 200 OK\r\n\r\npart");
    UNTIL(r.body.len == 4);
    socket_reset(&p->socket);
    p->open = false;
    UNTIL(r.ended);
    assert_int_equal(r.failure.code, ERR_UPSTREAM_ERROR);
    assert_true(strstr(r.failure.msg, "it closed the connection.") != NULL);
    reply_fini(&r);
}

static void what_came_before_a_reset_is_read(void **state)
{
    static const struct http_call_handler handler = {reply_on_head, pause_once_on_body,
                                                     reply_on_end};
    struct peer *p = gather();
    struct reply r;

    (void)state;
    reply_call(&r, "/", &handler);
    UNTIL(peer_heard(p, "\r\n\r\n"));
    peer_say(p, "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nfirst");
    UNTIL(r.body.len == 5);
    peer_say(p, " again");
    socket_reset(&p->socket);
    p->open = false;
    let_pass(30);
    assert_false(r.ended);
    http_call_resume(r.call);
    UNTIL(r.ended);
    assert_false(r.failed);
    assert_string_equal(buf_cstr(&r.body), "first again");
    reply_fini(&r);
}

static void many_calls_run_at_once(void **state)
{
    enum { N_CALLS = 500 };
    struct reply *r = calloc(N_CALLS, sizeof(*r));
    struct rlimit files;

    (void)state;
    assert_non_null(r);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max; /* a thousand and some are needed */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    fx.conf.max_connections = N_CALLS;
    serve();
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < N_CALLS; i++)
            reply_call(&r[i], i % 2 == 0 ? "/stream" : "/", &reply_handler);
        for (size_t i = 0; i < N_CALLS; i++) {
            UNTIL(r[i].ended);
            assert_false(r[i].failed);
            assert_string_equal(buf_cstr(&r[i].body), i % 2 == 0 ? "one two" : "hello");
            reply_fini(&r[i]);
        }
        UNTIL(http_server_connections(fx.server) == 8);
    }
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(a_request_is_written_as_it_should_be),
        HTTP_TEST(a_large_body_reaches_a_slow_reader_whole),
        HTTP_TEST(an_answer_that_comes_before_the_end_of_the_body_is_read),
        HTTP_TEST(an_answer_in_single_bytes_is_the_same),
        HTTP_TEST(the_chunks_of_one_read_are_one_report),
        HTTP_TEST(an_answer_that_breaks_off_in_its_head_is_unavailable),
        HTTP_TEST(a_malformed_chunk_breaks_the_answer_off),
        HTTP_TEST(the_connection_used_last_is_used_first),
        HTTP_TEST(an_idle_connection_that_is_closed_is_forgotten_at_once),
        HTTP_TEST(bytes_that_nobody_asked_for_end_a_connection),
        HTTP_TEST(a_connection_that_is_not_kept_is_closed_by_us),
        HTTP_TEST(a_dead_connection_is_replaced_only_once),
        HTTP_TEST(only_so_many_connections_are_kept),
        HTTP_TEST(each_origin_has_connections_of_its_own),
        HTTP_TEST(a_refusal_is_reported_later_with_its_cause),
        HTTP_TEST(a_socket_path_that_is_too_long_is_refused),
        HTTP_TEST(the_next_address_is_tried_after_a_refusal),
        HTTP_TEST(names_are_looked_up_once_for_all_who_wait),
        HTTP_TEST(a_client_may_go_while_names_are_looked_up),
        HTTP_TEST(a_call_may_be_cancelled_before_it_is_connected),
        HTTP_TEST(a_paused_call_loses_nothing_to_a_server_that_closes),
        HTTP_TEST(a_reset_is_not_the_end_of_an_answer),
        HTTP_TEST(what_came_before_a_reset_is_read),
        HTTP_TEST(many_calls_run_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
