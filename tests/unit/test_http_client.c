/* test_http_client.c -- our client: whole calls, and calls that are cancelled or
 * paused on the way.
 *
 * It calls our server, whose paths lib/http_fixture.h explains. Everything here
 * holds for both transports and is run over each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/reply.h"
#include "lib/send_once.h"
#include "lib/test.h"
#include "net/listen_address.h"

static void a_call_reports_head_body_and_end(void **state)
{
    struct reply r;

    (void)state;
    serve();
    reply_fetch(&r, "/stream");
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
    conf = reply_conf(url, "/post?q=1");
    conf.method = "POST";
    conf.headers = headers;
    conf.n_headers = 2;
    conf.body = STR("{\"a\":1}");
    reply_start(&r, &conf, &reply_handler);
    UNTIL(r.ended);
    assert_string_equal(buf_cstr(&r.body), "hello");
    reply_fini(&r);
    conf.method = "DELETE";
    conf.body = STR_NONE;
    reply_start(&r, &conf, &reply_handler);
    UNTIL(r.ended);
    reply_fini(&r);
    conf.method = "POST";
    memset(large, 'y', MIB);
    conf.body = str_from(large, MIB);
    reply_start(&r, &conf, &reply_handler);
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

        reply_fetch(&r, i % 2 == 0 ? "/stream" : "/");
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
    reply_start(&r, &conf, &reply_handler);
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

static void headers_that_hold_line_breaks_are_refused(void **state)
{
    static const struct http_header bad[] = {{STR_INIT("x"), STR_INIT("a\r\nb: c")},
                                             {STR_INIT("x\n"), STR_INIT("a")}};
    struct http_call_conf conf = {.method = "GET", .url = "http://127.0.0.1:9/", .n_headers = 1};
    struct err e;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        conf.headers = &bad[i];
        assert_null(http_client_start(fx.client, &conf, &reply_handler, NULL, &e));
        assert_int_equal(e.code, ERR_INTERNAL);
    }
}

static void a_name_that_nobody_has_is_not_reachable(void **state)
{
    static const struct http_call_conf conf = {.method = "GET", .url = "http://nobody.invalid:80"};
    struct reply r;

    (void)state;
    reply_start(&r, &conf, &reply_handler);
    UNTIL(r.ended);
    assert_int_equal(r.failure.code, ERR_UPSTREAM_UNAVAILABLE);
    assert_string_equal(r.failure.msg, "The upstream server at nobody.invalid:80 is not reachable: "
                                       "its name cannot be resolved.");
    reply_fini(&r);
}

static void a_name_that_is_too_long_is_not_reachable(void **state)
{
    struct http_call_conf conf = {.method = "GET"};
    char url[310] = "http://";
    struct reply r;

    (void)state;
    memset(url + strlen(url), 'a', 300);
    conf.url = url;
    reply_start(&r, &conf, &reply_handler);
    UNTIL(r.ended);
    assert_int_equal(r.failure.code, ERR_UPSTREAM_UNAVAILABLE);
    reply_fini(&r);
}

static void a_server_that_stays_silent_times_out(void **state)
{
    struct reply first, idle, total;
    struct http_call_conf conf;
    char url[160];

    (void)state;
    serve();
    conf = reply_conf(url, "/hold");
    conf.first_byte_timeout_ms = 30;
    conf.idle_timeout_ms = 10000;
    reply_start(&first, &conf, &reply_handler);
    UNTIL(first.ended);
    assert_int_equal(first.failure.code, ERR_UPSTREAM_TIMEOUT);
    assert_true(
        strstr(first.failure.msg, "The upstream server did not answer in time (127.0.0.1:"));
    assert_true(strstr(first.failure.msg, "no answer within 30 ms") != NULL);
    UNTIL(fx.n_gone == 1);
    conf = reply_conf(url, "/half");
    conf.first_byte_timeout_ms = 10000;
    conf.idle_timeout_ms = 30;
    reply_start(&idle, &conf, &reply_handler);
    UNTIL(idle.ended);
    assert_string_equal(buf_cstr(&idle.body), "half");
    assert_true(strstr(idle.failure.msg, "no data for 30 ms") != NULL);
    conf.idle_timeout_ms = 0;
    conf.total_timeout_ms = 30;
    reply_start(&total, &conf, &reply_handler);
    UNTIL(total.ended);
    assert_true(strstr(total.failure.msg, "not complete after 30 ms") != NULL);
    UNTIL(fx.n_gone == 3);
    reply_fini(&first);
    reply_fini(&idle);
    reply_fini(&total);
}

/* The kernel drops who dials a listener whose queue is full. */
static void a_server_that_does_not_take_the_connection_times_out(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listener = socket(AF_INET, SOCK_STREAM, 0), waiting[4];
    struct http_call_conf conf = {.method = "GET", .connect_timeout_ms = 50};
    struct reply r;
    char url[60];

    (void)state;
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(listener, 0), 0);
    at.sin_port = htons((uint16_t)listen_port(listener));
    for (size_t i = 0; i < COUNT_OF(waiting); i++) {
        waiting[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(waiting[i], (struct sockaddr *)&at, sizeof(at));
    }
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/", listen_port(listener));
    conf.url = url;
    reply_start(&r, &conf, &reply_handler);
    UNTIL(r.ended);
    assert_int_equal(r.failure.code, ERR_UPSTREAM_TIMEOUT);
    assert_non_null(strstr(r.failure.msg, "no connection within 50 ms"));
    reply_fini(&r);
    for (size_t i = 0; i < COUNT_OF(waiting); i++)
        assert_int_equal(close(waiting[i]), 0);
    assert_int_equal(close(listener), 0);
}

/* --- cancel ----------------------------------------------------------------- */

static struct reply other; /* a second call that is still running */

static void cancel_on_head(void *arg, int status, const struct http_header *headers, size_t n)
{
    struct reply *r = arg;

    http_call_cancel(r->call);
    reply_on_head(arg, status, headers, n); /* they are still there */
}

static void cancel_on_body(void *arg, str bytes)
{
    struct reply *r = arg;

    http_call_cancel(r->call);
    reply_on_body(arg, bytes);
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
    struct reply r;

    (void)state;
    serve();
    for (unsigned i = 0; i < 2; i++) {
        uint64_t before;

        reply_call(&r, "/half", &handlers[i]);
        UNTIL(r.status == 200);
        before = uv_hrtime();
        UNTIL(fx.n_gone == i + 1);
        assert_true(uv_hrtime() - before < 100 * 1000000u);
        assert_false(r.ended);
        assert_int_equal(r.body.len, i == 0 ? 0 : 4);
        reply_fini(&r);
    }
    reply_call(&r, "/half", &reply_handler);
    http_call_cancel(r.call);
    reply_call(&r, "/half", &reply_handler);
    UNTIL(r.body.len == 4);
    http_call_cancel(r.call);
    UNTIL(fx.n_gone == 3);
    assert_false(r.ended);
    reply_fini(&r);
}

static void cancel_is_harmless_at_the_end(void **state)
{
    static const struct http_call_handler handler = {reply_on_head, reply_on_body, cancel_on_end};
    struct reply r;

    (void)state;
    serve();
    reply_call(&r, "/", &handler);
    UNTIL(r.ended);
    assert_false(r.failed);
    reply_fini(&r);
}

static void a_call_may_cancel_another(void **state)
{
    static const struct http_call_handler handler = {reply_on_head, cancel_other_on_body,
                                                     reply_on_end};
    struct reply r;

    (void)state;
    serve();
    reply_call(&other, "/half", &reply_handler);
    UNTIL(other.body.len == 4);
    reply_call(&r, "/", &handler);
    UNTIL(r.ended && fx.n_gone == 1);
    assert_false(other.ended);
    assert_string_equal(buf_cstr(&r.body), "hello");
    reply_fini(&r);
    reply_fini(&other);
}

static void chain_on_body(void *arg, str bytes)
{
    reply_on_body(arg, bytes);
    reply_call(&other, "/stream", &reply_handler);
}

static void a_call_may_start_another(void **state)
{
    static const struct http_call_handler handler = {reply_on_head, chain_on_body, reply_on_end};
    struct reply r;

    (void)state;
    other = (struct reply){.call = NULL};
    serve();
    reply_call(&r, "/", &handler);
    UNTIL(r.ended && other.ended);
    assert_string_equal(buf_cstr(&other.body), "one two");
    reply_fini(&r);
    reply_fini(&other);
}

static void a_freed_client_leaves_no_call_behind(void **state)
{
    struct reply r[2];

    (void)state;
    serve();
    reply_call(&r[0], "/half", &reply_handler);
    UNTIL(r[0].body.len == 4);
    reply_call(&r[1], "/half", &reply_handler);
    http_client_free(fx.client);
    fx.client = NULL;
    UNTIL(fx.n_gone == 1);
    assert_false(r[0].ended || r[1].ended);
    reply_fini(&r[0]);
}

/* --- pause ------------------------------------------------------------------ */

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
    defer_once(fx.loop, resume, r);
}

static void pausing_every_read_loses_nothing(void **state)
{
    static const struct http_call_handler handler = {reply_on_head, pause_on_body, reply_on_end};
    static struct reply r; /* outlives the test: a resume may still be deferred */

    (void)state;
    serve();
    fx.left_to_write = 4 * MIB;
    reply_call(&r, "/large", &handler);
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
    conf = reply_conf(url, "/large");
    conf.idle_timeout_ms = 500;
    reply_start(&r, &conf, &handler);
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
    struct reply r;

    (void)state;
    serve();
    fx.left_to_write = 32 * MIB;
    reply_call(&r, "/large", &handler);
    UNTIL(fx.n_blocked == 1 && r.body.len > 0);
    http_call_resume(r.call);
    http_call_cancel(r.call);
    UNTIL(fx.n_gone == 1);
    reply_fini(&r);
}

static void pause_on_head(void *arg, int status, const struct http_header *headers, size_t n)
{
    struct reply *r = arg;

    reply_on_head(arg, status, headers, n);
    http_call_pause(r->call);
}

/* The beginning of the body comes in one read with the head. */
static void a_call_paused_on_its_head_reports_no_body(void **state)
{
    static const struct http_call_handler handler = {pause_on_head, reply_on_body, reply_on_end};
    struct reply r, cancelled;

    (void)state;
    serve();
    reply_call(&r, "/stream", &handler);
    reply_call(&cancelled, "/stream", &handler);
    UNTIL(r.status == 200 && cancelled.status == 200);
    let_pass(30);
    assert_false(r.ended);
    assert_int_equal(r.n_reads, 0);
    http_call_resume(r.call);
    http_call_pause(r.call);
    let_pass(30);
    assert_int_equal(r.n_reads, 0);
    http_call_resume(r.call);
    assert_int_equal(r.n_reads, 0); /* never from inside the call */
    http_call_resume(cancelled.call);
    http_call_cancel(cancelled.call);
    UNTIL(r.ended);
    assert_false(r.failed || cancelled.ended);
    assert_string_equal(buf_cstr(&r.body), "one two");
    reply_fini(&r);
    reply_fini(&cancelled);
}

static void a_call_paused_on_a_lone_head_goes_on(void **state)
{
    static const struct http_call_handler handler = {pause_on_head, reply_on_body, reply_on_end};
    static const struct script_step script[] = {{"HTTP/1.1 204 No\r\n\r\n", false}};
    struct reply r;

    (void)state;
    script_play(script);
    reply_call(&r, "/", &handler);
    UNTIL(r.status == 204);
    if (!r.ended) /* libcurl has nothing to hold back */
        http_call_resume(r.call);
    UNTIL(r.ended);
    assert_false(r.failed);
    reply_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST_BOTH(a_call_reports_head_body_and_end),
        HTTP_TEST_BOTH(a_request_carries_its_body_and_headers),
        HTTP_TEST_BOTH(calls_one_after_the_other_share_a_connection),
        HTTP_TEST_BOTH(a_server_that_is_not_there_is_named),
        HTTP_TEST_BOTH(bad_urls_are_refused_at_once),
        HTTP_TEST_BOTH(headers_that_hold_line_breaks_are_refused),
        HTTP_TEST_BOTH(a_name_that_nobody_has_is_not_reachable),
        HTTP_TEST_BOTH(a_name_that_is_too_long_is_not_reachable),
        HTTP_TEST_BOTH(a_server_that_stays_silent_times_out),
        HTTP_TEST_BOTH(a_server_that_does_not_take_the_connection_times_out),
        HTTP_TEST_BOTH(a_cancelled_call_is_silent_and_its_connection_closed),
        HTTP_TEST_BOTH(cancel_is_harmless_at_the_end),
        HTTP_TEST_BOTH(a_call_may_cancel_another),
        HTTP_TEST_BOTH(a_call_may_start_another),
        HTTP_TEST_BOTH(a_freed_client_leaves_no_call_behind),
        HTTP_TEST_BOTH(pausing_every_read_loses_nothing),
        HTTP_TEST_BOTH(a_paused_call_blocks_the_server_and_outlives_the_idle_limit),
        HTTP_TEST_BOTH(a_paused_call_may_be_cancelled),
        HTTP_TEST_BOTH(a_call_paused_on_its_head_reports_no_body),
        HTTP_TEST_BOTH(a_call_paused_on_a_lone_head_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
