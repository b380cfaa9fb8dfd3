/* test_query.c -- queries, and %XX in URLs. */
#include "http/percent.h"
#include "http/query.h"
#include "lib/test.h"

static int setup(void **state)
{
    static struct arena a;

    *state = &a;
    return 0;
}

static int teardown(void **state)
{
    arena_fini(*state);
    return 0;
}

static void escapes_become_the_bytes_they_stand_for(void **state)
{
    static const struct {
        const char *written, *meant;
    } cases[] = {
        {"", ""},
        {"plain-_.~", "plain-_.~"},
        {"%41%5b%5D", "A[]"},
        {"a+b", "a+b"},
        {"%2525", "%25"},
        {"%C3%A9", "\xc3\xa9"},
        {"%", "%"},
        {"%4", "%4"},
        {"%4g%g4", "%4g%g4"},
        {"x%00y", "x\xef\xbf\xbdy"},
        {"%ff\xc3", "\xef\xbf\xbd\xef\xbf\xbd"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_str_c(percent_decode(*state, str_from_c(cases[i].written)), cases[i].meant);
}

static void a_plus_is_a_space_in_queries_only(void **state)
{
    assert_str_c(percent_decode_field(*state, STR("a+b%2B")), "a b+");
    assert_str_c(percent_decode(*state, STR("a+b%2B")), "a+b+");
}

static void fields_are_decoded_and_kept_in_order(void **state)
{
    struct query q;

    assert_true(query_read(STR("a=1&&b%5B%5D=x=y&flag&=v&c=&a=%26"), *state, &q));
    assert_int_equal(q.n, 6);
    assert_str_c(q.fields[1].name, "b[]");
    assert_str_c(q.fields[1].value, "x=y");
    assert_str_c(q.fields[2].name, "flag");
    assert_str_c(q.fields[2].value, "");
    assert_str_c(q.fields[3].name, "");
    assert_str_c(q.fields[3].value, "v");
    assert_str_c(q.fields[5].value, "&");
}

static void of_a_name_given_twice_the_last_counts(void **state)
{
    struct query q;

    assert_true(query_read(STR("a=1&b=2&a=3&c="), *state, &q));
    assert_str_c(query_value(&q, STR("a")), "3");
    assert_str_c(query_value(&q, STR("b")), "2");
    assert_str_c(query_value(&q, STR("c")), "");
    assert_false(str_is_none(query_value(&q, STR("c"))));
    assert_true(str_is_none(query_value(&q, STR("d"))));
}

static void no_query_has_no_fields(void **state)
{
    static const char *const queries[] = {NULL, "", "&", "&&"};

    for (size_t i = 0; i < COUNT_OF(queries); i++) {
        struct query q;

        assert_true(query_read(str_from_c(queries[i]), *state, &q));
        assert_int_equal(q.n, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(escapes_become_the_bytes_they_stand_for, setup, teardown),
        cmocka_unit_test_setup_teardown(a_plus_is_a_space_in_queries_only, setup, teardown),
        cmocka_unit_test_setup_teardown(fields_are_decoded_and_kept_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(of_a_name_given_twice_the_last_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(no_query_has_no_fields, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
