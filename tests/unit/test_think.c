/* test_think.c -- <think> tags in text, in any cutting. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "text/think.h"

static const struct {
    const char *plain, *reasoning, *text;
} cases[] = {
    {"Hello", "", "Hello"},
    {"", "", ""},
    {"  Hello ", "", "  Hello "},
    {"<think>why</think>because", "why", "because"},
    {"\n <think>\n why so \n</think>\n\n because \n", "why so", "because \n"},
    {"<think></think>because", "", "because"},
    {"<think>a < b </ c </thin d</think>e", "a < b </ c </thin d", "e"},
    {"<think>a<<</think>b", "a<<", "b"},
    {"<think>a </think>b <think>c</think>", "a", "b <think>c</think>"},
    {"a <think>b</think>", "", "a <think>b</think>"},
    {"<thin", "", "<thin"},
    {"<thinking>a", "", "<thinking>a"},
    {"<think>never closed </thi", "never closed </thi", ""},
    {"<think>only", "only", ""},
    {" \n", "", " \n"},
    {"<think>\xC3\xA9\xE2\x82\xAC</think>\xF0\x9F\x98\x80", "\xC3\xA9\xE2\x82\xAC",
     "\xF0\x9F\x98\x80"},
};

struct split {
    struct think think;
    struct buf reasoning, text;
};

static void feed(void *arg, str piece)
{
    struct split *s = arg;

    think_feed(&s->think, piece, &s->reasoning, &s->text);
}

static void check_case(size_t i, struct cutting cutting)
{
    struct split s = {.reasoning = {.limit = 0}};

    feed_pieces(str_from_c(cases[i].plain), cutting, feed, &s);
    think_end(&s.think, &s.reasoning, &s.text);
    assert_string_equal(buf_cstr(&s.reasoning), cases[i].reasoning);
    assert_string_equal(buf_cstr(&s.text), cases[i].text);
    think_fini(&s.think);
    buf_fini(&s.reasoning);
    buf_fini(&s.text);
}

static void reasoning_and_answer_are_told_apart_in_any_cutting(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check_case(i, UNCUT);
        check_case(i, BYTE_BY_BYTE);
        for (size_t at = 1; at < strlen(cases[i].plain); at++)
            check_case(i, CUT_AT(at));
    }
}

/* A client that reads along does not wait for more than may be a tag. */
static void only_a_possible_tag_is_held_back(void **state)
{
    struct split s = {.reasoning = {.limit = 0}};

    (void)state;
    feed(&s, STR("<think>one </"));
    assert_string_equal(buf_cstr(&s.reasoning), "one");
    feed(&s, STR("two"));
    assert_string_equal(buf_cstr(&s.reasoning), "one </two");
    feed(&s, STR("</think>three"));
    assert_string_equal(buf_cstr(&s.text), "three");
    think_fini(&s.think);
    buf_fini(&s.reasoning);
    buf_fini(&s.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasoning_and_answer_are_told_apart_in_any_cutting),
        cmocka_unit_test(only_a_possible_tag_is_held_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
