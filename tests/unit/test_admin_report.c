/* test_admin_report.c -- what a gateway tells operators, as columns. */
#include "lib/failing_malloc.h"
#include "lib/test.h"

#include "cli/admin_report.h"

#define HEADS "NAME  STATE  SINCE  IN FLIGHT  SERVED  FAILURES  URL  MODELS\n"

static void check_upstreams(const char *json, const char *expected)
{
    struct buf out = {.limit = 0};

    assert_true(admin_report_upstreams(str_from_c(json), &out));
    assert_string_equal(buf_cstr(&out), expected);
    buf_fini(&out);
}

static void each_upstream_is_a_line_and_its_error_another(void **state)
{
    (void)state;
    check_upstreams(
        "{\"data\":[{\"name\":\"one\",\"url\":\"http://h/v1\",\"state\":\"up\",\"since\":1795538353,"
        "\"in_flight\":3,\"limit\":8,\"served\":120,\"failures\":2,"
        "\"last_error\":{\"at\":1795538300,\"message\":\"refused\\nand more\"},\"models\":[\"m\",\"n\"]},"
        "{\"name\":\"a-long-name\",\"url\":\"http://other/v1\",\"state\":\"drained\",\"since\":null,"
        "\"in_flight\":0,\"limit\":null,\"served\":0,\"failures\":0,\"last_error\":null,"
        "\"models\":[]}]}",
        "NAME         STATE    SINCE                    IN FLIGHT  SERVED  FAILURES  URL              MODELS\n"
        "one          up       2026-11-24 16:39:13 UTC  3/8        120     2         http://h/v1      m, n\n"
        "  last error, 2026-11-24 16:38:20 UTC: refused and more\n"
        "a-long-name  drained  -                        0          0       0         http://other/v1  -\n");
}

static void no_upstream_is_heads_alone(void **state)
{
    (void)state;
    check_upstreams("{\"data\":[]}", HEADS);
}

/* The cell of these models, which begins below MODELS. */
static void check_models(const char *models, const char *expected)
{
    struct buf json = {.limit = 0}, out = {.limit = 0};

    buf_c(&json, "{\"data\":[{\"name\":\"n\",\"models\":");
    buf_c(&json, models);
    buf_c(&json, "}]}");
    assert_true(admin_report_upstreams(buf_str(&json), &out));
    assert_string_equal(buf_cstr(&out) + strlen(HEADS) +
                            strlen("n     -      -      0          0       0         -    "),
                        expected);
    buf_fini(&json);
    buf_fini(&out);
}

static void models_that_have_no_room_are_counted(void **state)
{
    (void)state;
    check_models("[\"m\"]", "m\n");
    check_models("[\"aaaaaaaaaaaaaaaaaaaa\",\"bbbbbbbbbbbbbbbbbb\",\"c\",\"d\"]",
                 "aaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbb +2\n");
    check_models("[\"0123456789012345678901234567890123456789\",\"b\"]",
                 "0123456789012345678901234567890123456789 +1\n");
    check_models("[\"01234567890123456789012345678901234567890\"]",
                 "0123456789012345678901234567890123456789...\n");
    check_models(
        "[\"\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9"
        "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\",\"m\"]",
        "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9"
        "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9, m\n");
}

static void no_text_commands_the_terminal(void **state)
{
    (void)state;
    check_models("[\"a\\u001b[2J\\u009bm\\n\\u202eb\"]", "a [2J m  b\n");
    check_upstreams(
        "{\"data\":[{\"name\":\"\\u001b]0;\\u0007\",\"last_error\":{\"message\":\"\\r\\u001bc\"}}]}",
        "NAME   STATE  SINCE  IN FLIGHT  SERVED  FAILURES  URL  MODELS\n"
        " ]0;   -      -      0          0       0         -    -\n"
        "  last error, 1970-01-01 00:00:00 UTC:   c\n");
}

static void members_of_other_types_are_nothing(void **state)
{
    (void)state;
    check_upstreams(
        "{\"data\":[7,{\"name\":1,\"since\":\"x\",\"models\":{\"a\":1},\"last_error\":\"e\"}]}",
        HEADS "-     -      -      0          0       0         -    -\n"
              "-     -      -      0          0       0         -    -\n");
}

static void each_name_is_a_line(void **state)
{
    struct buf out = {.limit = 0};
    const str json = STR(
        "{\"data\":[{\"name\":\"alice\",\"keys\":[{\"mark\":\"7692c3ad\",\"admin\":false,\"expires\":5},"
        "{\"mark\":\"8b5b9db0\",\"admin\":true,\"expires\":1795538353}],"
        "\"models\":[\"qwen3*\",\"m\"],\"weight\":2,\"priority\":\"high\",\"rpm\":60,\"tpm\":null,"
        "\"concurrency\":null,\"running\":1,\"requests_left\":0,\"tokens_left\":null},"
        "{\"name\":null,\"keys\":[{\"mark\":\"3fc4ccfe\",\"admin\":false,\"expires\":null}],"
        "\"models\":null,\"weight\":1,\"priority\":\"normal\",\"rpm\":null,\"tpm\":null,"
        "\"concurrency\":null,\"running\":null,\"requests_left\":null,\"tokens_left\":null},"
        "{\"name\":\"c\",\"keys\":[{\"expires\":9},{\"expires\":null}],\"running\":0,"
        "\"concurrency\":4,\"models\":[]}]}");

    (void)state;
    assert_true(admin_report_keys(json, &out));
    assert_string_equal(
        buf_cstr(&out),
        "NAME        KEYS  ADMIN  RUNNING  REQUESTS LEFT  TOKENS LEFT  WEIGHT  PRIORITY  EXPIRES                  MODELS\n"
        "alice       2     yes    1        0/60           -            2       high      2026-11-24 16:39:13 UTC  qwen3*, m\n"
        "(3fc4ccfe)  1     -      -        -              -            1       normal    -                        all\n"
        "c           2     -      0/4      -              -            0       -         -                        -\n");
    buf_fini(&out);
}

static void what_is_no_such_answer_is_refused(void **state)
{
    static const char *const texts[] = {
        "", "x", "[]", "{}", "{\"data\":{}}", "{\"data\":[}", "{\"data\":[]} x"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct buf out = {.limit = 0};

        assert_false(admin_report_upstreams(str_from_c(texts[i]), &out));
        assert_false(admin_report_keys(str_from_c(texts[i]), &out));
        assert_int_equal(out.len, 0);
        buf_fini(&out);
    }
}

static void check_each_allocation(bool (*report)(str json, struct buf *out), str json)
{
    for (long n = 0;; n++) {
        struct buf out = {.limit = 0};
        bool has_failed;

        failing_malloc_begin(n, FAILS_ONCE);
        assert_true(report(json, &out));
        has_failed = failing_malloc_end();
        assert_int_equal(buf_failed(&out), has_failed);
        buf_fini(&out);
        if (!has_failed)
            return;
    }
}

static void out_of_memory_fails_what_is_written_to(void **state)
{
    (void)state;
    check_each_allocation(
        admin_report_upstreams,
        STR("{\"data\":[{\"name\":\"n\",\"state\":\"up\",\"models\":[\"a\",\"b\"],"
            "\"last_error\":{\"at\":1,\"message\":\"e\"}}]}"));
    check_each_allocation(
        admin_report_keys,
        STR("{\"data\":[{\"name\":\"n\",\"keys\":[{\"mark\":\"m\"}],\"models\":[\"a\"],"
            "\"running\":1}]}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_upstream_is_a_line_and_its_error_another),
        cmocka_unit_test(no_upstream_is_heads_alone),
        cmocka_unit_test(models_that_have_no_room_are_counted),
        cmocka_unit_test(no_text_commands_the_terminal),
        cmocka_unit_test(members_of_other_types_are_nothing),
        cmocka_unit_test(each_name_is_a_line),
        cmocka_unit_test(what_is_no_such_answer_is_refused),
        cmocka_unit_test(out_of_memory_fails_what_is_written_to),
    };

    return cmocka_run_group_tests_name("admin_report", tests, NULL, NULL);
}
