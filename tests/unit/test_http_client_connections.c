/* test_http_client_connections.c -- which connection a call of our own transport
 * takes, and how it gets a new one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/reply.h"
#include "lib/send_once.h"
#include "lib/test.h"

/* A GET from a host by another of its names. */
static void start_at(struct reply *r, const char *host, int port)
{
    char url[160];
    struct http_call_conf conf = {.method = "GET", .url = url};

    (void)snprintf(url, sizeof(url), "http://%s:%d/", host, port);
    reply_start(r, &conf, &reply_handler);
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
    reply_check_hello(&r[0]);
    reply_check_hello(&r[1]);
    reply_fetch_hello();
    assert_int_equal(fx.accepted[0].n_requests, 2);
    assert_int_equal(fx.accepted[1].n_requests, 1);
}

static void an_idle_connection_that_is_closed_is_forgotten_at_once(void **state)
{
    static const struct script_step script[] = {{OK_HELLO, false}, {OK_HELLO, false}};

    (void)state;
    script_play(script);
    reply_fetch_hello();
    socket_shutdown(&fx.accepted[0].socket);
    UNTIL(fx.accepted[0].gone);
    reply_fetch_hello();
    assert_int_equal(fx.n_accepted, 2);
}

static void bytes_that_nobody_asked_for_end_a_connection(void **state)
{
    static const struct script_step script[] = {
        {OK_HELLO "HTTP/1.1 200", false}, {OK_HELLO, false}, {OK_HELLO, false}};

    (void)state;
    script_play(script);
    reply_fetch_hello();
    UNTIL(fx.accepted[0].gone);
    reply_fetch_hello();
    peer_say(&fx.accepted[1], "HTTP/1.1 408 Timeout\r\n\r\n");
    UNTIL(fx.accepted[1].gone);
    reply_fetch_hello();
    assert_int_equal(fx.n_accepted, 3);
}

static void a_connection_that_is_not_kept_is_closed_by_us(void **state)
{
    static const struct script_step script[] = {
        {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", false},
        {"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", false}};

    (void)state;
    script_play(script);
    reply_fetch_hello();
    UNTIL(fx.accepted[0].gone);
    reply_fetch_hello();
    UNTIL(fx.accepted[1].gone);
}

static void a_dead_connection_is_replaced_only_once(void **state)
{
    static const struct script_step script[] = {
        {OK_HELLO, false}, {NULL, true}, {NULL, true}, {OK_HELLO, false}};
    struct reply r;

    (void)state;
    script_play(script);
    reply_fetch_hello();
    reply_fetch(&r, "/");
    assert_int_equal(r.failure.code, ERR_UPSTREAM_UNAVAILABLE);
    assert_int_equal(fx.n_steps, 3);
    reply_fini(&r);
    reply_fetch_hello();
}

static void only_so_many_connections_are_kept(void **state)
{
    struct reply r[12];

    (void)state;
    serve();
    for (size_t i = 0; i < COUNT_OF(r); i++)
        reply_call(&r[i], "/", &reply_handler);
    for (size_t i = 0; i < COUNT_OF(r); i++)
        reply_check_hello(&r[i]);
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
        reply_check_hello(&r);
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
    assert_string_equal(e.msg, "The path of the upstream server's socket is too long.");
}

/* localhost is 127.0.0.1 first, where nobody listens. */
static void the_next_address_is_tried_after_a_refusal(void **state)
{
    struct peer *p = gather("[::1]:0", true);
    struct reply r;

    (void)state;
    if (p == NULL)
        skip(); /* a machine without IPv6 */
    start_at(&r, "localhost", listener_port(fx.listener));
    UNTIL(peer_heard(p, "\r\n\r\n"));
    peer_say(p, OK_HELLO);
    reply_check_hello(&r);
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
        reply_check_hello(&r[i]);
    for (size_t i = 0; i < COUNT_OF(again); i++) /* more than are kept: some dial once more */
        start_at(&again[i], "127.1", port);
    for (size_t i = 0; i < COUNT_OF(again); i++)
        reply_check_hello(&again[i]);
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
    defer_once(fx.loop, cancel, &late); /* it is deferred behind the dialling */
    let_pass(20);
    assert_false(early.ended || late.ended);
    assert_int_equal(fx.n_requests, 0);
    assert_int_equal(http_server_connections(fx.server), 0);
}

/* Its queue has room for one or two; calls that find it full are patient. */
static void a_unix_socket_with_a_short_queue_serves_many(void **state)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct http_call_conf conf = {.method = "GET"};
    struct reply r[20], cancelled;
    char url[160];
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

    (void)state;
    (void)snprintf(at.sun_path, sizeof(at.sun_path), "/tmp/test_http.%d.sock", (int)getpid());
    (void)snprintf(url, sizeof(url), "unix:%s:/", at.sun_path);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 1), 0);
    serve();
    assert_int_equal(http_server_listen(fx.server, fd, NULL), 0);
    conf.url = url;
    for (size_t i = 0; i < COUNT_OF(r); i++)
        reply_start(&r[i], &conf, &reply_handler);
    reply_start(&cancelled, &conf, &reply_handler);
    defer_once(fx.loop, cancel, &cancelled); /* while it is patient */
    for (size_t i = 0; i < COUNT_OF(r); i++)
        reply_check_hello(&r[i]);
    assert_false(cancelled.ended);
    (void)unlink(at.sun_path);
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
        HTTP_TEST(a_unix_socket_with_a_short_queue_serves_many),
        HTTP_TEST(many_calls_run_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
