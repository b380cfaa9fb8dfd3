/* test_json_relax.c -- what people add to JSON, and what stays where it was. */
#include "lib/test.h"

#include "json/json_read.h"
#include "json/json_relax.h"
#include "lib/fixture.h"

/* text relaxed is expected, and nothing past its end was touched. */
static void relaxes_to(const char *text, const char *expected)
{
    size_t n = strlen(text);
    char *copy = exact_copy(str_from_c(text));

    json_relax(copy, n);
    assert_str_c(str_from(copy, n), expected);
    free(copy);
}

static void comments_become_spaces_and_lines_stay(void **state)
{
    (void)state;
    relaxes_to("{} // x\n", "{}     \n");
    relaxes_to("{/* a\n b */}", "{    \n     }");
    relaxes_to("{} // no end", "{}          ");
    relaxes_to("{} /* no end", "{}          ");
    relaxes_to("{} /", "{} /");
    relaxes_to("/*/ 1 */", "        ");
}

static void last_comma_goes_and_others_stay(void **state)
{
    (void)state;
    relaxes_to("[1, 2,]", "[1, 2 ]");
    relaxes_to("{\"a\": 1, // x\n}", "{\"a\": 1      \n}");
    relaxes_to("[1,, ]", "[1,  ]");
    relaxes_to("[,]", "[ ]");
    relaxes_to("1,", "1,");
}

static void strings_are_left_alone(void **state)
{
    (void)state;
    relaxes_to("\"http://x/* ,]\"", "\"http://x/* ,]\"");
    relaxes_to("\"\\\"//\" //x", "\"\\\"//\"    ");
    relaxes_to("\"not closed ,]", "\"not closed ,]");
    relaxes_to("\"\\", "\"\\");
}

static void byte_order_mark_becomes_spaces(void **state)
{
    (void)state;
    relaxes_to("\xEF\xBB\xBF{}", "   {}");
    relaxes_to("{}\xEF\xBB\xBF", "{}\xEF\xBB\xBF");
    relaxes_to("", "");
}

static void place_counts_lines_and_characters(void **state)
{
    static const struct {
        size_t offset, line, column;
    } cases[] = {{0, 1, 1}, {2, 1, 3}, {3, 2, 1}, {5, 2, 2}, {6, 2, 3}};
    size_t line, column;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_relax_place(STR("ab\n\u00e9c"), cases[i].offset, &line, &column);
        assert_int_equal(line, cases[i].line);
        assert_int_equal(column, cases[i].column);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comments_become_spaces_and_lines_stay),
        cmocka_unit_test(last_comma_goes_and_others_stay),
        cmocka_unit_test(strings_are_left_alone),
        cmocka_unit_test(byte_order_mark_becomes_spaces),
        cmocka_unit_test(place_counts_lines_and_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
