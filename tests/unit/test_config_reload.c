/* test_config_reload.c -- whether a configuration that was read again says something else. */
#include "config/config.h"

#include "lib/test.h"

static void load(struct config *c, const char *text)
{
    const struct config_sources sources = {.file_text = str_from_c(text), .dotenv_text = STR("")};
    struct config_problems problems = {.n_kept = 0};

    assert_int_equal(config_load(c, &sources, &problems), 0);
    config_problems_fini(&problems);
}

static bool say_the_same(const char *one, const char *other)
{
    struct config a, b;
    bool are_same;

    load(&a, one);
    load(&b, other);
    are_same = config_is_same(&a, &b);
    assert_int_equal(config_is_same(&b, &a), are_same);
    config_fini(&a);
    config_fini(&b);
    return are_same;
}

static const char *const different[] = {
    "{}",
    "{\"max_body\": \"1KiB\"}",
    "{\"max_body\": \"2KiB\"}",
    "{\"keep_alive\": \"80s\"}",
    "{\"keep_alive\": \"81s\"}",
    "{\"max_headers\": 77}",
    "{\"max_headers\": 78}",
    "{\"log_level\": \"debug\"}",
    "{\"log_level\": \"warn\"}",
    "{\"websocket\": false}",
    "{\"model\": \"a\"}",
    "{\"model\": \"b\"}",
    "{\"upstream_key\": \"sk-one-of-them\"}",
    "{\"upstream_key\": \"sk-another-one\"}",
    "{\"cors_origins\": [\"https://a.example\"]}",
    "{\"cors_origins\": [\"https://b.example\"]}",
    "{\"cors_origins\": [\"https://a.example\", \"https://b.example\"]}",
    "{\"model_alias\": [\"a=b\"]}",
};

static void what_is_written_otherwise_is_something_else(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(different); i++) {
        for (size_t k = 0; k < COUNT_OF(different); k++)
            assert_int_equal(say_the_same(different[i], different[k]), i == k);
    }
}

static void the_same_in_another_line_is_shown_otherwise(void **state)
{
    (void)state;
    assert_true(say_the_same("{\"model\": \"a\"}", "{\"model\":\"a\"} // and no more"));
    assert_false(say_the_same("{\"model\": \"a\"}", "{\n\"model\": \"a\"}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_otherwise_is_something_else),
        cmocka_unit_test(the_same_in_another_line_is_shown_otherwise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
