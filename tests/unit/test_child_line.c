/* test_child_line.c -- lines of a child: ends, limits, any cutting. */
#include "child/child_line.h"
#include "lib/fixture.h"
#include "lib/test.h"

struct reading {
    struct child_line lines;
    struct buf out; /* each line with a | behind it */
    bool failed;
};

static void on_line(void *arg, str line)
{
    struct reading *r = arg;

    buf_append(&r->out, line);
    buf_char(&r->out, '|');
}

static void feed(void *arg, str piece)
{
    struct reading *r = arg;

    r->failed = child_line_feed(&r->lines, piece, on_line, r) == -1;
}

/* Reads text in these pieces, and its end; a failure adds a !. */
static void check_cut(const char *text, size_t limit_bytes, bool cuts, const char *expected,
                      struct cutting cutting)
{
    struct reading r = {.failed = false};

    child_line_init(&r.lines, limit_bytes, cuts);
    feed_pieces(str_from_c(text), cutting, feed, &r);
    if (child_line_end(&r.lines, on_line, &r) == -1)
        buf_char(&r.out, '!');
    assert_str_c(buf_str(&r.out), expected);
    buf_fini(&r.out);
    child_line_fini(&r.lines);
}

static void check(const char *text, size_t limit_bytes, bool cuts, const char *expected)
{
    check_cut(text, limit_bytes, cuts, expected, UNCUT);
    check_cut(text, limit_bytes, cuts, expected, BYTE_BY_BYTE);
    for (size_t n = 1; n < strlen(text); n++)
        check_cut(text, limit_bytes, cuts, expected, CUT_AT(n));
}

static void lf_and_crlf_end_lines_and_a_lone_cr_does_not(void **state)
{
    (void)state;
    check("one\ntwo\r\nthr\ree\nfour\r\r\n", 100, false, "one|two|thr\ree|four\r|");
}

static void blank_lines_are_left_out(void **state)
{
    (void)state;
    check("\n\r\n{}\n\n \t \n\r\n[]\n\n", 100, false, "{}|[]|");
}

static void a_last_line_needs_no_end(void **state)
{
    (void)state;
    check("one\ntwo", 100, false, "one|two|");
    check("one\ntwo\r", 100, false, "one|two|");
    check("", 100, false, "");
}

static void a_line_of_the_limit_passes_and_one_byte_more_is_the_end(void **state)
{
    (void)state;
    check("1234\r\n1234\nab\n", 4, false, "1234|1234|ab|");
    check("ab\n12345\nab\n", 4, false, "ab|!");
    check("ab\n12345", 4, false, "ab|!");
    check("ab\n1234567890", 4, false, "ab|!");
    check("ab\n          \nab\n", 4, false, "ab|!");
}

static void a_cutter_that_cuts_loses_the_rest_of_long_lines_only(void **state)
{
    (void)state;
    check("1234567890\nab\n1234\r\n12345\r\nab", 4, true, "1234|ab|1234|1234|ab|");
    check("1234567890", 4, true, "1234|");
}

static void a_limit_lowered_below_what_is_kept_is_an_error_at_the_next_byte(void **state)
{
    struct reading r = {.failed = false};

    (void)state;
    child_line_init(&r.lines, 100, false);
    feed(&r, STR("0123456789"));
    child_line_set_limit(&r.lines, 4);
    assert_false(r.failed);
    feed(&r, STR("x"));
    assert_true(r.failed);
    buf_fini(&r.out);
    child_line_fini(&r.lines);
}

static void a_failure_is_for_good(void **state)
{
    struct reading r = {.failed = false};

    (void)state;
    child_line_init(&r.lines, 4, false);
    assert_int_equal(child_line_feed(&r.lines, STR("12345\n"), on_line, &r), -1);
    assert_int_equal(child_line_feed(&r.lines, STR("ab\n"), on_line, &r), -1);
    assert_int_equal(child_line_end(&r.lines, on_line, &r), -1);
    assert_int_equal(r.out.len, 0);
    child_line_fini(&r.lines);
}

static void memory_of_a_large_line_is_given_back(void **state)
{
    struct reading r = {.failed = false};
    static char large[1024 * 1024];

    (void)state;
    memset(large, 'x', sizeof(large));
    child_line_init(&r.lines, sizeof(large), false);
    feed_pieces(str_from(large, sizeof(large)), (struct cutting){1000, 1000}, feed, &r);
    feed(&r, STR("\nab\n"));
    assert_false(r.failed);
    assert_int_equal(r.out.len, sizeof(large) + strlen("|ab|"));
    assert_int_equal(r.lines.held.cap, 0);
    buf_fini(&r.out);
    child_line_fini(&r.lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lf_and_crlf_end_lines_and_a_lone_cr_does_not),
        cmocka_unit_test(blank_lines_are_left_out),
        cmocka_unit_test(a_last_line_needs_no_end),
        cmocka_unit_test(a_line_of_the_limit_passes_and_one_byte_more_is_the_end),
        cmocka_unit_test(a_cutter_that_cuts_loses_the_rest_of_long_lines_only),
        cmocka_unit_test(a_limit_lowered_below_what_is_kept_is_an_error_at_the_next_byte),
        cmocka_unit_test(a_failure_is_for_good),
        cmocka_unit_test(memory_of_a_large_line_is_given_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
