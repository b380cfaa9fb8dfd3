/* test_model_alias.c -- names that stand for models, and bodies that use them. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "wire/dialect/model_alias.h"

static const char *const rows[] = {"small=up/s", "*=up/any", "keep=keep", "small=second",
                                   "\xC3\xA9\"=q\"=x"};
static const struct name_list aliases = {rows, COUNT_OF(rows)};
static const struct name_list one_alias = {rows, 1};

static void a_row_of_its_own_wins_over_the_star(void **state)
{
    (void)state;
    assert_str_c(model_alias_find(aliases, STR("small")), "up/s");
    assert_str_c(model_alias_find(aliases, STR("other")), "up/any");
    assert_str_c(model_alias_find(aliases, STR("keep")), "keep");
    assert_str_c(model_alias_find(aliases, STR("up/s")), "up/any");
    assert_true(str_is_none(model_alias_find(one_alias, STR("smal"))));
    assert_true(str_is_none(model_alias_find((struct name_list){NULL, 0}, STR("small"))));
}

/* The result is NULL when the body is to be sent as it is. */
static void check_body(struct name_list list, const char *body, const char *expected)
{
    char *exact = exact_copy(str_from_c(body));
    struct buf out = {.limit = 0};
    bool rewritten = model_alias_rewrite(list, str_from(exact, strlen(body)), &out);

    assert_int_equal(rewritten, expected != NULL);
    assert_str_c(buf_str(&out), expected == NULL ? "" : expected);
    buf_fini(&out);
    free(exact);
}

static void only_the_value_of_model_changes(void **state)
{
    (void)state;
    check_body(aliases,
               " {\"a\" : [1.50, {\"model\":\"small\"}],\n\"model\" :\t\"small\" , \"b\":2}\n",
               " {\"a\" : [1.50, {\"model\":\"small\"}],\n\"model\" :\t\"up/s\" , \"b\":2}\n");
    check_body(aliases, "{\"mod\\u0065l\":\"sm\\u0061ll\"}", "{\"mod\\u0065l\":\"up/s\"}");
    check_body(aliases, "{\"model\":\"\\u00e9\\\"\"}", "{\"model\":\"q\\\"=x\"}");
    check_body(aliases, "{\"model\":\"\"}", "{\"model\":\"up/any\"}");
}

static void of_two_models_the_last_counts(void **state)
{
    (void)state;
    check_body(one_alias, "{\"model\":\"x\",\"model\":\"small\"}",
               "{\"model\":\"x\",\"model\":\"up/s\"}");
    check_body(one_alias, "{\"model\":\"small\",\"model\":\"x\"}", NULL);
}

static void a_body_without_an_alias_is_left_alone(void **state)
{
    static const char *const bodies[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"model\":7}",
        "{\"model\":null}",
        "\"small\"",
        "{\"model\":\"small\"",
        "{\"model\":\"small\"} x",
        "{\"model\":\"small\",\"a\":nope}",
        "{\"m\":{\"model\":\"small\"}}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bodies); i++)
        check_body(aliases, bodies[i], NULL);
    check_body(one_alias, "{\"model\":\"other\"}", NULL);
    check_body((struct name_list){NULL, 0}, "{\"model\":\"small\"}", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_of_its_own_wins_over_the_star),
        cmocka_unit_test(only_the_value_of_model_changes),
        cmocka_unit_test(of_two_models_the_last_counts),
        cmocka_unit_test(a_body_without_an_alias_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
