/* test_key_setting.c -- what stands behind the hash of a key, and what comes of it for a name. */
#include "lib/test.h"

#include "access/key_setting.h"
#include "access/rate_limit.h"
#include "lib/failing_malloc.h"
#include "lib/fixture.h"

static struct key_settings settings_of(const char *text)
{
    struct buf why = {.limit = 0};
    struct key_settings s;

    if (!key_settings_read(str_from_c(text), &s, &why))
        fail_msg("%s: %s", text, buf_cstr(&why));
    assert_int_equal(why.len, 0);
    return s;
}

static void each_setting_is_read(void **state)
{
    const struct key_settings s =
        settings_of("models=qwen3*,gpt-oss-20b rpm=60 \t tpm=200000 concurrency=4 weight=2 "
                    "priority=low expires=2027-03-31 admin");
    const struct key_settings high = settings_of("priority=high"),
                              normal = settings_of("priority=normal");

    (void)state;
    assert_str_c(s.name.models, "qwen3*,gpt-oss-20b");
    assert_int_equal(s.name.limits.rpm, 60);
    assert_int_equal(s.name.limits.tpm, 200000);
    assert_int_equal(s.name.limits.concurrency, 4);
    assert_int_equal(allowance_weight(&s.name), 2);
    assert_int_equal(allowance_priority(&s.name), KEY_PRIORITY_LOW);
    assert_int_equal(s.expires_s, 1806537600);
    assert_true(s.is_admin);
    assert_int_equal(high.name.priority, KEY_PRIORITY_HIGH);
    assert_int_equal(normal.name.priority, KEY_PRIORITY_NORMAL);
}

static void without_settings_nothing_is_given(void **state)
{
    const struct key_settings s = settings_of("  ");

    (void)state;
    assert_int_equal(s.name.given, 0);
    assert_int_equal(s.expires_s, INT64_MAX);
    assert_false(s.is_admin);
    assert_int_equal(settings_of("admin expires=2027-03-31").name.given, 0);
    assert_int_equal(allowance_weight(NULL), 1);
    assert_int_equal(allowance_weight(&s.name), 1);
    assert_int_equal(allowance_priority(NULL), KEY_PRIORITY_NORMAL);
    assert_true(allowance_has_model(NULL, STR("any")));
    assert_true(allowance_has_model(&s.name, STR("any")));
}

static void mistakes_are_told_in_words_that_show_nothing(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"hush", "only these settings are known: models=, rpm=, tpm="},
        {"rpm", "only these settings are known"},
        {"admin=hush", "only these settings are known"},
        {"RPM=1", "only these settings are known"},
        {"=hush", "only these settings are known"},
        {"rpm =1", "only these settings are known"},
        {"rpm=", "rpm= must be a whole number up to 1000000000"},
        {"rpm=hush", "rpm= must be"},
        {"rpm=-1", "rpm= must be"},
        {"rpm=1.5", "rpm= must be"},
        {"rpm=1000000001", "rpm= must be"},
        {"tpm=hush", "tpm= must be a whole number"},
        {"tpm=99999999999999999999", "tpm= must be"},
        {"concurrency=hush", "concurrency= must be a whole number"},
        {"weight=0", "weight= must be a whole number from 1 to 100"},
        {"weight=101", "weight= must be"},
        {"priority=hush", "priority= must be high, normal or low"},
        {"priority=", "priority= must be"},
        {"models=", "models= must be names of models"},
        {"models=,hush", "models= must be"},
        {"models=hush,", "models= must be"},
        {"models=hush,,x", "models= must be"},
        {"expires=hush", "expires= must be a day, such as 2027-03-31"},
        {"store=hush", "store= must be a size"},
        {"store=1GiB", "store= is not supported yet"},
        {"rpm=1 rpm=1", "rpm is given twice"},
        {"admin admin", "admin is given twice"},
        {"expires=2027-01-01 expires=2028-01-01", "expires is given twice"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const str text = str_from_c(cases[i].text);
        char *exact = exact_copy(text);
        struct buf why = {.limit = 0};
        struct key_settings s;

        assert_false(key_settings_read(str_from(exact, text.len), &s, &why));
        if (strstr(buf_cstr(&why), cases[i].why) == NULL || strstr(buf_cstr(&why), "hush") != NULL)
            fail_msg("%s\nis not what to say about %s", buf_cstr(&why), cases[i].text);
        buf_fini(&why);
        free(exact);
    }
}

/* ---- of a name */

static void models_are_names_and_globs(void **state)
{
    static const struct {
        const char *models, *model;
        bool is_allowed;
    } cases[] = {
        {"models=a,b", "a", true},         {"models=a,b", "b", true},
        {"models=a,b", "c", false},        {"models=a,b", "a,b", false},
        {"models=a,b", "", false},         {"models=qwen*", "qwen3", true},
        {"models=qwen*", "xqwen3", false}, {"models=qwen*", "QWEN3", false},
        {"models=x,*-20b", "a-20b", true}, {"models=*", "", true},
        {"models=a=b", "a=b", true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct key_settings s = settings_of(cases[i].models);

        assert_true(allowance_is_choosy(&s.name));
        if (allowance_has_model(&s.name, str_from_c(cases[i].model)) != cases[i].is_allowed)
            fail_msg("%s and %s", cases[i].models, cases[i].model);
    }
}

static void limits_that_are_not_given_are_the_defaults(void **state)
{
    const struct rate_limits defaults = {.rpm = 1, .tpm = 2, .concurrency = 3};
    const struct key_settings s = settings_of("rpm=0 concurrency=7");
    const struct rate_limits l = allowance_limits(&s.name, &defaults);

    (void)state;
    assert_int_equal(l.rpm, 0);
    assert_int_equal(l.tpm, 2);
    assert_int_equal(l.concurrency, 7);
    assert_int_equal(allowance_limits(NULL, &defaults).rpm, 1);
}

static void settings_of_several_lines_come_together(void **state)
{
    struct allowance a = settings_of("rpm=1 models=x").name;
    const struct allowance more = settings_of("tpm=2 rpm=1 weight=3").name;
    enum key_setting which;

    (void)state;
    assert_true(allowance_add(&a, &more, &which));
    assert_true(allowance_is_same(
        &a, &(struct allowance){.given = 1U << KEY_SETTING_RPM | 1U << KEY_SETTING_TPM |
                                         1U << KEY_SETTING_MODELS | 1U << KEY_SETTING_WEIGHT,
                                .models = STR("x"),
                                .limits = {.rpm = 1, .tpm = 2},
                                .weight = 3}));
}

static void settings_that_differ_are_a_contradiction(void **state)
{
    static const struct {
        const char *one, *two;
        enum key_setting which;
    } cases[] = {
        {"models=a", "models=b", KEY_SETTING_MODELS},
        {"rpm=1", "rpm=2", KEY_SETTING_RPM},
        {"tpm=0", "weight=1 tpm=2", KEY_SETTING_TPM},
        {"concurrency=1", "concurrency=2", KEY_SETTING_CONCURRENCY},
        {"weight=1", "weight=2", KEY_SETTING_WEIGHT},
        {"priority=normal", "priority=low", KEY_SETTING_PRIORITY},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct allowance a = settings_of(cases[i].one).name;
        const struct allowance more = settings_of(cases[i].two).name;
        enum key_setting which = KEY_SETTINGS;

        assert_false(allowance_is_same(&a, &more));
        assert_false(allowance_add(&a, &more, &which));
        assert_int_equal(which, cases[i].which);
    }
}

static void a_copy_is_whole_or_not_there(void **state)
{
    const struct key_settings s = settings_of("models=a,b rpm=1");
    bool has_failed = true;

    (void)state;
    for (long n = 0; has_failed; n++) {
        struct arena memory = {.last = NULL};
        const struct allowance *copy;

        failing_malloc_begin(n, FAILS_ONCE);
        copy = allowance_dup(&memory, &s.name);
        has_failed = failing_malloc_end();
        assert_int_equal(copy == NULL, has_failed);
        assert_true(copy == NULL || allowance_is_same(copy, &s.name));
        assert_true(copy == NULL || copy->models.p != s.name.models.p);
        arena_fini(&memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_setting_is_read),
        cmocka_unit_test(without_settings_nothing_is_given),
        cmocka_unit_test(mistakes_are_told_in_words_that_show_nothing),
        cmocka_unit_test(models_are_names_and_globs),
        cmocka_unit_test(limits_that_are_not_given_are_the_defaults),
        cmocka_unit_test(settings_of_several_lines_come_together),
        cmocka_unit_test(settings_that_differ_are_a_contradiction),
        cmocka_unit_test(a_copy_is_whole_or_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
