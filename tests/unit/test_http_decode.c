/* test_http_decode.c -- compressed bodies of an exchange, decoded ahead in turns of the loop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/budget.h"
#include "http/body_decode.h"
#include "lib/http_fixture.h"
#include "lib/test.h"

static unsigned n_decoded;

static void on_decoded(void *arg)
{
    (void)arg;
    n_decoded++;
}

/* What repeats itself after many bytes only: it becomes a few times smaller. */
static struct buf text_of(size_t n)
{
    struct buf text = {.limit = 0};

    while (text.len < n) {
        buf_uint(&text, text.len * 2654435761u % 1000003);
        buf_c(&text, " words that come again; ");
    }
    return text;
}

static struct buf gzip(str text)
{
    struct buf out = {.limit = 0};
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)text.p, .avail_in = (uInt)text.len};

    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.avail_out = (uInt)deflateBound(&z, text.len);
    z.next_out = (unsigned char *)buf_reserve(&out, z.avail_out);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out.len = z.total_out;
    assert_int_equal(deflateEnd(&z), Z_OK);
    return out;
}

/* The exchange of a request with that body. */
static void post(str body)
{
    struct buf request = {.limit = 0};
    struct peer *p;
    struct iovec piece;

    n_decoded = 0;
    fx.conf.max_body_bytes = (size_t)32 * MIB;
    serve();
    p = peer_dial(0);
    buf_c(&request, "POST /hold HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: ");
    buf_uint(&request, body.len);
    buf_c(&request, "\r\n\r\n");
    buf_append(&request, body);
    piece = socket_piece(buf_str(&request));
    socket_send(&p->socket, &piece, 1);
    buf_fini(&request);
    UNTIL(fx.x != NULL);
}

static void a_large_body_comes_in_turns_of_the_loop(void **state)
{
    struct buf text = text_of((size_t)20 * MIB), packed = gzip(buf_str(&text));
    unsigned n_turns = 0;
    str body;

    (void)state;
    post(buf_str(&packed));
    assert_true(http_exchange_decode(fx.x, on_decoded, NULL));
    while (n_decoded == 0) {
        (void)uv_run(loop_uv(fx.loop), UV_RUN_ONCE);
        n_turns++;
    }
    assert_true(n_turns >= 8); /* each of them looks at the timers twice */
    assert_int_equal(http_exchange_body(fx.x, &body, NULL), 0);
    assert_true(str_eq(body, buf_str(&text)));
    http_exchange_respond(fx.x, 200, NULL, 0, STR("read"));
    UNTIL(peer_heard(&fx.peers[0], "read"));
    assert_int_equal(n_decoded, 1);
    buf_fini(&text);
    buf_fini(&packed);
}

static void a_small_body_is_there_at_once(void **state)
{
    struct buf packed = gzip(STR("{\"model\":\"m\"}"));
    str body;

    (void)state;
    post(buf_str(&packed));
    assert_false(http_exchange_decode(fx.x, on_decoded, NULL));
    assert_int_equal(http_exchange_body(fx.x, &body, NULL), 0);
    assert_str_c(body, "{\"model\":\"m\"}");
    http_exchange_respond(fx.x, 200, NULL, 0, STR("read"));
    UNTIL(peer_heard(&fx.peers[0], "read"));
    assert_int_equal(n_decoded, 0);
    buf_fini(&packed);
}

static void what_fails_on_the_way_is_said_when_the_body_is_asked_for(void **state)
{
    struct buf text = text_of((size_t)5 * MIB), packed = gzip(buf_str(&text));
    struct err e;
    str body;

    (void)state;
    packed.p[packed.len - 6] ^= 1; /* its checksum */
    post(buf_str(&packed));
    assert_true(http_exchange_decode(fx.x, on_decoded, NULL));
    UNTIL(n_decoded == 1);
    assert_int_equal(http_exchange_body(fx.x, &body, &e), -1);
    assert_int_equal(err_http_status(&e), 400);
    assert_int_equal(http_exchange_body(fx.x, &body, NULL), -1);
    http_exchange_respond_error(fx.x, &e, NULL, 0);
    UNTIL(peer_heard(&fx.peers[0], "400 Bad Request"));
    buf_fini(&text);
    buf_fini(&packed);
}

static void a_client_that_leaves_ends_it(void **state)
{
    struct buf text = text_of((size_t)20 * MIB), packed = gzip(buf_str(&text));
    size_t before = budget_used();

    (void)state;
    post(buf_str(&packed));
    assert_true(http_exchange_decode(fx.x, on_decoded, NULL));
    (void)uv_run(loop_uv(fx.loop), UV_RUN_ONCE);
    peer_close(&fx.peers[0]);
    UNTIL(http_server_connections(fx.server) == 0);
    let_pass(20);
    assert_int_equal(n_decoded, 0);
    assert_true(budget_used() <= before + (size_t)MIB);
    buf_fini(&text);
    buf_fini(&packed);
}

static void the_ratio_is_the_servers(void **state)
{
    struct buf text = {.limit = 0}, packed;
    struct err e;
    str body;

    (void)state;
    while (text.len < (size_t)4 * MIB)
        buf_c(&text, "                                                                ");
    packed = gzip(buf_str(&text));
    fx.conf.max_body_ratio = 100;
    post(buf_str(&packed));
    (void)http_exchange_decode(fx.x, on_decoded, NULL);
    assert_int_equal(http_exchange_body(fx.x, &body, &e), -1);
    assert_int_equal(err_http_status(&e), 413);
    assert_non_null(strstr(e.msg, "max_body_ratio"));
    http_exchange_respond_error(fx.x, &e, NULL, 0);
    UNTIL(peer_heard(&fx.peers[0], "413 Content Too Large"));
    buf_fini(&text);
    buf_fini(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(a_large_body_comes_in_turns_of_the_loop),
        HTTP_TEST(a_small_body_is_there_at_once),
        HTTP_TEST(what_fails_on_the_way_is_said_when_the_body_is_asked_for),
        HTTP_TEST(a_client_that_leaves_ends_it),
        HTTP_TEST(the_ratio_is_the_servers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
