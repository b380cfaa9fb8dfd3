/* test_http_client_answers.c -- answers that are not as simple as they could be,
 * or not as they should be, from a scripted server.
 *
 * All that holds for both transports is run over each. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "http/http_call.h"
#include "lib/reply.h"
#include "lib/test.h"

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
    reply_fetch(&r, "/");
    assert_false(r.failed);
    assert_int_equal(r.status, 201);
    assert_string_equal(buf_cstr(&r.headers), "x-name=value\ntransfer-encoding=chunked\n");
    assert_string_equal(buf_cstr(&r.body), "hello");
    reply_fini(&r);
}

/* libcurl keeps them all, so what never ends would take all memory; ours would never end. */
static void trailers_are_limited(void **state)
{
    enum { FIELD = 16 };
    static char answer[CALL_MAX_HEAD_BYTES + 1024];
    const struct script_step script[] = {{answer, false}};
    struct reply r;
    size_t n = (size_t)snprintf(answer, sizeof(answer),
                                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n");

    (void)state;
    for (size_t left = CALL_MAX_HEAD_BYTES + FIELD; left >= FIELD; left -= FIELD, n += FIELD)
        memcpy(answer + n, "Trailer: 90123\r\n", FIELD);
    memcpy(answer + n, "\r\n", 3);
    script_play(script);
    reply_fetch(&r, "/");
    assert_true(r.failed);
    assert_int_equal(r.failure.code, ERR_UPSTREAM_ERROR);
    reply_fini(&r);
}

/* A server may send any number of them, and libcurl swallows all. */
static void informational_answers_are_limited(void **state)
{
    static const char one[] = "HTTP/1.1 103 Early Hints\r\nLink: <x>; rel=preload\r\n\r\n";
    static char answer[CALL_MAX_HEAD_BYTES + 4 * sizeof(one) + 64];
    const struct script_step script[] = {{answer, false}};
    struct reply r;
    size_t n = 0;

    (void)state;
    for (; n <= CALL_MAX_HEAD_BYTES + sizeof(one); n += sizeof(one) - 1)
        memcpy(answer + n, one, sizeof(one) - 1);
    memcpy(answer + n, "HTTP/1.1 204 No Content\r\n\r\n", 28);
    script_play(script);
    reply_fetch(&r, "/");
    assert_true(r.failed);
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

        reply_fetch(&r, "/");
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
    reply_fetch(&r, "/");
    assert_int_equal(r.failure.code, ERR_UPSTREAM_UNAVAILABLE);
    assert_true(strstr(r.failure.msg, "it closed the connection without an answer.") != NULL);
    reply_fetch(&r, "/");
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
    reply_fetch(&r, "/");
    reply_fini(&r);
    conf = reply_conf(url, "/");
    conf.method = "POST";
    conf.body = STR("body");
    reply_start(&r, &conf, &reply_handler);
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
    reply_start(&r, &conf, &reply_handler);
    UNTIL(r.ended);
    assert_string_equal(buf_cstr(&r.body), "hello");
    reply_fini(&r);
    (void)unlink(path);
}

static void an_answer_may_end_with_its_connection(void **state)
{
    static const struct script_step script[] = {{"HTTP/1.0 200 OK\r\n\r\nall of it", true},
                                                {"HTTP/1.1 200 OK\r\n\r\nall of it", true}};

    (void)state;
    script_play(script);
    for (int i = 0; i < 2; i++) {
        struct reply r;

        reply_fetch(&r, "/");
        assert_false(r.failed);
        assert_string_equal(buf_cstr(&r.body), "all of it");
        reply_fini(&r);
    }
}

static void answers_without_a_body_end_with_their_head(void **state)
{
    static const struct script_step script[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", false},
        {"HTTP/1.1 204 No Content\r\n\r\n", false},
        {"HTTP/1.1 304 Not Modified\r\n\r\n", false}};
    static const int statuses[] = {200, 204, 304};
    struct http_call_conf conf;
    char url[160];

    (void)state;
    script_play(script);
    conf = reply_conf(url, "/");
    conf.method = "HEAD";
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        struct reply r;

        reply_start(&r, &conf, &reply_handler);
        UNTIL(r.ended);
        assert_false(r.failed);
        assert_int_equal(r.status, statuses[i]);
        assert_int_equal(r.n_reads, 0);
        reply_fini(&r);
        conf.method = "GET";
    }
    assert_int_equal(fx.n_accepted, 1);
}

static void a_head_that_is_too_large_is_refused(void **state)
{
    enum { HEAD_BYTES = 300 * 1024 };
    struct script_step script[] = {{NULL, false}};
    char *head = malloc(HEAD_BYTES + 1);
    struct reply r;
    size_t n;

    (void)state;
    assert_non_null(head);
    n = (size_t)snprintf(head, HEAD_BYTES, "HTTP/1.1 200 OK\r\n");
    while (n + 100 < HEAD_BYTES)
        n += (size_t)snprintf(head + n, HEAD_BYTES - n, "X-%zu: %60zu\r\n", n, n);
    (void)snprintf(head + n, HEAD_BYTES - n, "\r\n");
    script[0].answer = head;
    script_play(script);
    reply_fetch(&r, "/");
    assert_int_equal(r.failure.code, ERR_UPSTREAM_UNAVAILABLE);
    assert_int_equal(r.status, 0);
    reply_fini(&r);
    free(head);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST_BOTH(informational_answers_and_trailers_are_not_reported),
        HTTP_TEST_BOTH(trailers_are_limited),
        HTTP_TEST_BOTH(informational_answers_are_limited),
        HTTP_TEST_BOTH(an_answer_that_breaks_off_is_an_error),
        HTTP_TEST_BOTH(a_server_that_answers_nothing_is_not_reachable),
        HTTP_TEST_BOTH(a_kept_connection_that_is_dead_is_replaced),
        HTTP_TEST_BOTH(a_unix_socket_is_called_by_its_path),
        HTTP_TEST_BOTH(an_answer_may_end_with_its_connection),
        HTTP_TEST_BOTH(answers_without_a_body_end_with_their_head),
        HTTP_TEST_BOTH(a_head_that_is_too_large_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
