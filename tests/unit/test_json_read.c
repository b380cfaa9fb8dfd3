/* test_json_read.c -- the pull reader. */
#include "lib/test.h"

#include "json/json_read.h"
#include "lib/fixture.h"

static void members_come_in_order_with_their_values(void **state)
{
    struct jr j;
    str key;

    (void)state;
    jr_init(&j, STR(" { \"s\" : \"a\\nb\" , \"n\":-1.5e3,\"i\":42, \"t\":true,\"o\":{\"x\":[]}} "));
    assert_true(jr_enter(&j, JR_OBJECT));
    assert_true(jr_next_member(&j, &key));
    assert_str_c(key, "s");
    assert_int_equal(jr_peek(&j), JR_STRING);
    assert_str_c(jr_string(&j), "a\\nb");
    assert_true(jr_next_member(&j, &key));
    assert_str_c(jr_raw(&j), "-1.5e3");
    assert_true(jr_next_member(&j, &key));
    assert_int_equal(jr_int(&j, 0), 42);
    assert_true(jr_next_member(&j, &key));
    assert_true(jr_bool(&j, false));
    assert_true(jr_next_member(&j, &key));
    assert_str_c(key, "o");
    assert_str_c(jr_raw(&j), "{\"x\":[]}");
    assert_false(jr_next_member(&j, &key));
    assert_true(jr_end(&j));
}

static void names_are_decoded(void **state)
{
    struct jr j;
    str key;

    (void)state;
    jr_init(&j, STR("{\"m\\u006fdel\":1,\"a\\\"b\":2}"));
    assert_true(jr_enter(&j, JR_OBJECT));
    assert_true(jr_next_member(&j, &key));
    assert_str_c(key, "model");
    jr_skip(&j);
    assert_true(jr_next_member(&j, &key));
    assert_str_c(key, "a\"b");
    jr_skip(&j);
    assert_false(jr_next_member(&j, &key));
    assert_true(jr_end(&j));
}

static void a_name_that_no_one_knows_may_have_any_length(void **state)
{
    char text[600];
    struct jr j;
    str key;

    (void)state;
    for (size_t n = 0; n < 250; n++) {
        size_t len = (size_t)snprintf(text, sizeof(text), "{\"\\u0061%0*d\":1}", (int)n + 1, 0);

        jr_init(&j, str_from(text, len));
        assert_true(jr_enter(&j, JR_OBJECT));
        assert_true(jr_next_member(&j, &key));
        jr_skip(&j);
        assert_false(jr_next_member(&j, &key));
        assert_true(jr_end(&j));
    }
}

static void a_value_of_another_type_is_skipped(void **state)
{
    struct jr j;
    str key;

    (void)state;
    jr_init(&j, STR("[\"x\",{\"a\":[1,{}]},[2],3]"));
    assert_true(jr_enter(&j, JR_ARRAY));
    assert_true(jr_next_element(&j));
    assert_false(jr_enter(&j, JR_OBJECT));
    assert_true(jr_next_element(&j));
    assert_true(str_is_none(jr_string(&j)));
    assert_true(jr_next_element(&j));
    assert_int_equal(jr_int(&j, -7), -7);
    assert_true(jr_next_element(&j));
    assert_true(jr_bool(&j, true));
    assert_false(jr_next_element(&j));
    assert_true(jr_end(&j));

    jr_init(&j, STR("null"));
    assert_false(jr_enter(&j, JR_OBJECT));
    assert_true(jr_end(&j));
    jr_init(&j, STR("{}"));
    assert_true(jr_enter(&j, JR_OBJECT));
    assert_false(jr_next_member(&j, &key));
    assert_true(jr_end(&j));
}

static void integers_are_taken_when_integral_and_in_range(void **state)
{
    static const struct {
        const char *text;
        int64_t value; /* -1: not taken */
    } cases[] = {
        {"0", 0},
        {"3.0", 3},
        {"3e2", 300},
        {"9007199254740991", 9007199254740991},
        {"-9007199254740991", -9007199254740991},
        {"9007199254740993", -1}, /* a double cannot tell it from its neighbour */
        {"9223372036854775807", -1},
        {"1e400", -1},
        {"3.5", -1},
        {"\"3\"", -1},
        {"null", -1},
        {"[3]", -1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct jr j;

        jr_init(&j, str_from_c(cases[i].text));
        if (jr_int(&j, -1) != cases[i].value)
            fail_msg("%s", cases[i].text);
        assert_true(jr_end(&j));
    }
}

static void the_first_error_stays(void **state)
{
    struct jr j;
    str key;

    (void)state;
    jr_init(&j, STR("{\"a\":1,\"b\":tru,\"c\":3}"));
    assert_true(jr_enter(&j, JR_OBJECT));
    assert_true(jr_next_member(&j, &key));
    jr_skip(&j);
    assert_true(jr_next_member(&j, &key));
    jr_skip(&j);
    assert_false(jr_ok(&j));
    assert_in_range(jr_offset(&j), 11, 14);
    assert_false(jr_next_member(&j, &key));
    assert_int_equal(jr_peek(&j), JR_NONE);
    assert_true(str_is_none(jr_string(&j)));
    assert_true(str_is_none(jr_raw(&j)));
    assert_false(jr_enter(&j, JR_ARRAY));
    assert_false(jr_end(&j));
}

static void text_after_the_value_is_an_error(void **state)
{
    (void)state;
    assert_false(jr_is_valid(STR("{} x")));
    assert_false(jr_is_valid(STR("1 2")));
    assert_false(jr_is_valid(STR("")));
    assert_false(jr_is_valid(STR_NONE));
    assert_true(jr_is_valid(STR(" \t\r\n1 ")));
}

/* Nesting is allowed to a depth and no further, whichever way it is walked. */
static void nesting_has_a_limit(void **state)
{
    (void)state;
    for (int depth = JR_MAX_DEPTH - 1; depth <= JR_MAX_DEPTH + 1; depth++) {
        char text[2 * JR_MAX_DEPTH + 8];

        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        assert_int_equal(jr_is_valid(str_from(text, 2 * (size_t)depth)), depth <= JR_MAX_DEPTH);
    }
}

/* No cut-off text is valid, and none makes the reader look past its end. */
static void every_beginning_of_a_text_is_no_value(void **state)
{
    str text = STR("{\"a\\u00e9\":[1.5e-3,true,false,null,\"\\ud83d\\ude00\xF0\x9F\x98\x80\"],"
                   "\"b\":{\"c\":-0}}");

    (void)state;
    for (size_t n = 0; n <= text.len; n++) {
        char *exact = exact_copy(str_from(text.p, n));

        assert_int_equal(jr_is_valid(str_from(exact, n)), n == text.len);
        free(exact);
    }
}

static void raw_values_tell_their_type(void **state)
{
    (void)state;
    assert_int_equal(jr_type_of(STR("{}")), JR_OBJECT);
    assert_int_equal(jr_type_of(STR("[]")), JR_ARRAY);
    assert_int_equal(jr_type_of(STR("\"\"")), JR_STRING);
    assert_int_equal(jr_type_of(STR("-1")), JR_NUMBER);
    assert_int_equal(jr_type_of(STR("true")), JR_TRUE);
    assert_int_equal(jr_type_of(STR("false")), JR_FALSE);
    assert_int_equal(jr_type_of(STR("null")), JR_NULL);
    assert_int_equal(jr_type_of(STR_NONE), JR_NONE);
    assert_string_equal(jr_type_name(JR_OBJECT), "an object");
    assert_string_equal(jr_type_name(JR_STRING), "a string");
}

static void elements_and_members_are_counted(void **state)
{
    (void)state;
    assert_int_equal(jr_count(STR("[]")), 0);
    assert_int_equal(jr_count(STR("[1,[2,3],{\"a\":4}]")), 3);
    assert_int_equal(jr_count(STR("{\"a\":1,\"b\":{\"c\":2}}")), 2);
    assert_int_equal(jr_count(STR("\"[1,2]\"")), 0);
    assert_int_equal(jr_count(STR_NONE), 0);
    assert_int_equal(jr_member_int(STR("{\"a\":1,\"b\":-2.0}"), STR("b"), 7), -2);
    assert_int_equal(jr_member_int(STR("{\"a\":\"1\"}"), STR("a"), 7), 7);
    assert_int_equal(jr_member_int(STR("{\"a\":1}"), STR("b"), 7), 7);
    assert_int_equal(jr_member_int(STR_NONE, STR("a"), 7), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_come_in_order_with_their_values),
        cmocka_unit_test(names_are_decoded),
        cmocka_unit_test(a_name_that_no_one_knows_may_have_any_length),
        cmocka_unit_test(a_value_of_another_type_is_skipped),
        cmocka_unit_test(integers_are_taken_when_integral_and_in_range),
        cmocka_unit_test(the_first_error_stays),
        cmocka_unit_test(text_after_the_value_is_an_error),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(every_beginning_of_a_text_is_no_value),
        cmocka_unit_test(raw_values_tell_their_type),
        cmocka_unit_test(elements_and_members_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
