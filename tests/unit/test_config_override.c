/* test_config_override.c -- copies of a configuration, and keys that other files set in them. */
#include "unit/config_fixture.h"

#include <unistd.h>

#include "config/config_override.h"
#include "lib/failing_malloc.h"

static const char every_kind[] =
    "{\"model\": \"m\", \"model_alias\": {\"a\": \"b\", \"c\": \"d\"}, "
    "\"upstream\": \"http://h\", \"upstream_key\": \"sk-1\", "
    "\"relay\": \"all\", \"upstream_kind\": \"vllm\", "
    "\"idle_timeout\": \"7s\", \"max_body\": \"1MiB\", "
    "\"think_tags\": \"on\", \"tls_verify\": false}";

static void a_copy_is_the_same_and_outlives_what_it_was_made_of(void **state)
{
    struct load l = {.file = every_kind}, again = {.file = every_kind};
    struct config copy;

    (void)state;
    load_fine(&l);
    load_fine(&again);
    assert_int_equal(config_dup(&l.config, &copy), 0);
    load_end(&l);
    assert_true(config_is_same(&copy, &again.config));
    assert_string_equal(copy.model_alias.items[1], "c=d");
    config_fini(&copy);
    load_end(&again);
}

static void a_copy_without_memory_fails(void **state)
{
    struct load l = {.file = every_kind};
    bool has_failed = true;

    (void)state;
    load_fine(&l);
    for (long n = 0; has_failed; n++) {
        struct config copy;
        int rc;

        failing_malloc_begin(n, FAILS_ONCE);
        rc = config_dup(&l.config, &copy);
        has_failed = failing_malloc_end();
        assert_int_equal(rc, has_failed ? -1 : 0);
        config_fini(&copy);
    }
    load_end(&l);
}

static void lists_of_a_copy_can_grow(void **state)
{
    struct load l = {.args = {"--model-alias", "a=1,b=2,c=3"}};
    const struct config_override o = {.key = CONFIG_KEY_model_alias,
                                      .raw = STR("{\"d\": \"4\"}"),
                                      .file = "f.json",
                                      .line = 1,
                                      .member = "x.model_alias"};
    struct config copy;

    (void)state;
    load_fine(&l);
    assert_int_equal(config_dup(&l.config, &copy), 0);
    config_override(&copy, &o, &l.problems);
    assert_int_equal(copy.model_alias.n, 1); /* what is written there is all of it */
    assert_string_equal(copy.model_alias.items[0], "d=4");
    assert_int_equal(l.config.model_alias.n, 3);
    config_fini(&copy);
    load_end(&l);
}

static void what_a_key_does_not_take_is_told_with_its_path(void **state)
{
    struct load l = {.file = NULL};
    const struct config_override o = {.key = CONFIG_KEY_idle_timeout,
                                      .raw = STR("\"soon\""),
                                      .file = "f.json",
                                      .line = 7,
                                      .member = "x.idle_timeout"};

    (void)state;
    load_fine(&l);
    config_override(&l.config, &o, &l.problems);
    problems_say(&l, (const char *const[]){"f.json: line 7: x.idle_timeout: \"soon\"", NULL});
    load_end(&l);
}

static void only_keys_of_other_files_are_checked(void **state)
{
    struct load l = {.args = {"--upstream", "https://h", "--no-tls-verify"}};
    const struct config_override proxy = {.key = CONFIG_KEY_upstream,
                                          .raw = STR("\"https://i\""),
                                          .file = "f.json",
                                          .line = 2,
                                          .member = "x.url"};

    (void)state;
    load_fine(&l);
    assert_int_equal(l.problems.n_kept, 1);
    config_override_check(&l.config, NULL, &l.problems);
    assert_int_equal(l.problems.n_kept, 1);
    config_override(&l.config, &proxy, &l.problems);
    config_override_check(&l.config, NULL, &l.problems);
    assert_int_equal(l.problems.n_kept, 2);
    problems_say(
        &l, (const char *const[]){"f.json: line 2: x.url: with --tls-verify: anyone on", NULL});
    load_end(&l);
}

static void credential_stands_for_a_file_of_the_service_manager(void **state)
{
    const char *const env[] = {"CREDENTIALS_DIRECTORY=/run/c", NULL};
    struct arena a = {0};
    const char *why = NULL;

    (void)state;
    assert_string_equal(config_file_path(&a, STR("credential:k"), env, &why), "/run/c/k");
    assert_string_equal(config_file_path(&a, STR("/k"), env, &why), "/k");
    assert_null(why);
    assert_null(config_file_path(&a, STR("credential:a/b"), env, &why));
    assert_non_null(strstr(why, "without a slash"));
    assert_null(config_file_path(&a, STR("credential:k"), NULL, &why));
    assert_non_null(strstr(why, "is not set"));
    arena_fini(&a);
}

static void retry_on_becomes_a_set(void **state)
{
    struct load usual = {.file = NULL}, two = {.args = {"--retry-on", "500,model"}},
                none = {.args = {"--retry-on", ""}};

    (void)state;
    load_fine(&usual);
    load_fine(&two);
    load_fine(&none);
    assert_int_equal(config_retry_set(&usual.config) >> CONFIG_RETRY_500 & 1, 0);
    assert_int_equal(config_retry_set(&usual.config) >> CONFIG_RETRY_CONNECT & 1, 1);
    assert_int_equal(config_retry_set(&two.config),
                     1U << CONFIG_RETRY_500 | 1U << CONFIG_RETRY_MODEL);
    assert_int_equal(config_retry_set(&none.config), 0);
    load_end(&usual);
    load_end(&two);
    load_end(&none);
}

static const char *write_file(char path[], const char *text)
{
    int fd = mkstemp(path);

    assert_int_not_equal(fd, -1);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(fd), 0);
    return path;
}

static void token_is_the_first_line_of_its_file(void **state)
{
    char good[] = "/tmp/antiphon-token-XXXXXX", bad[] = "/tmp/antiphon-token-XXXXXX";
    struct buf token = {0};

    (void)state;
    assert_true(config_read_token(write_file(good, " token-1 \r\nmore\n"), &token));
    assert_str_c(buf_str(&token), "token-1");
    buf_reset(&token);
    assert_false(config_read_token(write_file(bad, "two words\n"), &token));
    assert_false(config_read_token("/nowhere/token", &token));
    assert_int_equal(token.len, 0);
    buf_fini(&token);
    assert_int_equal(unlink(good) + unlink(bad), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_is_the_same_and_outlives_what_it_was_made_of),
        cmocka_unit_test(a_copy_without_memory_fails),
        cmocka_unit_test(lists_of_a_copy_can_grow),
        cmocka_unit_test(what_a_key_does_not_take_is_told_with_its_path),
        cmocka_unit_test(only_keys_of_other_files_are_checked),
        cmocka_unit_test(credential_stands_for_a_file_of_the_service_manager),
        cmocka_unit_test(retry_on_becomes_a_set),
        cmocka_unit_test(token_is_the_first_line_of_its_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
