/* test_upstream_window.c -- how many tokens fit into a model's context: the operator's word, then
 * what the upstream tells. */
#include "request_fixture.h"

#include "upstream/upstream_window.h"

static void load_settings(const char *first, const char *second, struct config *c)
{
    const char *const args[] = {"--model-settings", first, "--model-settings", second};
    struct config_problems problems = {.n_kept = 0};
    const struct config_sources sources = {
        .args = args, .n_args = second == NULL ? 2 : 4, .file_text = STR_NONE};

    if (config_load(c, &sources, &problems) == -1)
        fail_msg("%s", problems.kept[0].text);
    config_problems_fini(&problems);
}

static struct upstream_facts *facts_of(const char *models)
{
    struct upstream_facts *f = upstream_facts_new();

    assert_true(upstream_models_read(str_from_c(models), &f->memory, &f->models));
    return f;
}

static void the_operators_word_counts_before_what_the_upstream_tells(void **state)
{
    struct upstream_facts *f = facts_of("{\"data\":[{\"id\":\"a\",\"max_model_len\":4096},"
                                        "{\"id\":\"b\",\"max_model_len\":8192},{\"id\":\"c\"}]}");
    struct config c;

    (void)state;
    load_settings("a context_window=1000", "* context_window=2000 think_tags=on", &c);
    assert_int_equal(upstream_window_of(&c, f, STR("a")).tokens, 1000);
    assert_int_equal(upstream_window_of(&c, f, STR("b")).tokens, 2000);
    assert_int_equal(upstream_window_of(&c, NULL, STR("a")).tokens, 1000);
    config_fini(&c);
    load_settings("a context_window=1000000000", NULL, &c);
    assert_int_equal(upstream_window_of(&c, f, STR("x/a")).tokens, 1000000000);
    assert_int_equal(upstream_window_of(&c, f, STR("b")).tokens, 8192);
    assert_int_equal(upstream_window_of(&c, f, STR("c")).tokens, 0);
    assert_int_equal(upstream_window_of(&c, NULL, STR("b")).tokens, 0);
    config_fini(&c);
    upstream_facts_unref(f);
}

static void a_window_that_is_no_number_is_refused(void **state)
{
    static const char *const wrong[] = {
        "a context_window=0", "a context_window=8k",         "a context_window=auto",
        "a context_window=",  "a context_window=1000000001", "a context_window=1 context_window=1"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        const char *const args[] = {"--model-settings", wrong[i]};
        struct config_problems problems = {.n_kept = 0};
        const struct config_sources sources = {.args = args, .n_args = 2, .file_text = STR_NONE};
        struct config c;

        assert_int_equal(config_load(&c, &sources, &problems), -1);
        assert_true(str_has_nocase(str_from_c(problems.kept[0].text),
                                   i + 1 < COUNT_OF(wrong)
                                       ? STR("give a number, 1..1000000000")
                                       : STR("\"context_window\" is there twice")));
        config_problems_fini(&problems);
        config_fini(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_operators_word_counts_before_what_the_upstream_tells),
        cmocka_unit_test(a_window_that_is_no_number_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
