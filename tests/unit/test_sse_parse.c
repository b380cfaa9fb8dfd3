/* test_sse_parse.c -- Server-Sent Events out of bytes, whole, cut at every place
 * and byte by byte.
 *
 * A case is a stream and its transcript: `line` for a data line that is handed
 * over at once, `event` for data at a blank line, `field` for another field. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "sse/sse_parse.h"

static const struct {
    const char *name;
    str stream;
    const char *transcript;
} cases[] = {
    {"three_line_ends_mean_the_same", STR_INIT("data: a\n\ndata: b\r\rdata: c\r\n\r\n"),
     "event a|event b|event c|"},
    {"one_space_after_the_colon_is_no_data", STR_INIT("data:a\n\ndata:  b\n\n"),
     "event a|event  b|"},
    {"data_lines_are_joined_with_lf", STR_INIT("data: a\ndata\ndata: b\n\n"), "event a//b|"},
    {"an_event_line_names_the_next_event_only",
     STR_INIT("event: x\ndata: a\n\ndata: b\n\nevent: y\n\ndata: c\n\n"),
     "event a (x)|event b|event c|"},
    {"comments_id_and_retry_are_ignored",
     STR_INIT(": hello\nid: 3\n:\nretry: 10\ndata: a\n: in between\ndata: b\n\n"), "event a/b|"},
    {"other_fields_are_reported", STR_INIT("error: {}\nfoo\n"), "field error={}|field foo=|"},
    {"a_byte_order_mark_is_dropped_once",
     STR_INIT("\xEF\xBB\xBF"
              "data: a\n\n\xEF\xBB\xBF"
              "data: b\n\n"),
     "event a|field \xEF\xBB\xBF"
     "data=b|"},
    {"the_end_ends_the_last_line_and_event", STR_INIT("data: a\ndata: b"), "event a/b|"},
    {"an_event_without_data_is_none", STR_INIT("event: x\n\n\n\n"), ""},
    {"a_line_that_is_taken_at_once_is_no_event", STR_INIT("data: !a\ndata: !b\n\n"),
     "line !a|line !b|"},
    {"after_a_kept_line_no_other_is_offered", STR_INIT("data: a\ndata: !b\n\ndata: !c\n"),
     "event a/!b|line !c|"},
    {"an_event_line_is_known_to_data_lines", STR_INIT("event: x\ndata: !a\n"), "line !a (x)|"},
    {"stop_ends_it", STR_INIT("data: !STOP\ndata: a\n\n"), "line !STOP|"},
    {"nothing", STR_INIT(""), ""},
};

struct transcript {
    struct sse_parser parser;
    struct buf out;
};

static void write_data(struct transcript *t, const char *what, str data, str event)
{
    buf_c(&t->out, what);
    for (size_t i = 0; i < data.len; i++)
        buf_char(&t->out, data.p[i] == '\n' ? '/' : data.p[i]);
    if (event.len > 0) {
        buf_c(&t->out, " (");
        buf_append(&t->out, event);
        buf_char(&t->out, ')');
    }
    buf_char(&t->out, '|');
}

/* Data that starts with "!" is dealt with line by line. */
static bool on_data_line(void *arg, str data, str event)
{
    struct transcript *t = arg;

    if (!str_starts_with(data, STR("!")))
        return false;
    write_data(t, "line ", data, event);
    if (str_eq(data, STR("!STOP")))
        sse_parser_stop(&t->parser);
    return true;
}

static void on_event(void *arg, str data, str event)
{
    write_data(arg, "event ", data, event);
}

static void on_other_field(void *arg, str name, str value)
{
    struct transcript *t = arg;

    buf_c(&t->out, "field ");
    buf_append(&t->out, name);
    buf_char(&t->out, '=');
    buf_append(&t->out, value);
    buf_char(&t->out, '|');
}

static const struct sse_handler handler = {
    .on_data_line = on_data_line, .on_event = on_event, .on_other_field = on_other_field};

static void feed(void *arg, str piece)
{
    struct transcript *t = arg;
    struct err e;

    assert_int_equal(sse_parser_feed(&t->parser, piece, &handler, t, &e), 0);
}

static void check_case(size_t i, struct cutting cutting)
{
    struct transcript t = {.out = {.limit = 0}};
    struct err e;

    sse_parser_init(&t.parser, 1000);
    feed_pieces(cases[i].stream, cutting, feed, &t);
    assert_int_equal(sse_parser_end(&t.parser, &handler, &t, &e), 0);
    if (!str_eq(buf_str(&t.out), str_from_c(cases[i].transcript)))
        fail_msg("%s, first piece of %zu bytes: %s", cases[i].name, cutting.first,
                 buf_cstr(&t.out));
    sse_parser_fini(&t.parser);
    buf_fini(&t.out);
}

static void events_are_the_same_however_they_arrive(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check_case(i, UNCUT);
        check_case(i, BYTE_BY_BYTE);
        for (size_t at = 1; at < cases[i].stream.len; at++)
            check_case(i, CUT_AT(at));
    }
}

/* An event must not wait for the byte that would tell CR from CRLF. */
static void a_cr_at_the_end_of_a_read_ends_the_line_at_once(void **state)
{
    struct transcript t = {.out = {.limit = 0}};

    (void)state;
    sse_parser_init(&t.parser, 0);
    feed(&t, STR("data: a\r\n\r"));
    assert_str_c(buf_str(&t.out), "event a|");
    feed(&t, STR("\ndata: b\r\r"));
    assert_str_c(buf_str(&t.out), "event a|event b|");
    sse_parser_fini(&t.parser);
    buf_fini(&t.out);
}

/* Too long a line, or too many lines: -1 then and ever after, and nothing is told of what
 * comes behind it in the same read. */
static void a_parser_past_its_limit_is_spent(void **state)
{
    static const char *const streams[] = {
        "data: 0123456789012345678901234567890123456789",
        "data: 01234567\ndata: 01234567\ndata: 01234567\ndata: 01234567\n",
        "data: 0123456789012345678901234567890123456789\n\ndata: a\n\n",
        "data: 01234567\ndata: 01234567\ndata: 01234567\ndata: 01234567\n\ndata: a\n\n",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        struct transcript t = {.out = {.limit = 0}};
        struct err e;

        sse_parser_init(&t.parser, 32);
        assert_int_equal(sse_parser_feed(&t.parser, str_from_c(streams[i]), &handler, &t, &e), -1);
        assert_int_equal(e.code, ERR_UPSTREAM_ERROR);
        assert_int_equal(sse_parser_feed(&t.parser, STR("\n\ndata: a\n\n"), &handler, &t, &e), -1);
        assert_int_equal(sse_parser_end(&t.parser, &handler, &t, &e), -1);
        assert_int_equal(t.out.len, 0);
        sse_parser_fini(&t.parser);
    }
}

static void handlers_may_be_missing(void **state)
{
    const struct sse_handler none = {.on_event = NULL};
    struct sse_parser p;
    struct err e;

    (void)state;
    sse_parser_init(&p, 0);
    assert_int_equal(sse_parser_feed(&p, STR("data: a\nx: y\n\n"), &none, NULL, &e), 0);
    assert_int_equal(sse_parser_end(&p, &none, NULL, &e), 0);
    sse_parser_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_the_same_however_they_arrive),
        cmocka_unit_test(a_cr_at_the_end_of_a_read_ends_the_line_at_once),
        cmocka_unit_test(a_parser_past_its_limit_is_spent),
        cmocka_unit_test(handlers_may_be_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
