/* test_str.c -- views of bytes. */
#include "lib/test.h"

static void absent_and_empty_differ_but_compare_alike(void **state)
{
    (void)state;
    assert_true(str_is_none(STR_NONE));
    assert_true(str_is_none(str_from_c(NULL)));
    assert_false(str_is_none(STR("")));
    assert_true(str_eq(STR_NONE, STR("")));
    assert_false(str_eq(STR_NONE, STR("a")));
}

static void comparison_goes_past_nul_bytes(void **state)
{
    (void)state;
    assert_true(str_eq(STR("a\0b"), STR("a\0b")));
    assert_false(str_eq(STR("a\0b"), STR("a\0c")));
}

static void skip_stops_at_the_end(void **state)
{
    (void)state;
    assert_str_c(str_skip(STR("abc"), 1), "bc");
    assert_str_c(str_skip(STR("abc"), 3), "");
    assert_str_c(str_skip(STR("abc"), 99), "");
    assert_true(str_is_none(str_skip(STR_NONE, 1)));
}

static void starts_and_ends_are_found(void **state)
{
    (void)state;
    assert_true(str_starts_with(STR("abc"), STR("ab")));
    assert_true(str_starts_with(STR("abc"), STR_NONE));
    assert_false(str_starts_with(STR("a"), STR("ab")));
    assert_true(str_ends_with(STR("abc"), STR("bc")));
    assert_true(str_ends_with(STR("abc"), STR("")));
    assert_false(str_ends_with(STR("c"), STR("bc")));
}

static void case_of_ascii_letters_only_is_ignored(void **state)
{
    char text[] = "@AZ[Z";

    (void)state;
    assert_true(str_eq_nocase(STR("Content-Type"), STR("content-tYPE")));
    assert_false(str_eq_nocase(STR("a"), STR("ab")));
    assert_false(str_eq_nocase(STR("["), STR("{"))); /* 0x20 apart, no letters */
    str_lower(text, 4);
    assert_string_equal(text, "@az[Z");
    assert_false(str_eq_nocase(STR("\xC4"), STR("\xE4")));
    assert_true(str_has_nocase(STR("Maximum Context Length is 8"), STR("context length")));
    assert_true(str_has_nocase(STR("x"), STR("")));
    assert_false(str_has_nocase(STR("contex"), STR("context")));
}

static void trim_takes_white_space_off_both_ends(void **state)
{
    (void)state;
    assert_str_c(str_trim(STR(" \t\r\n a b \n")), "a b");
    assert_str_c(str_trim(STR(" \n ")), "");
    assert_str_c(str_trim(STR("")), "");
    assert_str_eq(str_trim(STR("\0 ")), STR("\0"));
}

static void find_gives_the_length_when_there_is_nothing(void **state)
{
    (void)state;
    assert_int_equal(str_find_char(STR("abc"), 'c'), 2);
    assert_int_equal(str_find_char(STR("abc"), 'x'), 3);
    assert_int_equal(str_find_char(STR_NONE, 'x'), 0);
    assert_int_equal(str_find(STR("aab"), STR("ab")), 1);
    assert_int_equal(str_find(STR("aaa"), STR("ab")), 3);
    assert_int_equal(str_find(STR("a"), STR("ab")), 1);
    assert_int_equal(str_find(STR("a"), STR("")), 0);
}

static void case_of_starts_and_ends_can_be_ignored(void **state)
{
    (void)state;
    assert_true(str_starts_with_nocase(STR("Bearer x"), STR("bearer ")));
    assert_true(str_ends_with_nocase(STR("a.JSON"), STR(".json")));
    assert_true(str_starts_with_nocase(STR("x"), STR("")) &&
                str_ends_with_nocase(STR(""), STR("")));
    assert_false(str_starts_with_nocase(STR("bear"), STR("bearer")));
    assert_false(str_ends_with_nocase(STR("json"), STR(".json")));
}

static void a_word_is_found_in_a_list(void **state)
{
    static const str words[] = {STR_INIT("a"), STR_INIT("bc"), STR_INIT("")};

    (void)state;
    assert_true(str_is_one_of(STR("bc"), LIST_OF(words)) && str_is_one_of(STR(""), LIST_OF(words)));
    assert_false(str_is_one_of(STR("BC"), LIST_OF(words)) ||
                 str_is_one_of(STR("b"), LIST_OF(words)));
    assert_true(str_is_one_of_nocase(STR("BC"), LIST_OF(words)));
    assert_false(str_is_one_of_nocase(STR("BCD"), LIST_OF(words)));
    assert_false(str_is_one_of(STR("a"), NULL, 0));
}

static void what_cannot_be_seen_is_found(void **state)
{
    static const char unseen[] = {' ', '\0', '\n', 0x1f, 0x7f, (char)0x80, (char)0xff};

    (void)state;
    assert_true(str_is_visible(STR("!~")) && str_is_visible(STR("")));
    for (size_t i = 0; i < sizeof(unseen); i++)
        assert_false(str_is_visible(str_from(&unseen[i], 1)));
}

static void order_is_that_of_the_bytes(void **state)
{
    (void)state;
    assert_int_equal(str_order(STR("ab"), STR("ab")), 0);
    assert_true(str_order(STR("a"), STR("ab")) < 0);
    assert_true(str_order(STR("b"), STR("ab")) > 0);
    assert_true(str_order(STR(""), STR("a")) < 0);
    assert_int_equal(str_order(STR_NONE, STR("")), 0);
}

static void pieces_are_cut_off(void **state)
{
    str rest = STR("a=b=");

    (void)state;
    assert_str_c(str_cut(&rest, '='), "a");
    assert_str_c(rest, "b=");
    assert_str_c(str_cut(&rest, '='), "b");
    assert_int_equal(rest.len, 0);
    assert_str_c(str_cut(&rest, '='), "");
    rest = STR("whole");
    assert_str_c(str_cut(&rest, '='), "whole");
    assert_int_equal(rest.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_cut_off),
        cmocka_unit_test(absent_and_empty_differ_but_compare_alike),
        cmocka_unit_test(comparison_goes_past_nul_bytes),
        cmocka_unit_test(skip_stops_at_the_end),
        cmocka_unit_test(starts_and_ends_are_found),
        cmocka_unit_test(case_of_ascii_letters_only_is_ignored),
        cmocka_unit_test(trim_takes_white_space_off_both_ends),
        cmocka_unit_test(find_gives_the_length_when_there_is_nothing),
        cmocka_unit_test(case_of_starts_and_ends_can_be_ignored),
        cmocka_unit_test(a_word_is_found_in_a_list),
        cmocka_unit_test(what_cannot_be_seen_is_found),
        cmocka_unit_test(order_is_that_of_the_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
