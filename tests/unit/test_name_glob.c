/* test_name_glob.c -- stars in names. */
#include "lib/test.h"

#include "base/name_glob.h"

static bool fits(const char *glob, const char *name)
{
    return name_glob_fits(str_from_c(glob), str_from_c(name));
}

static void a_name_without_a_star_is_itself(void **state)
{
    (void)state;
    assert_true(fits("gpt", "gpt"));
    assert_false(fits("gpt", "GPT"));
    assert_false(fits("gpt", "gpt-4"));
    assert_false(fits("gpt", "my-gpt"));
    assert_true(fits("", ""));
    assert_false(name_is_glob(STR("gpt")));
}

static void a_star_stands_for_any_bytes(void **state)
{
    (void)state;
    assert_true(fits("*", ""));
    assert_true(fits("*", "a/b:c"));
    assert_true(fits("gpt-*", "gpt-"));
    assert_true(fits("gpt-*", "gpt-oss-20b"));
    assert_true(fits("*-20b", "gpt-oss-20b"));
    assert_true(fits("g*o*b", "gpt-oss-20b"));
    assert_true(fits("**", "x"));
    assert_true(fits("a**b", "ab"));
    assert_false(fits("gpt-*", "gpt"));
    assert_false(fits("*-20b", "gpt-oss-20b-x"));
    assert_false(fits("g*x*b", "gpt-oss-20b"));
    assert_true(name_is_glob(STR("g*")));
}

static void what_is_taken_by_one_piece_is_not_there_for_the_next(void **state)
{
    (void)state;
    assert_false(fits("ab*ba", "aba"));
    assert_true(fits("ab*ba", "abba"));
    assert_false(fits("*ab*ab*", "aab"));
    assert_true(fits("*ab*b", "abab"));
    assert_false(fits("a*a", "a"));
}

static void the_literal_part_is_what_is_no_star(void **state)
{
    (void)state;
    assert_int_equal(name_glob_literals(STR("*")), 0);
    assert_int_equal(name_glob_literals(STR("gpt-*-b*")), 6);
}

static bool fits_naively(str glob, str name)
{
    if (glob.len == 0)
        return name.len == 0;
    if (glob.p[0] == '*')
        return fits_naively(str_skip(glob, 1), name) ||
               (name.len > 0 && fits_naively(glob, str_skip(name, 1)));
    return name.len > 0 && name.p[0] == glob.p[0] &&
           fits_naively(str_skip(glob, 1), str_skip(name, 1));
}

/* The text with this number, of those that the letters can make, the empty one first. */
static str text_of(unsigned number, str letters, char out[8])
{
    size_t n = 0;

    for (; number > 0; number = (number - 1) / (unsigned)letters.len)
        out[n++] = letters.p[(number - 1) % letters.len];
    return str_from(out, n);
}

static void every_short_glob_and_name_is_judged_as_by_trying_everything(void **state)
{
    char glob_text[8], name_text[8];

    (void)state;
    for (unsigned g = 0; g < 1093; g++) { /* all of up to six letters */
        const str glob = text_of(g, STR("ab*"), glob_text);

        for (unsigned n = 0; n < 127; n++) {
            const str name = text_of(n, STR("ab"), name_text);

            if (name_glob_fits(glob, name) != fits_naively(glob, name))
                fail_msg("%.*s, %.*s", STR_ARG(glob), STR_ARG(name));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_without_a_star_is_itself),
        cmocka_unit_test(a_star_stands_for_any_bytes),
        cmocka_unit_test(what_is_taken_by_one_piece_is_not_there_for_the_next),
        cmocka_unit_test(the_literal_part_is_what_is_no_star),
        cmocka_unit_test(every_short_glob_and_name_is_judged_as_by_trying_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
