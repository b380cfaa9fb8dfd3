/* test_http_client.c -- our client: whole calls, calls that are cancelled or
 * paused on the way, and answers that are not as they should be.
 *
 * It calls our server, whose paths lib/http_fixture.h explains, or a scripted
 * one. A struct reply keeps what a call has reported; handlers that do more than
 * that, do it inside the report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/http_fixture.h"
#include "lib/test.h"

/* --- calls and what they report --------------------------------------------- */

/* What a call has reported. */
struct reply {
    struct http_call *call;
    int status;
    struct buf headers, body;
    bool ended, failed;
    struct err failure;
};

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

/* A GET of path from whichever server the test has opened; url is where its URL goes. */
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

/* A call that is nothing but its path. */
static void call(struct reply *r, const char *path, const struct http_call_handler *handler)
{
    char url[160];
    struct http_call_conf conf = call_conf(url, path);

    start(r, &conf, handler);
}

/* The same, until its end. */
static void fetch(struct reply *r, const char *path)
{
    call(r, path, &reply_handler);
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

/* --- cancel ----------------------------------------------------------------- */

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
    struct reply r;

    (void)state;
    serve();
    for (unsigned i = 0; i < 2; i++) {
        uint64_t before;

        call(&r, "/half", &handlers[i]);
        UNTIL(r.status == 200);
        before = uv_hrtime();
        UNTIL(fx.n_gone == i + 1);
        assert_true(uv_hrtime() - before < 100 * 1000000u);
        assert_false(r.ended);
        assert_int_equal(r.body.len, i == 0 ? 0 : 4);
        reply_fini(&r);
    }
    call(&r, "/half", &reply_handler);
    http_call_cancel(r.call);
    call(&r, "/half", &reply_handler);
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
    call(&r, "/", &handler);
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
    call(&other, "/half", &reply_handler);
    UNTIL(other.body.len == 4);
    call(&r, "/", &handler);
    UNTIL(r.ended && fx.n_gone == 1);
    assert_false(other.ended);
    assert_string_equal(buf_cstr(&r.body), "hello");
    reply_fini(&r);
    reply_fini(&other);
}

static void chain_on_body(void *arg, str bytes)
{
    reply_on_body(arg, bytes);
    call(&other, "/stream", &reply_handler);
}

static void a_call_may_start_another(void **state)
{
    static const struct http_call_handler handler = {reply_on_head, chain_on_body, reply_on_end};
    struct reply r;

    (void)state;
    other = (struct reply){.call = NULL};
    serve();
    call(&r, "/", &handler);
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
    call(&r[0], "/half", &reply_handler);
    UNTIL(r[0].body.len == 4);
    call(&r[1], "/half", &reply_handler);
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
    assert_true(loop_defer(fx.loop, resume, r));
}

static void pausing_every_read_loses_nothing(void **state)
{
    static const struct http_call_handler handler = {reply_on_head, pause_on_body, reply_on_end};
    static struct reply r; /* outlives the test: a resume may still be deferred */

    (void)state;
    serve();
    fx.left_to_write = 4 * MIB;
    call(&r, "/large", &handler);
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
    struct reply r;

    (void)state;
    serve();
    fx.left_to_write = 32 * MIB;
    call(&r, "/large", &handler);
    UNTIL(fx.n_blocked == 1 && r.body.len > 0);
    http_call_resume(r.call);
    http_call_cancel(r.call);
    UNTIL(fx.n_gone == 1);
    reply_fini(&r);
}

/* --- our client and a scripted server --------------------------------------- */

#define OK_HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

static void informational_answers_and_trailers_are_not_reported(void **state)
{
    static const struct script_step script[] = {
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
         "HTTP/1.1 201 Created\r\nX-Name:  value \r\nTransfer-Encoding: chunked\r\n\r\n"
         "5\r\nhello\r\n0\r\nTrailer: x\r\n\r\n",
         false}};
    struct reply r;

    (void)state;
    script_play(script);
    fetch(&r, "/");
    assert_false(r.failed);
    assert_int_equal(r.status, 201);
    assert_string_equal(buf_cstr(&r.headers), "x-name=value\ntransfer-encoding=chunked\n");
    assert_string_equal(buf_cstr(&r.body), "hello");
    reply_fini(&r);
}

static void an_answer_that_breaks_off_is_an_error(void **state)
{
    static const struct script_step script[] = {
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", true},
        {"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf", true},
    };

    (void)state;
    script_play(script);
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
    static const struct script_step script[] = {{NULL, true}, {"SSH-2.0-x\r\n", true}};
    struct reply r;

    (void)state;
    script_play(script);
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
    static const struct script_step script[] = {{OK_HELLO, false}, {NULL, true}, {OK_HELLO, false}};
    struct http_call_conf conf;
    struct reply r;
    char url[160];

    (void)state;
    script_play(script);
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

static void a_unix_socket_is_called_by_its_path(void **state)
{
    static const struct script_step script[] = {{OK_HELLO, false}, {NULL, true}};
    struct http_call_conf conf = {.method = "GET"};
    struct reply r;
    char path[100], url[200];

    (void)state;
    (void)snprintf(path, sizeof(path), "/tmp/test_http.%d.sock", (int)getpid());
    script_play_at(path, script);
    (void)snprintf(url, sizeof(url), "unix:%s:/v1/models", path);
    conf.url = url;
    start(&r, &conf, &reply_handler);
    UNTIL(r.ended);
    assert_string_equal(buf_cstr(&r.body), "hello");
    reply_fini(&r);
    (void)unlink(path);
}

/* clang-format off */
#define BOTH(test) HTTP_TEST(test), HTTP_TEST_CURL(test)
/* clang-format on */

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(a_call_reports_head_body_and_end),
        BOTH(a_request_carries_its_body_and_headers),
        BOTH(calls_one_after_the_other_share_a_connection),
        BOTH(a_server_that_is_not_there_is_named),
        BOTH(bad_urls_are_refused_at_once),
        BOTH(a_server_that_stays_silent_times_out),
        BOTH(a_cancelled_call_is_silent_and_its_connection_closed),
        BOTH(cancel_is_harmless_at_the_end),
        BOTH(a_call_may_cancel_another),
        BOTH(a_call_may_start_another),
        BOTH(a_freed_client_leaves_no_call_behind),
        BOTH(pausing_every_read_loses_nothing),
        BOTH(a_paused_call_blocks_the_server_and_outlives_the_idle_limit),
        BOTH(a_paused_call_may_be_cancelled),
        BOTH(informational_answers_and_trailers_are_not_reported),
        BOTH(an_answer_that_breaks_off_is_an_error),
        BOTH(a_server_that_answers_nothing_is_not_reachable),
        BOTH(a_kept_connection_that_is_dead_is_replaced),
        BOTH(a_unix_socket_is_called_by_its_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
