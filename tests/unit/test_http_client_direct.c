/* test_http_client_direct.c -- what our own transport sends, what it makes of the
 * bytes that come back, and of pauses and ends in between. It calls a scripted
 * server, or the test is the server. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/reply.h"
#include "lib/test.h"

/* --- what is sent --------------------------------------------------------------- */

static void a_request_is_written_as_it_should_be(void **state)
{
    static const struct http_header headers[] = {{STR_INIT("content-type"), STR_INIT("text/plain")},
                                                 {STR_INIT("x-empty"), STR_INIT("")}};
    struct peer *p = gather("127.0.0.1:0", true);
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
    reply_check_hello(&r);
}

/* More than any socket buffers; the body has a different byte at each place of a
 * period that no buffer's size is a multiple of. */
static void a_large_body_reaches_a_slow_reader_whole(void **state)
{
    enum { BODY_BYTES = 24 * MIB, PERIOD = 251 };
    struct peer *p = gather("127.0.0.1:0", false);
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
    reply_check_hello(&r);
    free(body);
}

/* The server has seen enough: it answers and closes, with most of the body unread. */
static void an_answer_that_comes_before_the_end_of_the_body_is_read(void **state)
{
    struct peer *p = gather("127.0.0.1:0", false);
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
    reply_fetch_hello();
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
    struct peer *p = gather("127.0.0.1:0", true);
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
    struct peer *p = gather("127.0.0.1:0", true);
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
    struct peer *p = gather("127.0.0.1:0", true);
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
        HTTP_TEST(a_paused_call_loses_nothing_to_a_server_that_closes),
        HTTP_TEST(a_reset_is_not_the_end_of_an_answer),
        HTTP_TEST(what_came_before_a_reset_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
