/* test_h1_response.c -- responses out of bytes, whole, cut at every place, and
 * one by one.
 *
 * A case is a stream and its transcript: what a reader of the stream gets to
 * see of one response, and how much is left behind it. Every piece is fed from
 * a block of exactly its size, so that a sanitizer sees a read past its end. */
#include "lib/fixture.h"
#include "lib/test.h"

#include "net/h1_response.h"

enum { MAX_HEAD_BYTES = 120 };

struct response_case {
    str stream;
    const char *transcript;
    bool to_head; /* the answer to a HEAD */
};

#define CASE(stream, transcript)                                                                   \
    {                                                                                              \
        STR_INIT(stream), transcript, false                                                        \
    }

struct reading {
    struct h1_response response;
    struct buf text, body;
    unsigned n_views; /* of the body */
    size_t left;      /* bytes that were not used */
};

static void write_head(struct reading *r)
{
    struct http_header headers[16];

    assert_true(r->response.n_headers <= COUNT_OF(headers));
    h1_response_headers(&r->response, headers);
    buf_int(&r->text, r->response.status);
    buf_c(&r->text, r->response.keep_alive ? " keep" : " close");
    for (size_t i = 0; i < r->response.n_headers; i++) {
        buf_char(&r->text, '|');
        buf_append(&r->text, headers[i].name);
        buf_char(&r->text, '=');
        buf_append(&r->text, headers[i].value);
    }
    h1_response_drop_head(&r->response);
}

static bool is_over(const struct reading *r)
{
    return r->response.state == H1_RESPONSE_DONE || r->response.state == H1_RESPONSE_FAILED;
}

/* As the client does it: the head first, then the rest of the piece. */
static void feed(void *arg, str piece)
{
    struct reading *r = arg;
    char *p = exact_copy(piece);
    size_t used = 0;

    while (!is_over(r)) {
        enum h1_response_state before = r->response.state;
        str body;
        ssize_t n = h1_response_feed(&r->response, p + used, piece.len - used, &body);

        buf_append(&r->body, body);
        r->n_views += body.len > 0;
        if (n == -1)
            break;
        used += (size_t)n;
        if (r->response.state == before)
            break;
        if (before == H1_RESPONSE_HEAD)
            write_head(r);
    }
    r->left += piece.len - used;
    free(p);
}

/* buf_fini() what it returns. */
static struct buf read_all(const struct response_case *c, struct cutting cutting)
{
    static const char *const ends[] = {" head...", " body...", " done", " fault "};
    struct reading r = {.n_views = 0};

    h1_response_init(&r.response, MAX_HEAD_BYTES, c->to_head);
    feed_pieces(c->stream, cutting, feed, &r);
    buf_c(&r.text, "[");
    buf_append(&r.text, buf_str(&r.body));
    buf_c(&r.text, "]");
    buf_c(&r.text, ends[r.response.state]);
    if (r.response.state == H1_RESPONSE_FAILED)
        buf_uint(&r.text, r.response.fault);
    else if (!is_over(&r) && h1_response_end(&r.response))
        buf_c(&r.text, " closed");
    else if (r.left > 0)
        buf_uint(&r.text, r.left);
    buf_fini(&r.body);
    h1_response_fini(&r.response);
    return r.text;
}

static void check(const struct response_case *c, struct cutting cutting)
{
    struct buf text = read_all(c, cutting);

    assert_string_equal(buf_cstr(&text), c->transcript);
    buf_fini(&text);
}

static void check_all(const struct response_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        check(&cases[i], UNCUT);
        check(&cases[i], BYTE_BY_BYTE);
        for (size_t at = 1; at < cases[i].stream.len; at++)
            check(&cases[i], CUT_AT(at));
    }
}

#define CHECK_ALL(cases) check_all(cases, COUNT_OF(cases))

static void responses_are_read_whatever_the_pieces(void **state)
{
    static const struct response_case cases[] = {
        CASE("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
             "200 keep|content-length=5[hello] done"),
        CASE("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200 keep|content-length=0[] done"),
        CASE("HTTP/1.1 404\r\nContent-Length: 1\r\n\r\nx", "404 keep|content-length=1[x] done"),
        CASE("HTTP/1.1 200 OK\r\nX-One:  a b \t\r\nEMPTY:\r\nContent-Length: 1\r\n\r\nx",
             "200 keep|x-one=a b|empty=|content-length=1[x] done"),
        CASE("HTTP/1.1 503 No\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
             "503 close|connection=close|content-length=1[x] done"),
        CASE("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", "200 close|content-length=1[x] done"),
        CASE("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx",
             "200 keep|connection=keep-alive|content-length=1[x] done"),
    };

    (void)state;
    CHECK_ALL(cases);
}

static void chunks_come_without_their_framing(void **state)
{
    static const struct response_case cases[] = {
        CASE(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n"
            "1\r\nz\r\n0\r\n\r\n",
            "200 keep|transfer-encoding=chunked[abc0123456789z] done"),
        CASE("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\nTrailer: x\r\n\r\n",
             "200 keep|transfer-encoding=Chunked[] done"),
        CASE("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
             "1\r\nx\r\n0\r\n\r\n",
             "200 close|connection=keep-alive|transfer-encoding=chunked[x] done"),
        CASE("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
             "200 keep|transfer-encoding=chunked[half] body..."),
    };

    (void)state;
    CHECK_ALL(cases);
}

static void some_bodies_end_with_the_stream(void **state)
{
    static const struct response_case cases[] = {
        CASE("HTTP/1.1 200 OK\r\n\r\nall of it", "200 close[all of it] body... closed"),
        CASE("HTTP/1.0 200 OK\r\nX: y\r\n\r\n", "200 close|x=y[] body... closed"),
        CASE("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
             "200 keep|content-length=5[hell] body..."),
        CASE("HTTP/1.1 200 OK\r\nX: y\r\n", "[] head..."),
        CASE("HTTP/1.1 200 OK\r\nX: y\r\n\r", "[] head..."),
    };

    (void)state;
    CHECK_ALL(cases);
}

static void some_answers_have_no_body_whatever_they_say(void **state)
{
    static const struct response_case cases[] = {
        CASE("HTTP/1.1 204 No Content\r\n\r\n", "204 keep[] done"),
        CASE("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
             "304 keep|content-length=5[] done"),
        {STR_INIT("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
         "200 keep|content-length=5[] done", true},
        {STR_INIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
         "200 keep|transfer-encoding=chunked[] done", true},
        {STR_INIT("HTTP/1.1 200 OK\r\n\r\n"), "200 keep[] done", true},
    };

    (void)state;
    CHECK_ALL(cases);
}

static void informational_answers_are_swallowed(void **state)
{
    static const struct response_case cases[] = {
        CASE("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
             "200 keep|content-length=1[x] done"),
        CASE("HTTP/1.1 103 Hints\r\nLink: a\r\nConnection: close\r\n\r\n"
             "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
             "200 keep|content-length=1[x] done"),
        CASE("HTTP/1.1 100 Continue\r\n\r\n", "[] head..."),
        /* All heads together are limited. */
        CASE(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n",
            "[] fault 2"),
    };

    (void)state;
    CHECK_ALL(cases);
}

static void what_follows_an_answer_is_left(void **state)
{
    static const struct response_case cases[] = {
        CASE("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP",
             "200 keep|content-length=1[x] done4"),
        CASE("HTTP/1.1 204 No Content\r\n\r\nx", "204 keep[] done1"),
        CASE("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n\r\n",
             "200 keep|transfer-encoding=chunked[x] done2"),
    };

    (void)state;
    CHECK_ALL(cases);
}

static void what_is_no_answer_is_refused(void **state)
{
    static const struct response_case cases[] = {
        CASE("SSH-2.0-OpenSSH\r\n", "[] fault 1"),
        CASE("GET / HTTP/1.1\r\n\r\n", "[] fault 1"),
        CASE("HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n", "[] fault 1"),
        CASE("HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "[] fault 1"),
        CASE("HTTP/1.1 200 OK\r\n: nameless\r\n\r\n", "[] fault 1"),
        CASE("HTTP/1.1 200 OK\r\nName : x\r\n\r\n", "[] fault 1"),
        CASE("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "[] fault 1"),
        CASE("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "[] fault 1"),
        CASE("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n",
             "[] fault 1"),
        CASE("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "[] fault 3"),
        CASE("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "[] fault 3"),
        CASE("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\t\r\n\r\n1\r\nx\r\n0\r\n\r\n",
             "[] fault 3"),
        CASE("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nno\r\n",
             "200 keep|transfer-encoding=chunked[hi] fault 4"),
        CASE("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhis\r\n",
             "200 keep|transfer-encoding=chunked[hi] fault 4"),
        CASE("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\n",
             "200 keep|transfer-encoding=chunked[] fault 4"),
    };

    (void)state;
    CHECK_ALL(cases);
}

#define CHUNKED    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
#define IS_CHUNKED "200 keep|transfer-encoding=chunked"
#define TEN        "0123456789"
#define HUNDRED    TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static void what_frames_a_body_is_limited(void **state)
{
    static const struct response_case cases[] = {
        /* extensions, before a body and in it; each byte of the body allows more */
        CASE(CHUNKED "1;" HUNDRED "\r\nx\r\n0\r\n\r\n", IS_CHUNKED "[x] done"),
        CASE(CHUNKED "1;" HUNDRED TEN "123456\r\nx\r\n", IS_CHUNKED "[x] body..."),
        CASE(CHUNKED "1;" HUNDRED TEN "1234567\r\nx\r\n", IS_CHUNKED "[] fault 5"),
        CASE(CHUNKED "1;" HUNDRED HUNDRED, IS_CHUNKED "[] fault 5"),
        CASE(CHUNKED "1;" HUNDRED "\r\nx\r\n1;" TEN TEN "\r\ny\r\n0\r\n\r\n",
             IS_CHUNKED "[xy] done"),
        CASE(CHUNKED "1;" HUNDRED "\r\nx\r\n1;" HUNDRED "\r\ny\r\n", IS_CHUNKED "[x] fault 5"),
        CASE(CHUNKED "4;" HUNDRED "\r\nfour\r\n4;" HUNDRED "\r\nmore\r\n0\r\n\r\n",
             IS_CHUNKED "[fourmore] done"),
        /* trailers */
        CASE(CHUNKED "0\r\nX: " HUNDRED "\r\n\r\n", IS_CHUNKED "[] done"),
        CASE(CHUNKED "0\r\nX: " HUNDRED "\r\nY: " TEN "\r\n\r\n", IS_CHUNKED "[] fault 5"),
        CASE(CHUNKED "0\r\nX: " HUNDRED HUNDRED, IS_CHUNKED "[] fault 5"),
        /* no other fault hides it */
        CASE(CHUNKED "1;" HUNDRED HUNDRED "\r\nxyz", IS_CHUNKED "[] fault 5"),
    };

    (void)state;
    CHECK_ALL(cases);
}

static void small_chunks_need_no_more_than_they_may(void **state)
{
    enum { CHUNKS = 300 };
    struct buf stream = {.limit = 0}, transcript = {.limit = 0};
    struct response_case c = {.to_head = false};

    (void)state;
    buf_c(&stream, CHUNKED);
    buf_c(&transcript, IS_CHUNKED "[");
    for (size_t i = 0; i < CHUNKS; i++) {
        buf_c(&stream, "0000000000000001\r\nx\r\n");
        buf_char(&transcript, 'x');
    }
    buf_c(&stream, "0\r\n\r\n");
    buf_c(&transcript, "] done");
    c = (struct response_case){buf_str(&stream), buf_cstr(&transcript), false};
    check(&c, UNCUT);
    check(&c, BYTE_BY_BYTE);
    buf_fini(&stream);
    buf_fini(&transcript);
}

/* The head below is as long as n says, and its body is one byte. */
static void read_head_of(size_t n, const char *transcript)
{
    struct buf stream = {.limit = 0};
    struct response_case c = {.transcript = transcript};

    buf_c(&stream, "HTTP/1.1 204 No\r\nX:");
    while (stream.len < n - 4)
        buf_char(&stream, ' '); /* which llhttp does not report */
    buf_c(&stream, "\r\n\r\n");
    c.stream = buf_str(&stream);
    check_all(&c, 1);
    buf_fini(&stream);
}

static void the_limit_of_a_head_is_exact(void **state)
{
    (void)state;
    read_head_of(MAX_HEAD_BYTES, "204 keep|x=[] done");
    read_head_of(MAX_HEAD_BYTES + 1, "[] fault 2");
}

static void a_body_in_one_piece_is_one_view(void **state)
{
    static const char stream[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                 "3\r\nabc\r\n3\r\ndef\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n";
    struct reading r = {.n_views = 0};

    (void)state;
    h1_response_init(&r.response, MAX_HEAD_BYTES, false);
    feed(&r, str_from_c(stream));
    assert_int_equal(r.n_views, 1);
    assert_str_c(buf_str(&r.body), "abcdef0123456789abcdef");
    buf_fini(&r.text);
    buf_fini(&r.body);
    h1_response_fini(&r.response);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(responses_are_read_whatever_the_pieces),
        cmocka_unit_test(chunks_come_without_their_framing),
        cmocka_unit_test(some_bodies_end_with_the_stream),
        cmocka_unit_test(some_answers_have_no_body_whatever_they_say),
        cmocka_unit_test(informational_answers_are_swallowed),
        cmocka_unit_test(what_follows_an_answer_is_left),
        cmocka_unit_test(what_is_no_answer_is_refused),
        cmocka_unit_test(what_frames_a_body_is_limited),
        cmocka_unit_test(small_chunks_need_no_more_than_they_may),
        cmocka_unit_test(the_limit_of_a_head_is_exact),
        cmocka_unit_test(a_body_in_one_piece_is_one_view),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
