/* test_argument_text.c -- one text out of the arguments of a call, in any cutting. */
#include "lib/test.h"

#include "json/json_read.h"
#include "lib/fixture.h"
#include "response/argument_text.h"

static const struct {
    const char *arguments; /* plain */
    const char *text;      /* escaped */
    enum { HEAD, BEGUN, OTHER } form;
} cases[] = {
    {"{\"input\":\"ls -l\"}", "ls -l", BEGUN},
    {" {\n\t\"input\" : \"ls\" } ", "ls", BEGUN},
    {"{\"input\":\"\"}", "", BEGUN},
    {"{\"input\":\"a\\nb \\\"c\\\" \\\\d \\u00e9\"}", "a\\nb \\\"c\\\" \\\\d \\u00e9", BEGUN},
    {"{\"input\":\"\\ud83d\\ude00 \xF0\x9F\x98\x80\"}", "\\ud83d\\ude00 \xF0\x9F\x98\x80", BEGUN},
    {"{\"input\":\"\\ud83d\"}", "\\ufffd", BEGUN},
    {"{\"input\":\"a\nb\tc\"}", "a\\nb\\tc", BEGUN}, /* raw control characters: no JSON */
    {"{\"input\":\"a\\qb\"}", "a\\\\qb", BEGUN},     /* an escape that is none */
    {"{\"input\":\"\xE2\x80\xA8\"}", "\\u2028", BEGUN},
    {"{\"input\":\"cut sho", "cut sho", BEGUN},
    {"{\"input\":\"a\"} and more", "a", BEGUN},
    /* other members */
    {"{\"why\":\"to \\\"see\\\", \\\\\",\"input\":\"ls\"}", "ls", BEGUN},
    {"{\"a\":{\"input\":\"b\",\"c\":[{}, \"}\"]} , \"input\":\"ls\"}", "ls", BEGUN},
    {"{\"n\":-1.5e3,\"t\":true,\"\":null,\"input\":\"ls\"}", "ls", BEGUN},
    {"{\"inputs\":\"a\",\"inpu\":\"b\",\"Input\":\"c\",\"input\":\"ls\"}", "ls", BEGUN},
    {"{\"inpu\\u0074\":\"a\",\"\\\"\":1,\"input\":\"ls\"}", "ls", BEGUN},
    {"{\"input\":\"first\",\"input\":\"second\"}", "first", BEGUN},
    {" { } ", "", BEGUN},
    /* it may still come */
    {"", "", HEAD},
    {"{\"inp", "", HEAD},
    {"{\"a\":[\"b", "", HEAD},
    {"{\"input\": ", "", HEAD},
    {"{\"a\":1,", "", HEAD},
    /* it will not */
    {"{\"text\":\"a\"}", "", OTHER},
    {"{\"text\":[\"input\"]}", "", OTHER},
    {"{\"input\":5}", "", OTHER},
    {"{\"input\":[\"ls\"]}", "", OTHER},
    {"{\"a\":1]", "", OTHER},
    {"{\"a\" 1", "", OTHER},
    {"{input:\"ls\"}", "", OTHER},
    {"[\"input\"]", "", OTHER},
    {"\"input\"", "", OTHER},
    {"ls -l", "", OTHER},
};

struct run {
    struct argument_text text;
    struct buf out;
};

static void feed(void *arg, str piece)
{
    struct run *run = arg;

    argument_text_feed(&run->text, piece, &run->out);
}

static void check_case(size_t i, struct cutting cutting)
{
    struct run run = {.text = {.member = "input"}};
    struct buf quoted = {.limit = 0};

    feed_pieces(str_from_c(cases[i].arguments), cutting, feed, &run);
    if (!str_eq(buf_str(&run.out), str_from_c(cases[i].text)))
        fail_msg("%s, first piece of %zu: %s", cases[i].arguments, cutting.first,
                 buf_cstr(&run.out));
    assert_int_equal(argument_text_has_begun(&run.text), cases[i].form == BEGUN);
    assert_int_equal(argument_text_is_other(&run.text), cases[i].form == OTHER);
    buf_char(&quoted, '"');
    buf_append(&quoted, buf_str(&run.out));
    buf_char(&quoted, '"');
    assert_true(jr_is_valid(buf_str(&quoted)));
    argument_text_fini(&run.text);
    buf_fini(&run.out);
    buf_fini(&quoted);
}

/* Pieces end between characters: that is what deltas promise. */
static bool is_inside_character(const char *text, size_t at)
{
    return ((unsigned char)text[at] & 0xC0) == 0x80;
}

static void the_text_is_unpacked_in_any_cutting(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check_case(i, UNCUT);
        for (size_t at = 1; at < strlen(cases[i].arguments); at++) {
            if (!is_inside_character(cases[i].arguments, at))
                check_case(i, CUT_AT(at));
        }
    }
}

/* A NUL is no end of the member's name. */
static void a_name_with_more_behind_it_is_another(void **state)
{
    struct run run = {.text = {.member = "code"}};

    (void)state;
    feed(&run, STR("{\"code\0x\":\"a\",\"code\":\"b\"}"));
    assert_str_c(buf_str(&run.out), "b");
    argument_text_fini(&run.text);
    buf_fini(&run.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_text_is_unpacked_in_any_cutting),
                                       cmocka_unit_test(a_name_with_more_behind_it_is_another)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
