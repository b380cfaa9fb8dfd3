/* test_argument_end.c -- arguments that are complete are known to be, wherever they are cut, and
 * nothing else is taken for complete. */
#include "lib/test.h"

#include "json/json_text.h"
#include "response/argument_end.h"

/* Arguments, and how many of their bytes make a complete object: 0: no number of them. */
static const struct {
    const char *arguments;
    size_t whole;
} cases[] = {
    {"{}", 2},
    {" \n{ } ", 5},
    {"{\"a\":{\"b\":[{}]}}", 16},
    {"{\"a\":\"}\"}", 9},
    {"{\"a\":\"\\\"}\"}", 11},
    {"{\"a\":\"\\\\\"}", 10},
    {"{\"a\":\"\\u007d\"}", 14},
    {"{\"}\":\"\xE2\x82\xAC\"}", 11},
    {"", 0},
    {"  ", 0},
    {"[{}]", 0},
    {"\"{}\"", 0},
    {"x{}", 0},
    {"{\"a\":1", 0},
    {"{\"a\"}", 0},
    {"{a:1}", 0},
    {"{]", 0},
};

static struct buf escaped_of(str plain)
{
    struct buf escaped = {.limit = 0};

    json_text_escape(plain, &escaped);
    return escaped;
}

/* Fed with longer and longer beginnings, as a call grows. */
static void check(str plain, size_t whole, size_t step)
{
    struct argument_end end = {.n_seen = 0};

    for (size_t n = step < plain.len ? step : plain.len;; n += step) {
        struct buf escaped = escaped_of(str_from(plain.p, n < plain.len ? n : plain.len));

        for (int again = 0; again < 2; again++)
            assert_int_equal(argument_end_is_reached(&end, buf_str(&escaped)),
                             whole != 0 && n >= whole);
        buf_fini(&escaped);
        if (n >= plain.len)
            return;
    }
}

static void the_end_of_an_object_is_seen_at_every_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        /* Deltas end between characters, so every step is a whole number of them. */
        for (size_t step = 1; step <= strlen(cases[i].arguments) + 1; step++) {
            if (strchr(cases[i].arguments, '\xE2') == NULL || step > strlen(cases[i].arguments))
                check(str_from_c(cases[i].arguments), cases[i].whole, step);
        }
    }
}

static void what_follows_an_object_makes_it_none(void **state)
{
    struct argument_end end = {.n_seen = 0};

    (void)state;
    assert_true(argument_end_is_reached(&end, STR("{}")));
    assert_true(argument_end_is_reached(&end, STR("{} \\n")));
    assert_false(argument_end_is_reached(&end, STR("{} \\n{")));
    assert_false(argument_end_is_reached(&end, STR("{} \\n{}")));
}

/* Each byte is looked at once: a call of a million pieces takes no longer than one of one. */
static void many_pieces_cost_as_much_as_one(void **state)
{
    enum { N = 200000 };
    struct argument_end end = {.n_seen = 0};
    struct buf arguments = {.limit = 0};

    (void)state;
    buf_append(&arguments, STR("{\\\"a\\\":["));
    for (int i = 0; i < N; i++) {
        buf_append(&arguments, STR("{},"));
        assert_false(argument_end_is_reached(&end, buf_str(&arguments)));
    }
    buf_append(&arguments, STR("1]}"));
    assert_true(argument_end_is_reached(&end, buf_str(&arguments)));
    buf_fini(&arguments);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_an_object_is_seen_at_every_cut),
        cmocka_unit_test(what_follows_an_object_makes_it_none),
        cmocka_unit_test(many_pieces_cost_as_much_as_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
