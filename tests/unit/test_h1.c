/* test_h1.c -- requests out of bytes, whole, cut at every place, and one by one.
 *
 * A case is a stream and its transcript: what a reader of the stream gets to
 * see. Every piece is fed from a block of exactly its size, so that a sanitizer
 * sees a read past its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "net/h1.h"

static const struct h1_limits limits = {
    .max_head_bytes = 160, .max_headers = 4, .max_body_bytes = 16};

#define HOST "Host: a\r\n"

struct h1_case {
    str stream;
    const char *transcript;
};

#define CASE(stream, transcript)                                                                   \
    {                                                                                              \
        STR_INIT(stream), transcript                                                               \
    }

static void write_request(const struct h1 *h, struct buf *out)
{
    struct http_header headers[8];

    h1_headers(h, headers);
    buf_append(out, h1_method(h));
    buf_char(out, ' ');
    buf_append(out, h1_path(h));
    if (h1_query(h).len > 0)
        buf_char(out, '?');
    buf_append(out, h1_query(h));
    buf_c(out, h->is_http_1_0 ? " 1.0" : " 1.1");
    buf_c(out, h->keep_alive ? " keep" : " close");
    buf_c(out, h->expects_continue ? " continue" : "");
    buf_c(out, h->wants_upgrade ? " upgrade" : "");
    for (size_t i = 0; i < h->n_headers; i++) {
        buf_char(out, '|');
        buf_append(out, headers[i].name);
        buf_char(out, '=');
        buf_append(out, headers[i].value);
    }
    buf_c(out, "|[");
    buf_append(out, h1_body(h));
    buf_c(out, "]\n");
}

/* Feeds one piece; false when the stream cannot be read on. */
static bool feed(struct h1 *h, str piece, struct buf *out)
{
    char *exact = malloc(piece.len + (piece.len == 0));
    str rest = str_from(exact, piece.len);
    struct err err;
    ssize_t used = 0;

    assert_non_null(exact);
    memcpy(exact, piece.p, piece.len);
    while (rest.len > 0 && used != -1) {
        used = h1_feed(h, rest, &err);
        if (used == -1) {
            buf_uint(out, (uint64_t)err_http_status(&err));
            buf_char(out, ' ');
            buf_c(out, err.msg);
            break;
        }
        rest = str_skip(rest, (size_t)used);
        if (h->state == H1_DONE) {
            write_request(h, out);
            h1_next(h);
        }
    }
    free(exact);
    return used != -1;
}

static void check(const struct h1_case *c, const size_t *cuts, size_t n_cuts)
{
    struct buf out = {0};
    struct h1 h;
    size_t at = 0;
    bool ok = true;

    h1_init(&h, &limits);
    for (size_t i = 0; ok && i <= n_cuts; i++) {
        size_t end = i < n_cuts ? cuts[i] : c->stream.len;

        ok = feed(&h, str_from(c->stream.p + at, end - at), &out);
        at = end;
    }
    if (ok && !h1_is_idle(&h))
        buf_c(&out, h.state == H1_HEAD ? "head..." : "body...");
    assert_string_equal(buf_cstr(&out), c->transcript);
    h1_fini(&h);
    buf_fini(&out);
}

static void check_all(const struct h1_case *cases, size_t n)
{
    size_t each[1024];

    for (size_t i = 0; i < 1024; i++)
        each[i] = i;
    for (size_t i = 0; i < n; i++) {
        check(&cases[i], NULL, 0);
        for (size_t cut = 0; cut <= cases[i].stream.len; cut++)
            check(&cases[i], &cut, 1);
        check(&cases[i], each + 1, cases[i].stream.len - 1);
    }
}

#define CHECK_ALL(cases) check_all(cases, sizeof(cases) / sizeof((cases)[0]))

static void requests_are_read_whatever_the_pieces(void **state)
{
    static const struct h1_case cases[] = {
        CASE("GET / HTTP/1.1\r\n" HOST "\r\n", "GET / 1.1 keep|host=a|[]\n"),
        CASE("\r\n\r\nGET /x?a=b?c HTTP/1.1\r\n" HOST "\r\n", "GET /x?a=b?c 1.1 keep|host=a|[]\n"),
        CASE(
            "POST /v1 HTTP/1.1\r\nHOST:a\r\nX-Long:  \t one  two \t\r\nContent-Length: 5\r\n\r\nhello",
            "POST /v1 1.1 keep|host=a|x-long=one  two|content-length=5|[hello]\n"),
        CASE("GET / HTTP/1.1\r\nHost:\r\nEmpty:   \r\n\r\n", "GET / 1.1 keep|host=|empty=|[]\n"),
        CASE("GET / HTTP/1.1\r\n" HOST "Name: \xc3\xa9\r\n\r\n",
             "GET / 1.1 keep|host=a|name=\xc3\xa9|[]\n"),
        CASE("GET http://h:1/p?q HTTP/1.1\r\n" HOST "\r\n", "GET /p?q 1.1 keep|host=a|[]\n"),
        CASE("GET http://h HTTP/1.1\r\n" HOST "\r\n", "GET / 1.1 keep|host=a|[]\n"),
        CASE("GET http://h?q=/x HTTP/1.1\r\n" HOST "\r\n", "GET /?q=/x 1.1 keep|host=a|[]\n"),
        CASE("OPTIONS * HTTP/1.1\r\n" HOST "\r\n", "OPTIONS * 1.1 keep|host=a|[]\n"),
        CASE("DELETE /r HTTP/1.1\r\nConnection: close\r\n" HOST "\r\n",
             "DELETE /r 1.1 close|connection=close|host=a|[]\n"),
        CASE("GET / HTTP/1.0\r\n\r\n", "GET / 1.0 close|[]\n"),
        CASE("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
             "GET / 1.0 keep|connection=keep-alive|[]\n"),
        CASE("GET /ws HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\nGET",
             "GET /ws 1.1 keep upgrade|host=a|connection=Upgrade|upgrade=websocket|[]\nhead..."),
    };

    (void)state;
    CHECK_ALL(cases);
}

static void bodies_come_without_their_framing(void **state)
{
    static const struct h1_case cases[] = {
        CASE("POST / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n",
             "POST / 1.1 keep|host=a|content-length=0|[]\n"),
        CASE("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
             "POST / 1.1 keep|host=a|transfer-encoding=chunked|[hello]\n"),
        CASE("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: CHUNKED\r\n\r\n"
             "1\r\na\r\n0A;ext=1\r\n0123456789\r\n1\r\nb\r\n0\r\nTrailer: x\r\n\r\n",
             "POST / 1.1 keep|host=a|transfer-encoding=CHUNKED|[a0123456789b]\n"),
        CASE("POST / HTTP/1.1\r\n" HOST "Expect: 100-Continue\r\nContent-Length: 3\r\n\r\nab",
             "body..."),
        CASE("POST / HTTP/1.1\r\n" HOST "Expect: 100-Continue\r\nContent-Length: 3\r\n\r\nabc",
             "POST / 1.1 keep continue|host=a|expect=100-Continue|content-length=3|[abc]\n"),
    };

    (void)state;
    CHECK_ALL(cases);
}

static void pipelined_requests_stay_apart(void **state)
{
    static const struct h1_case cases[] = {
        CASE("GET /1 HTTP/1.1\r\n" HOST "\r\nGET /2 HTTP/1.1\r\n" HOST "\r\n",
             "GET /1 1.1 keep|host=a|[]\nGET /2 1.1 keep|host=a|[]\n"),
        CASE("POST /1 HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nxyPOST /2 HTTP/1.1\r\n" HOST
             "Transfer-Encoding: chunked\r\n\r\n1\r\nz\r\n0\r\n\r\nGET /3 HTTP/1.1\r\n" HOST
             "\r\n\r\nGE",
             "POST /1 1.1 keep|host=a|content-length=2|[xy]\n"
             "POST /2 1.1 keep|host=a|transfer-encoding=chunked|[z]\n"
             "GET /3 1.1 keep|host=a|[]\nhead..."),
    };

    (void)state;
    CHECK_ALL(cases);
}

/* So that a caller can refuse a request before any of its body is kept. */
static void the_parser_stops_in_front_of_a_body(void **state)
{
    static const char *const heads[] = {
        "POST / HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n",
        "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n",
    };
    static const char *const bodies[] = {"ab", "2\r\nab\r\n0\r\n\r\n"};
    struct http_header headers[4];
    struct err err;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct buf whole = {0};
        const char *head_bytes;
        struct h1 h;
        str rest;

        buf_c(&whole, heads[i]);
        buf_c(&whole, bodies[i]);
        rest = buf_str(&whole);
        h1_init(&h, &limits);
        assert_int_equal(h1_feed(&h, rest, &err), str_from_c(heads[i]).len);
        assert_int_equal(h.state, H1_BODY);
        assert_true(h.has_body);
        assert_int_equal(h.body.cap, 0);
        head_bytes = h1_path(&h).p;
        assert_int_equal(h1_feed(&h, str_skip(rest, str_from_c(heads[i]).len), &err),
                         str_from_c(bodies[i]).len);
        assert_int_equal(h.state, H1_DONE);
        assert_ptr_equal(h1_path(&h).p, head_bytes); /* views of the head stay good */
        h1_headers(&h, headers);
        assert_true(str_eq(headers[0].value, STR("a")));
        assert_true(str_eq(h1_body(&h), STR("ab")));
        h1_fini(&h);
        buf_fini(&whole);
    }
}

#define MALFORMED  "400 The request is not well-formed HTTP."
#define BAD_TARGET "400 The request target holds a forbidden character."
#define BAD_NAME   "400 A header name holds a forbidden character."
#define FOLDED     "400 A header line begins with a space."
#define BARE_LF    "400 A header line ends without CR."
#define NO_NUMBER  "400 Content-Length is not a number."
#define NO_END     "400 Transfer-Encoding does not say where the body ends."
#define CODING     "501 No transfer coding but chunked is supported."
#define LENGTHS    "400 Content-Length is repeated or stands beside Transfer-Encoding."
#define VERSIONS   "400 Only HTTP/1.1 and HTTP/1.0 are spoken here."
#define NO_LENGTH  "411 The request needs a Content-Length, or Transfer-Encoding: chunked."
#define ONE_HOST   "400 The request must have exactly one Host header."
#define BAD_CHUNK  "400 A chunk of the request body has no valid size."
#define CHUNKED    "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"

static void what_two_parsers_could_read_differently_is_refused(void **state)
{
    static const struct h1_case cases[] = {
        CASE("POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
             LENGTHS),
        CASE("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
             LENGTHS),
        CASE("POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", LENGTHS),
        CASE("POST / HTTP/1.1\r\n" HOST "Content-Length: 1, 2\r\n\r\n", NO_NUMBER),
        CASE("POST / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n", NO_NUMBER),
        CASE("POST / HTTP/1.1\r\n" HOST "Content-Length: +1\r\n\r\n", NO_NUMBER),
        CASE("POST / HTTP/1.1\r\n" HOST "Content-Length: 0x1\r\n\r\n", NO_NUMBER),
        CASE("POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n", NO_NUMBER),
        CASE("POST / HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999\r\n\r\n", NO_NUMBER),
        CASE("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n", CODING),
        CASE("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked, gzip\r\n\r\n", NO_END),
        CASE("POST / HTTP/1.1\r\n" HOST
             "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
             CODING),
        CASE("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n", NO_END),
        CASE("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding:\r\n\r\n", NO_END),
        CASE("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", NO_END),
        CASE("GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\t\r\n\r\n", NO_END),
        CASE("POST / HTTP/1.1\r\n" HOST "\r\n", NO_LENGTH),
        CASE("PATCH / HTTP/1.0\r\n\r\n", NO_LENGTH),
        CASE("GET / HTTP/1.1\r\n" HOST "Authorization: a\r\nauthorization: a\r\n\r\n",
             "400 The request has more than one Authorization header."),
        CASE("GET / HTTP/1.1\r\nAuthorization: a\r\n" HOST "Authorization:\r\n\r\n",
             "400 The request has more than one Authorization header."),
        CASE("GET / HTTP/1.1\r\n" HOST "Content-Type: a\r\nContent-Type: b\r\n\r\n",
             "400 The request has more than one Content-Type header."),
        CASE("GET / HTTP/1.1\r\n" HOST "Origin: a\r\nOrigin: b\r\n\r\n",
             "400 The request has more than one Origin header."),
        CASE("GET / HTTP/1.1\r\n" HOST "Idempotency-Key: a\r\nIdempotency-Key: a\r\n\r\n",
             "400 The request has more than one Idempotency-Key header."),
        CASE(CHUNKED "0\r\n\n", BARE_LF),
        CASE(CHUNKED "0\r\nA: b\n\r\n", BARE_LF),
        CASE(CHUNKED "0\r\nA: b\r\n c\r\n\r\n", FOLDED),
        CASE(CHUNKED "0\r\n c\r\n\r\n", FOLDED),
        CASE(CHUNKED "0\r\n: b\r\n\r\n", "400 A header field has no name."),
        CASE(CHUNKED "0\r\n(: b\r\n\r\n", MALFORMED),
        CASE(CHUNKED "x\r\n", BAD_CHUNK),
        CASE(CHUNKED "-1\r\n", BAD_CHUNK),
        CASE(CHUNKED " 1\r\n", BAD_CHUNK),
        CASE(CHUNKED "1 \r\na\r\n0\r\n\r\n", BAD_CHUNK),
        CASE(CHUNKED "0x1\r\n", BAD_CHUNK),
        CASE(CHUNKED "\r\n", BAD_CHUNK),
        CASE(CHUNKED "1\r\nabc", MALFORMED),
        CASE(CHUNKED "1\nb\r\n0\r\n\r\n", BAD_CHUNK),
        CASE(CHUNKED "1\r\nb\n0\r\n\r\n", MALFORMED),
        CASE(CHUNKED "FFFFFFFFFFFFFFFFF\r\n", BAD_CHUNK),
        CASE("GET / HTTP/1.1\r\n" HOST "A: b\r\n c\r\n\r\n", FOLDED),
        CASE("GET / HTTP/1.1\r\n" HOST "A:\r\n\tc\r\n\r\n", FOLDED),
        CASE("GET / HTTP/1.1\r\n Host: a\r\n\r\n", FOLDED),
        CASE("GET / HTTP/1.1\r\n" HOST "A : b\r\n\r\n", MALFORMED),
        CASE("GET / HTTP/1.1\r\n" HOST "A B: b\r\n\r\n", MALFORMED),
        CASE("GET / HTTP/1.1\r\n" HOST "(: b\r\n\r\n", MALFORMED),
        CASE("GET / HTTP/1.1\r\n" HOST ": b\r\n\r\n", "400 A header field has no name."),
        CASE("GET / HTTP/1.1\r\n" HOST "name\r\n\r\n", MALFORMED),
        CASE("GET / HTTP/1.1\r\n" HOST "A: b\x01\r\n\r\n", MALFORMED),
        CASE("GET / HTTP/1.1\r\n" HOST "A: b\x7f\r\n\r\n", MALFORMED),
        CASE("GET / HTTP/1.1\r\n" HOST "A: b\0c\r\n\r\n", MALFORMED),
        CASE("GET / HTTP/1.1\r\n" HOST "A: b\rc\r\n\r\n", MALFORMED),
        CASE("GET / HTTP/1.1\r\n" HOST "A: b\nC: d\r\n\r\n", BARE_LF),
        CASE("GET / HTTP/1.1\n" HOST "\r\n", BARE_LF),
        CASE("GET / HTTP/1.1\r\n" HOST "\n", BARE_LF),
        CASE("GET / HTTP/1.1\r\nHost: a\n\r\n", BARE_LF),
    };

    (void)state;
    CHECK_ALL(cases);
}

static void request_lines_that_are_not_http_1_are_refused(void **state)
{
    static const struct h1_case cases[] = {
        CASE("GET / HTTP/1.1\r\n\r\n", ONE_HOST),
        CASE("GET / HTTP/1.1\r\n" HOST HOST "\r\n", ONE_HOST),
        CASE("GET / HTTP/2.0\r\n" HOST "\r\n", VERSIONS),
        CASE("GET / HTTP/0.9\r\n" HOST "\r\n", VERSIONS),
        CASE("GET / HTTP/1.2\r\n" HOST "\r\n", VERSIONS),
        CASE("GET / HTTX/1.1\r\n" HOST "\r\n", VERSIONS),
        CASE("GET /\r\n" HOST "\r\n", VERSIONS),
        CASE("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 Only HTTP/1.1 and HTTP/1.0 are spoken here."),
        CASE("DESCRIBE / RTSP/1.0\r\n" HOST "\r\n", VERSIONS),
        CASE("BREW / HTTP/1.1\r\n" HOST "\r\n", "400 The request line has no known method."),
        CASE("\x16\x03\x01\x02\x00\x01", "400 The request line has no known method."),
        CASE("CONNECT a:1 HTTP/1.1\r\n" HOST "\r\n", "501 The method CONNECT is not supported."),
        CASE("GET /\x80 HTTP/1.1\r\n" HOST "\r\n", "400 The request target is malformed."),
        CASE("GET /\x01 HTTP/1.1\r\n" HOST "\r\n", "400 The request target is malformed."),
        CASE("GET /a\tb HTTP/1.1\r\n" HOST "\r\n", "400 The request target is malformed."),
        CASE("GET /#f HTTP/1.1\r\n" HOST "\r\n", BAD_TARGET),
        CASE("GET * HTTP/1.1\r\n" HOST "\r\n", "400 The request target is malformed."),
    };

    (void)state;
    CHECK_ALL(cases);
}

/* 160 bytes of head are allowed: 18 + 9 + 3 + 128 + 2. */
#define TEN "0123456789"
#define HEAD_158                                                                                   \
    "GET / HTTP/1.1\r\n" HOST "A: " TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "01234567"
#define FRAMING_TOO_LARGE "431 The chunk extensions and the trailer of the request are too large."
#define TOO_LARGE         "413 The request body is larger than 16 bytes."

static void limits_are_exact_whatever_the_pieces(void **state)
{
    static const struct h1_case cases[] = {
        CASE(HEAD_158 "\r\n\r\n",
             "GET / 1.1 keep|host=a|a=" TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
             "01234567|[]\n"),
        CASE(HEAD_158 "x\r\n\r\n", "431 The request line and headers are too large."),
        CASE("GET / HTTP/1.1\r\n" HOST "1:\r\n2:\r\n3:\r\n\r\n",
             "GET / 1.1 keep|host=a|1=|2=|3=|[]\n"),
        CASE("GET / HTTP/1.1\r\n" HOST "1:\r\n2:\r\n3:\r\n4:\r\n\r\n",
             "431 The request has too many header fields."),
        CASE("POST / HTTP/1.1\r\n" HOST "Content-Length: 16\r\n\r\n0123456789abcdef",
             "POST / 1.1 keep|host=a|content-length=16|[0123456789abcdef]\n"),
        CASE("POST / HTTP/1.1\r\n" HOST "Content-Length: 17\r\n\r\n", TOO_LARGE),
        CASE(CHUNKED "8\r\n01234567\r\n8\r\n01234567\r\n0\r\n\r\n",
             "POST / 1.1 keep|host=a|transfer-encoding=chunked|[0123456701234567]\n"),
        CASE(CHUNKED "8\r\n01234567\r\n9\r\n", TOO_LARGE),
        CASE(CHUNKED "1;" TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
                 TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN,
             FRAMING_TOO_LARGE),
        /* 160 bytes of extensions and trailer are allowed: 3 + 155, and the empty line. */
        CASE(CHUNKED "1;a=" TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "01234"
                     "\r\nx\r\n0\r\n\r\n",
             "POST / 1.1 keep|host=a|transfer-encoding=chunked|[x]\n"),
        CASE(CHUNKED "1;a=" TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "01234"
                     "\r\nx\r\n0;b\r\n\r\n",
             FRAMING_TOO_LARGE),
        CASE(CHUNKED
             "1;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;"
             ";;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;"
             ";;;;;;;;;;;;;;;;;;",
             FRAMING_TOO_LARGE),
        CASE(CHUNKED
             "1\r\nx\r\n0\r\nA: " TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
             "012\r\n\r\n",
             "POST / 1.1 keep|host=a|transfer-encoding=chunked|[x]\n"),
        CASE(CHUNKED
             "1\r\nx\r\n0\r\nA: " TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
             "0123\r\n\r\n",
             FRAMING_TOO_LARGE),
        CASE(
            CHUNKED
            "1\r\nx\r\n0\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\n"
            "A:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\n"
            "A:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\n",
            FRAMING_TOO_LARGE),
    };

    (void)state;
    CHECK_ALL(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_read_whatever_the_pieces),
        cmocka_unit_test(bodies_come_without_their_framing),
        cmocka_unit_test(pipelined_requests_stay_apart),
        cmocka_unit_test(the_parser_stops_in_front_of_a_body),
        cmocka_unit_test(what_two_parsers_could_read_differently_is_refused),
        cmocka_unit_test(request_lines_that_are_not_http_1_are_refused),
        cmocka_unit_test(limits_are_exact_whatever_the_pieces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
