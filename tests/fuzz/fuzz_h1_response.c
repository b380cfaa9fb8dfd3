/* fuzz_h1_response.c -- any bytes from an upstream: the response is the same
 * however the network cuts them.
 *
 * The first byte chooses a beginning, so that a fuzzer need not find out how a
 * response begins, and whether it answers a HEAD. */
#include "fuzz/fuzz.h"

#include "lib/fixture.h"
#include "net/h1_response.h"

enum { MAX_HEAD_BYTES = 512, MAX_HEADERS = MAX_HEAD_BYTES / 3 };

struct reading {
    struct h1_response response;
    struct buf text, body;
};

static void write_head(struct reading *r)
{
    struct http_header headers[MAX_HEADERS];

    h1_response_headers(&r->response, headers);
    buf_int(&r->text, r->response.status);
    buf_char(&r->text, r->response.keep_alive ? '+' : '-');
    for (size_t i = 0; i < r->response.n_headers; i++) {
        buf_append(&r->text, headers[i].name);
        buf_char(&r->text, ':');
        buf_append(&r->text, headers[i].value);
        buf_char(&r->text, '\n');
    }
    h1_response_drop_head(&r->response);
}

static void feed(void *arg, str piece)
{
    struct reading *r = arg;
    char *copy = exact_copy(piece);
    char *p = copy;
    size_t left = piece.len;
    enum h1_response_state before = H1_RESPONSE_DONE;

    while (r->response.state < H1_RESPONSE_DONE && r->response.state != before) {
        str body;
        ssize_t used;

        before = r->response.state;
        used = h1_response_feed(&r->response, p, left, &body);
        fuzz_promise(body.len == 0 || (body.p >= p && body.p + body.len <= p + left),
                     "the body is in the piece");
        buf_append(&r->body, body);
        if (used == -1)
            break;
        fuzz_promise((size_t)used <= left, "no more is used than there is");
        p += used;
        left -= (size_t)used;
        if (before == H1_RESPONSE_HEAD && r->response.state == H1_RESPONSE_BODY)
            write_head(r);
    }
    free(copy);
}

static struct buf read_all(str bytes, bool to_head, struct cutting cutting)
{
    struct reading r = {.text = {.limit = 0}};

    h1_response_init(&r.response, MAX_HEAD_BYTES, to_head);
    feed_pieces(bytes, cutting, feed, &r);
    if (r.response.state == H1_RESPONSE_BODY)
        (void)h1_response_end(&r.response);
    buf_append(&r.text, buf_str(&r.body));
    buf_int(&r.text, (int)r.response.state);
    buf_int(&r.text, (int)r.response.fault);
    buf_fini(&r.body);
    h1_response_fini(&r.response);
    return r.text;
}

static const char *const beginnings[] = {
    "",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.0 200 OK\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    enum { N_BEGINNINGS = sizeof(beginnings) / sizeof(*beginnings) };
    unsigned choice = n == 0 ? 0 : bytes[0];
    bool to_head = choice / N_BEGINNINGS % 4 == 3;
    struct buf text = {.limit = 0}, whole, cut;

    buf_c(&text, beginnings[choice % N_BEGINNINGS]);
    buf_append(&text, str_skip(fuzz_input(bytes, n), 1));
    whole = read_all(buf_str(&text), to_head, UNCUT);
    cut = read_all(buf_str(&text), to_head, BYTE_BY_BYTE);
    fuzz_promise(str_eq(buf_str(&whole), buf_str(&cut)), "any cutting gives the same response");
    buf_fini(&text);
    buf_fini(&whole);
    buf_fini(&cut);
    return 0;
}
