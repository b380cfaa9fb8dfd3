/* test_custom_input.c -- the input of a custom call out of its arguments, in any
 * cutting. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "response/custom_input.h"
#include "json/json_read.h"

static const struct {
    const char *arguments; /* plain */
    const char *input;     /* escaped */
    bool unpacked;
} cases[] = {
    {"{\"input\":\"ls -l\"}", "ls -l", true},
    {" {\n\t\"input\" : \"ls\" } ", "ls", true},
    {"{\"input\":\"\"}", "", true},
    {"{\"input\":\"a\\nb \\\"c\\\" \\\\d \\u00e9\"}", "a\\nb \\\"c\\\" \\\\d \\u00e9", true},
    {"{\"input\":\"\\ud83d\\ude00 \xF0\x9F\x98\x80\"}", "\\ud83d\\ude00 \xF0\x9F\x98\x80", true},
    {"{\"input\":\"\\ud83d\"}", "\\ufffd", true},
    {"{\"input\":\"a\nb\tc\"}", "a\\nb\\tc", true}, /* raw control characters: no JSON */
    {"{\"input\":\"a\\qb\"}", "a\\\\qb", true},     /* an escape that is none */
    {"{\"input\":\"\xE2\x80\xA8\"}", "\\u2028", true},
    {"{\"input\":\"cut sho", "cut sho", true},
    {"{\"input\":\"a\"} and more", "a", true},
    {"{\"inp", "", false},
    {"{\"text\":\"a\"}", "", false},
    {"{\"input\":5}", "", false},
    {"ls -l", "", false},
    {"", "", false},
};

struct run {
    struct custom_input input;
    struct buf out;
};

static void feed(void *arg, str piece)
{
    struct run *run = arg;

    custom_input_feed(&run->input, piece, &run->out);
}

static void check_case(size_t i, struct cutting cutting)
{
    struct run run = {.out = {.limit = 0}};
    struct buf quoted = {.limit = 0};

    feed_pieces(str_from_c(cases[i].arguments), cutting, feed, &run);
    if (!str_eq(buf_str(&run.out), str_from_c(cases[i].input)))
        fail_msg("%s, first piece of %zu: %s", cases[i].arguments, cutting.first,
                 buf_cstr(&run.out));
    assert_int_equal(custom_input_is_unpacked(&run.input), cases[i].unpacked);
    buf_char(&quoted, '"');
    buf_append(&quoted, buf_str(&run.out));
    buf_char(&quoted, '"');
    assert_true(jr_is_valid(buf_str(&quoted)));
    custom_input_fini(&run.input);
    buf_fini(&run.out);
    buf_fini(&quoted);
}

/* Pieces end between characters: that is what deltas promise. */
static bool is_inside_character(const char *text, size_t at)
{
    return ((unsigned char)text[at] & 0xC0) == 0x80;
}

static void input_is_unpacked_in_any_cutting(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(input_is_unpacked_in_any_cutting)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
