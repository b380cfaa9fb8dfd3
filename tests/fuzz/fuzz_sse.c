/* fuzz_sse.c -- any bytes: events are the same however the network cuts them. */
#include "fuzz/fuzz.h"

#include "lib/fixture.h"
#include "sse/sse_parse.h"

enum { MAX_BYTES = 256 };

struct transcript {
    struct sse_parser parser;
    struct buf text;
    bool failed;
};

static void on_event(void *arg, str data, str event)
{
    struct transcript *t = arg;

    buf_append(&t->text, event);
    buf_char(&t->text, '=');
    buf_append(&t->text, data);
    buf_char(&t->text, '\n');
}

static void on_other_field(void *arg, str name, str value)
{
    on_event(arg, value, name);
}

static void on_id(void *arg, str id)
{
    on_event(arg, id, STR("id"));
}

static void on_retry(void *arg, str value)
{
    on_event(arg, value, STR("retry"));
}

static const struct sse_handler handler = {
    .on_event = on_event, .on_other_field = on_other_field, .on_id = on_id, .on_retry = on_retry};

static void feed(void *arg, str piece)
{
    struct transcript *t = arg;

    t->failed = t->failed || sse_parser_feed(&t->parser, piece, &handler, t, NULL) == -1;
}

static struct buf read_all(str bytes, struct cutting cutting)
{
    struct transcript t = {.failed = false};

    sse_parser_init(&t.parser, MAX_BYTES);
    feed_pieces(bytes, cutting, feed, &t);
    t.failed = t.failed || sse_parser_end(&t.parser, &handler, &t, NULL) == -1;
    if (t.failed)
        buf_reset(&t.text); /* how far it came depends on the cutting */
    sse_parser_fini(&t.parser);
    return t.text;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str text = fuzz_input(bytes, n);
    struct buf whole = read_all(text, UNCUT);
    struct buf cut = read_all(text, BYTE_BY_BYTE);

    fuzz_promise(str_eq(buf_str(&whole), buf_str(&cut)), "any cutting gives the same events");
    buf_fini(&whole);
    buf_fini(&cut);
    return 0;
}
