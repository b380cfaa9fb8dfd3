/* fuzz_h1.c -- any bytes on a connection: requests are the same however the
 * network cuts them. */
#include "fuzz/fuzz.h"

#include "lib/fixture.h"
#include "net/h1.h"

enum { MAX_HEADERS = 8 };

static const struct h1_limits limits = {
    .max_head_bytes = 512, .max_headers = MAX_HEADERS, .max_body_bytes = 256};

struct reading {
    struct h1 h1;
    struct buf text;
    bool over;
};

static void write_request(struct reading *r)
{
    struct http_header headers[MAX_HEADERS];

    h1_headers(&r->h1, headers);
    buf_append(&r->text, h1_method(&r->h1));
    buf_char(&r->text, ' ');
    buf_append(&r->text, h1_path(&r->h1));
    for (size_t i = 0; i < r->h1.n_headers; i++) {
        buf_append(&r->text, headers[i].name);
        buf_char(&r->text, ':');
        buf_append(&r->text, headers[i].value);
    }
    buf_append(&r->text, h1_body(&r->h1));
    buf_char(&r->text, '\n');
}

static void feed(void *arg, str piece)
{
    struct reading *r = arg;
    struct err e;

    while (piece.len > 0 && !r->over) {
        ssize_t used = h1_feed(&r->h1, piece, &e);

        if (used == -1) {
            buf_c(&r->text, err_wire_code(&e));
            r->over = true;
            return;
        }
        piece = str_skip(piece, (size_t)used);
        if (r->h1.state != H1_DONE)
            continue;
        write_request(r);
        h1_next(&r->h1);
    }
}

static struct buf read_all(str bytes, struct cutting cutting)
{
    struct reading r = {.over = false};

    h1_init(&r.h1, &limits);
    feed_pieces(bytes, cutting, feed, &r);
    h1_fini(&r.h1);
    return r.text;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str text = fuzz_input(bytes, n);
    struct buf whole = read_all(text, UNCUT);
    struct buf cut = read_all(text, BYTE_BY_BYTE);

    fuzz_promise(str_eq(buf_str(&whole), buf_str(&cut)), "any cutting gives the same requests");
    buf_fini(&whole);
    buf_fini(&cut);
    return 0;
}
