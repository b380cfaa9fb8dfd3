/* test_json_walk.c -- a walk through valid JSON finds what the reader finds. Any text: fuzz_json.c. */
#include "lib/test.h"

#include "json/json_walk.h"
#include "lib/fixture.h"

#define LONG "0123456789abcdef0123456789abcdef"

static void members_come_in_order_with_their_values(void **state)
{
    struct json_walk w = json_walk_of(
        STR(" { \"s\" : \"a\\\"b\" , \"n\\u0061\":-1.5e3,\"l\":\"" LONG "\\\\\", \"t\":true\n,"
            "\"o\":{\"x\":[\"]}\"]},\"a\":[ 1 , [2,3],\"4\" ] } "));
    static const char *const expected[][2] = {{"s", "\"a\\\"b\""},
                                              {"n\\u0061", "-1.5e3"},
                                              {"l", "\"" LONG "\\\\\""},
                                              {"t", "true"},
                                              {"o", "{\"x\":[\"]}\"]}"}};
    str name;

    (void)state;
    assert_int_equal(json_walk_peek(&w), JR_OBJECT);
    assert_false(json_walk_enter(&w, JR_ARRAY));
    assert_true(json_walk_enter(&w, JR_OBJECT));
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_true(json_walk_member(&w, &name));
        assert_str_c(name, expected[i][0]);
        assert_str_c(json_walk_value(&w), expected[i][1]);
    }
    assert_true(json_walk_member(&w, &name));
    assert_true(json_walk_enter(&w, JR_ARRAY));
    assert_true(json_walk_element(&w));
    assert_str_c(json_walk_value(&w), "1");
    assert_true(json_walk_element(&w));
    assert_str_c(json_walk_value(&w), "[2,3]");
    assert_true(json_walk_element(&w));
    assert_int_equal(json_walk_peek(&w), JR_STRING);
    assert_str_c(json_walk_string(&w), "4");
    assert_false(json_walk_element(&w));
    assert_false(json_walk_member(&w, &name));
    assert_int_equal(json_walk_peek(&w), JR_NONE);
    assert_str_c(json_walk_value(&w), "");
}

static void empty_containers_have_no_entries(void **state)
{
    struct json_walk w = json_walk_of(STR("[{},[ ],{ }]"));
    str name;

    (void)state;
    assert_true(json_walk_enter(&w, JR_ARRAY));
    assert_true(json_walk_element(&w));
    assert_true(json_walk_enter(&w, JR_OBJECT));
    assert_false(json_walk_member(&w, &name));
    assert_true(json_walk_element(&w));
    assert_true(json_walk_enter(&w, JR_ARRAY));
    assert_false(json_walk_element(&w));
    assert_true(json_walk_element(&w));
    assert_str_c(json_walk_value(&w), "{ }");
    assert_false(json_walk_element(&w));
}

/* The quote that ends a string, at every place of a block, with and without escapes before it. */
static void a_string_ends_at_every_place(void **state)
{
    char text[80];

    (void)state;
    for (size_t n = 0; n < 40; n++) {
        for (size_t n_escapes = 0; n_escapes <= n / 2; n_escapes++) {
            struct json_walk w;
            char *copy;

            memset(text, 'x', sizeof(text));
            text[0] = '"';
            for (size_t i = 0; i < n_escapes; i++) {
                text[1 + n - 2 * i - 2] = '\\';
                text[1 + n - 2 * i - 1] = i % 2 == 0 ? '"' : '\\';
            }
            text[1 + n] = '"';
            copy = exact_copy(str_from(text, n + 2));
            w = json_walk_of(str_from(copy, n + 2));
            assert_int_equal(json_walk_value(&w).len, n + 2);
            free(copy);
            w = json_walk_of(str_from(text, sizeof(text)));
            assert_int_equal(json_walk_value(&w).len, n + 2);
        }
    }
}

static void text_that_is_cut_is_not_left(void **state)
{
    const str text = STR("{\"a\":[\"b\\\"\",{\"c\":1.5}],\"d\" : \"" LONG "\"}");

    (void)state;
    for (size_t n = 1; n < text.len; n++) {
        char *copy = exact_copy(str_from(text.p, n));
        struct json_walk w = json_walk_of(str_from(copy, n));
        str name;

        assert_int_equal(json_walk_value(&w).len, n);
        w = json_walk_of(str_from(copy, n));
        (void)json_walk_enter(&w, JR_OBJECT);
        while (json_walk_member(&w, &name))
            (void)json_walk_value(&w);
        assert_true(w.p == copy + n);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_come_in_order_with_their_values),
        cmocka_unit_test(empty_containers_have_no_entries),
        cmocka_unit_test(a_string_ends_at_every_place),
        cmocka_unit_test(text_that_is_cut_is_not_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
