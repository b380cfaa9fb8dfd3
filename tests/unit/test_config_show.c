/* test_config_show.c -- what the operator reads when all is well: the
 * configuration in effect, and help. */
#include "unit/config_fixture.h"

static const char *const keys[] = {
#define KEY(name, kind, initial, valid, help) #name,
#include "config/config.def"
};

static void shown_is(const struct load *l, const char *const *pieces)
{
    struct buf shown = {0};

    config_show(&l->config, &shown);
    for (; *pieces != NULL; pieces++) {
        if (strstr(buf_cstr(&shown), *pieces) == NULL)
            fail_msg("%s\ndoes not show\n%s", buf_cstr(&shown), *pieces);
    }
    buf_fini(&shown);
}

static void values_are_shown_with_their_source(void **state)
{
    struct load l = {
        .args = {"--config", "a\n.json", "--idle-timeout", "90s", "--no-error-event"},
        .env = {"ANTIPHON_MAX_BODY=1048576", "STREAM_TIMEOUT=120.0", "ANTIPHON_HEAD_TIMEOUT=0"},
        .file = "{\n\"listen\": [\"a:1\", \":2\"],\n\"model\": \"m\\\"\", \"workers\": 3}"};

    (void)state;
    load_fine(&l);
    shown_is(&l, (const char *const[]){
                     "\n  \"listen\": [\"a:1\", \":2\"], // file a\\n.json, line 2\n",
                     "\n  \"model\": \"m\\\"\", // file a\\n.json, line 3\n",
                     "\n  \"workers\": 3, // file a\\n.json, line 3\n",
                     "\n  \"max_body\": \"1MiB\", // variable ANTIPHON_MAX_BODY\n",
                     "\n  \"first_byte_timeout\": \"2m\", // variable STREAM_TIMEOUT\n",
                     "\n  \"head_timeout\": \"0\", // variable ANTIPHON_HEAD_TIMEOUT\n",
                     "\n  \"idle_timeout\": \"90s\", // flag --idle-timeout\n",
                     "\n  \"error_event\": false, // flag --error-event\n",
                     "\n  \"upstream_key\": \"\", // default\n",
                     "\n  \"reasoning\": \"text\", // default\n", NULL});
    load_end(&l);
}

static void secrets_are_shown_as_stars_in_comments(void **state)
{
    struct load l = {.args = {"--upstream", "https://h", "--proxy", "http://me:hush@p:1"},
                     .env = {"OPENAI_API_KEY=hush", "ANTIPHON_API_KEY=hush,hush2"}};
    struct buf shown = {0};

    (void)state;
    load_fine(&l);
    shown_is(&l,
             (const char *const[]){"\n  // \"upstream_key\": \"***\", // variable OPENAI_API_KEY\n",
                                   "\n  // \"api_key\": \"***\", // variable ANTIPHON_API_KEY\n",
                                   "\n  // \"proxy\": \"***\", // flag --proxy\n", NULL});
    config_show(&l.config, &shown);
    assert_null(strstr(buf_cstr(&shown), "hush"));
    buf_fini(&shown);
    load_end(&l);
}

static void what_is_shown_can_be_loaded(void **state)
{
    struct load first = {
        .args = {"--max-body", "4097", "--model-alias", "a=b", "--listen", ":1", "--relay", "all"}};
    struct load second = {.args = {NULL}};
    struct buf shown = {0};

    (void)state;
    load_fine(&first);
    config_show(&first.config, &shown);
    second.file = buf_cstr(&shown);
    load_fine(&second);
    assert_int_equal(second.config.max_body_bytes, 4097);
    assert_string_equal(second.config.model_alias.items[0], "a=b");
    assert_string_equal(second.config.listen.items[0], ":1");
    assert_int_equal(second.config.relay, CONFIG_RELAY_ALL);
    load_end(&first);
    load_end(&second);
    buf_fini(&shown);
}

static void a_path_that_a_file_cannot_hold_is_refused_with_its_bytes(void **state)
{
    struct load l = {.env = {"MCP_SERVERS_CONFIG_PATH=m\xff"}};

    (void)state;
    load_fails(&l, (const char *const[]){"MCP_SERVERS_CONFIG_PATH: \"m\\xff\" is not valid; give a "
                                         "path in UTF-8 without control characters",
                                         NULL});
}

/* Is the key in the text, with "_" spelled as dash and set between two others? */
static bool is_named(const char *text, const char *before, const char *key, const char *dash,
                     const char *after)
{
    struct buf name = {0};
    bool is_there;

    buf_c(&name, before);
    for (; *key != '\0'; key++) {
        if (*key == '_')
            buf_c(&name, dash);
        else
            buf_char(&name, *key);
    }
    buf_c(&name, after);
    is_there = strstr(text, buf_cstr(&name)) != NULL;
    buf_fini(&name);
    return is_there;
}

static void every_key_is_in_the_help_and_what_is_shown(void **state)
{
    struct load l = {.args = {NULL}};
    struct buf help = {0}, shown = {0};

    (void)state;
    load_fine(&l);
    config_help(&help);
    config_show(&l.config, &shown);
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        assert_true(is_named(buf_cstr(&help), "\n  --", keys[i], "-", ""));
        assert_true(is_named(buf_cstr(&shown), "  \"", keys[i], "_", "\": "));
    }
    buf_fini(&help);
    buf_fini(&shown);
    load_end(&l);
}

/* What is said of all models in model_settings needs no key. */
static void old_keys_are_shown_when_they_are_given(void **state)
{
    struct load without = {.args = {NULL}};
    struct load first = {.args = {"--hold-leading-space", "--think-tags", "ON"}};
    struct load second = {.args = {NULL}};
    struct buf help = {0}, shown = {0};

    (void)state;
    load_fine(&without);
    config_help(&help);
    config_show(&without.config, &shown);
    for (int s = 0; s < MODEL_SETTINGS; s++) {
        const char *name = model_setting_name((enum model_setting)s);

        assert_true(is_named(buf_cstr(&help), "\n  ", name, "_", "\n      "));
        assert_false(is_named(buf_cstr(&help), "\n  --", name, "-", " "));
        assert_false(is_named(buf_cstr(&shown), "  \"", name, "_", "\": "));
    }
    buf_reset(&shown);
    load_fine(&first);
    config_show(&first.config, &shown);
    shown_is(&first, (const char *const[]){
                         "\n  // Old keys: ", "  \"think_tags\": \"on\", // flag --think-tags\n",
                         "  \"hold_leading_space\": \"on\", // flag", NULL});
    second.file = buf_cstr(&shown);
    load_fine(&second);
    assert_string_equal(second.config.of_all_models[MODEL_THINK_TAGS], "on");
    assert_string_equal(second.config.of_all_models[MODEL_HOLD_LEADING_SPACE], "on");
    assert_null(second.config.of_all_models[MODEL_TEXT_CALLS]);
    load_end(&without);
    load_end(&first);
    load_end(&second);
    buf_fini(&help);
    buf_fini(&shown);
}

static void help_stays_within_80_columns(void **state)
{
    struct buf help = {0};
    str rest;

    (void)state;
    config_help(&help);
    rest = buf_str(&help);
    assert_true(str_find(rest, STR("--no-error-event\n")) < rest.len);
    assert_true(str_find(rest, STR("--reasoning text|summary|openresponses|none\n")) < rest.len);
    assert_true(str_find(rest, STR("--listen ADDRESS,...\n")) < rest.len);
    while (rest.len > 0) {
        size_t n = str_find_char(rest, '\n');

        assert_true(n <= 80);
        rest = str_skip(rest, n + 1);
    }
    buf_fini(&help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_shown_with_their_source),
        cmocka_unit_test(secrets_are_shown_as_stars_in_comments),
        cmocka_unit_test(what_is_shown_can_be_loaded),
        cmocka_unit_test(a_path_that_a_file_cannot_hold_is_refused_with_its_bytes),
        cmocka_unit_test(every_key_is_in_the_help_and_what_is_shown),
        cmocka_unit_test(old_keys_are_shown_when_they_are_given),
        cmocka_unit_test(help_stays_within_80_columns),
    };

    return cmocka_run_group_tests_name("config show", tests, NULL, NULL);
}
