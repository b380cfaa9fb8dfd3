/* test_relay_model.c -- which bodies may be passed on for those who may ask for some models only. */
#include "lib/test.h"

#include "access/allowance.h"
#include "front/relay_model.h"
#include "lib/fixture.h"

static const struct allowance some = {.given = 1U << KEY_SETTING_MODELS,
                                      .models = STR_INIT("m,qwen*")};

/* refused: the name that is not allowed; NULL: the body is good. */
static void check_body(const char *body, const char *refused)
{
    char *exact = exact_copy(str_from_c(body));
    struct arena a = {.last = NULL};
    str name = STR_NONE;
    const bool is_allowed = relay_model_is_allowed(&some, str_from(exact, strlen(body)), &a, &name);

    if (is_allowed != (refused == NULL))
        fail_msg("%s", body);
    if (refused != NULL)
        assert_str_c(name, refused);
    arena_fini(&a);
    free(exact);
}

static void a_model_that_is_named_and_allowed_is_good(void **state)
{
    (void)state;
    check_body("{\"model\":\"m\"}", NULL);
    check_body(" {\"a\":{\"model\":\"x\"},\"model\" : \"qwen\\u0033\",\"b\":[\"model\"]}\n", NULL);
    check_body("{\"model\":\"m\",\"MODEL\":\"qwen\"}", NULL);
}

static void whatever_a_server_may_take_for_the_name_has_to_be_allowed(void **state)
{
    (void)state;
    check_body("{\"model\":\"x\"}", "x");
    check_body("{\"model\":\"m\",\"model\":\"x\"}", "x");
    check_body("{\"model\":\"x\",\"model\":\"m\"}", "x");
    check_body("{\"model\":\"m\",\"mod\\u0065l\":\"x\"}", "x");
    check_body("{\"model\":\"m\",\"\\u006d\\u006f\\u0064\\u0065\\u006c\":\"x\"}", "x");
    check_body("{\"model\":\"m\",\"Model\":\"x\"}", "x");
    check_body("{\"model\":\"m\",\"model\":null}", "");
    check_body("{\"model\":\"a\\\"b\"}", "a\"b");
}

static void without_a_name_that_can_be_read_nothing_is_good(void **state)
{
    static const char *const bodies[] = {
        "",
        "{}",
        "[]",
        "\"m\"",
        "{\"model\":7}",
        "{\"model\":[\"m\"]}",
        "{\"model\":\"m\"",
        "{\"model\":\"m\"}}",
        "{\"model\":\"m\"} {\"model\":\"x\"}",
        "{\"model\":\"m\",}",
        "\xEF\xBB\xBF{\"model\":\"m\"}",
        "--x\r\nmodel: m",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bodies); i++)
        check_body(bodies[i], "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_that_is_named_and_allowed_is_good),
        cmocka_unit_test(whatever_a_server_may_take_for_the_name_has_to_be_allowed),
        cmocka_unit_test(without_a_name_that_can_be_read_nothing_is_good),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
