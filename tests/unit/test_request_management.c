/* test_request_management.c -- when a client wants its context compacted: context_management, and the body
 * of /v1/responses/compact. */
#include "request_fixture.h"

#define WITH(entries) "{\"model\":\"m\",\"input\":\"x\",\"context_management\":" entries "}"

static void context_management_is_read(void **state)
{
    static const struct {
        const char *body;
        bool compacts;
        int64_t threshold;
    } rows[] = {
        {"{\"model\":\"m\",\"input\":\"x\"}", false, 0},
        {WITH("null"), false, 0},
        {WITH("[]"), false, 0},
        {WITH("[{\"type\":\"compaction\"}]"), true, 0},
        {WITH("[{\"type\":\"compaction\",\"compact_threshold\":null}]"), true, 0},
        {WITH("[{\"type\":\"compaction\",\"compact_threshold\":1000}]"), true, 1000},
        {WITH("[{\"type\":\"compaction\",\"compact_threshold\":2000},{\"type\":\"compaction\","
              "\"compact_threshold\":3000}]"),
         true, 2000},
        {WITH("[{\"type\":\"compaction\"},{\"type\":\"compaction\",\"compact_threshold\":3000}]"),
         true, 0},
        {WITH("[{\"type\":\"compaction\",\"compact_threshold\":1e300,\"other\":1}]"), true,
         9000000000000000},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fixture f;

        if (fixture_parse(&f, str_from_c(rows[i].body), 0) == -1)
            fail_msg("%s: %s", rows[i].body, f.err.msg);
        assert_int_equal(f.request.context_management.compacts, rows[i].compacts);
        assert_int_equal(f.request.context_management.threshold, rows[i].threshold);
        fixture_fini(&f);
    }
}

struct refusal {
    const char *body, *param;
    enum err_code code;
};

static void check_refusals(const struct refusal *rows, size_t n, bool is_compact)
{
    const struct responses_request_options options = {.default_model = STR_NONE,
                                                      .is_compact = is_compact};

    for (size_t i = 0; i < n; i++) {
        struct fixture f;

        if (fixture_parse_with(&f, &options, str_from_c(rows[i].body), 0) == 0)
            fail_msg("accepted: %s", rows[i].body);
        if (f.err.code != rows[i].code || strcmp(f.err.param, rows[i].param) != 0)
            fail_msg("%s: %s, '%s', %s", rows[i].body, err_wire_code(&f.err), f.err.param,
                     f.err.msg);
        fixture_fini(&f);
    }
}

static void context_management_is_refused_by_its_path(void **state)
{
    static const struct refusal rows[] = {
        {WITH("{}"), "context_management", ERR_INVALID_TYPE},
        {WITH("[1]"), "context_management[0]", ERR_INVALID_TYPE},
        {WITH("[{\"type\":1}]"), "context_management[0].type", ERR_INVALID_TYPE},
        {WITH("[{\"type\":\"compaction\",\"compact_threshold\":\"x\"}]"),
         "context_management[0].compact_threshold", ERR_INVALID_TYPE},
        {WITH("[{\"type\":\"compaction\",\"compact_threshold\":1000.5}]"),
         "context_management[0].compact_threshold", ERR_INVALID_TYPE},
        {WITH("[{}]"), "context_management[0].type", ERR_MISSING_PARAMETER},
        {WITH("[{\"type\":\"clearing\"}]"), "context_management[0].type", ERR_INVALID_VALUE},
        {WITH("[{\"type\":\"compaction\"},{\"type\":\"compaction\",\"compact_threshold\":999}]"),
         "context_management[1].compact_threshold", ERR_INTEGER_BELOW_MIN},
        {WITH("[{\"type\":\"compaction\",\"compact_threshold\":-1}]"),
         "context_management[0].compact_threshold", ERR_INTEGER_BELOW_MIN},
    };

    (void)state;
    check_refusals(rows, sizeof(rows) / sizeof(rows[0]), false);
}

static void a_body_for_the_endpoint_is_refused_by_its_path(void **state)
{
    static const struct refusal rows[] = {
        {"{}", "model", ERR_MISSING_PARAMETER},
        {"{\"model\":null,\"input\":\"x\"}", "model", ERR_MISSING_PARAMETER},
        {"{\"model\":\"m\"}", "input", ERR_MISSING_PARAMETER},
        {"{\"model\":\"m\",\"input\":null}", "input", ERR_MISSING_PARAMETER},
        {"{\"model\":\"m\",\"input\":[],\"instructions\":\"i\"}", "input", ERR_MISSING_PARAMETER},
        {"{\"model\":\"m\",\"input\":7}", "input", ERR_INVALID_TYPE},
        {"{\"model\":\"m\",\"input\":\"x\",\"tools\":{}}", "tools", ERR_INVALID_TYPE},
        {"{\"model\":\"m\",\"input\":\"x\",\"reasoning\":{\"effort\":\"huge\"}}",
         "reasoning.effort", ERR_INVALID_VALUE},
        {"{\"model\":\"m\",\"conversation\":\"c\",\"previous_response_id\":\"r\"}",
         "previous_response_id", ERR_MUTUALLY_EXCLUSIVE},
    };

    (void)state;
    check_refusals(rows, sizeof(rows) / sizeof(rows[0]), true);
}

/* What has no say in a summary may be as wrong as it likes. */
static void the_endpoint_takes_what_has_no_effect(void **state)
{
    const struct responses_request_options options = {.default_model = STR_NONE,
                                                      .is_compact = true};
    struct fixture f;

    (void)state;
    if (fixture_parse_with(&f, &options,
                           STR("{\"model\":\"m\",\"input\":\"x\",\"instructions\":\"i\",\"stream\":"
                               "true,\"store\":true,\"text\":1,\"parallel_tool_calls\":1,"
                               "\"prompt_cache_key\":1,\"prompt_cache_options\":1,"
                               "\"prompt_cache_retention\":1,\"service_tier\":1,\"personality\":1,"
                               "\"image\":1,\"reasoning\":{\"effort\":\"low\"}}"),
                           0) == -1)
        fail_msg("%s", f.err.msg);
    assert_true(f.request.has_trigger);
    assert_true(f.request.is_compact);
    assert_false(f.request.stream);
    assert_false(f.request.store);
    assert_true(str_eq(f.request.reasoning.effort, STR("low")));
    fixture_fini(&f);
    assert_int_equal(
        fixture_parse_with(&f, &options,
                           STR("{\"model\":\"m\",\"previous_response_id\":\"resp_1\"}"), 0),
        0);
    assert_true(f.request.needs_store);
    fixture_fini(&f);
}

/* Whatever is sealed is a context with nothing but a summary. */
static bool open_window(void *arg, str sealed, struct arena *a, str *ret)
{
    (void)arg;
    (void)sealed;
    (void)a;
    *ret = STR("{\"v\":1,\"k\":\"w\",\"t\":\"Goal: tea.\",\"b\":[],\"a\":[],\"n\":1,\"at\":1}");
    return true;
}

/* Code goes on in its container, and numbers of pages stand for what they stood for. */
static void tools_go_on_from_what_a_summary_has_replaced(void **state)
{
    const struct text_seal seal = {.open = open_window};
    const struct responses_request_options options = {.default_model = STR_NONE,
                                                      .compaction = {.seal = &seal}};
    struct fixture f;

    (void)state;
    if (fixture_parse_with(
            &f, &options,
            STR("{\"model\":\"m\",\"input\":[{\"type\":\"code_interpreter_call\",\"id\":\"ci_1\","
                "\"code\":\"1\",\"container_id\":\"cntr_1\",\"status\":\"completed\",\"outputs\":"
                "[{\"type\":\"logs\",\"logs\":\"1\"}]},{\"type\":\"compaction\","
                "\"encrypted_content\":\"gw1.AA\"},{\"role\":\"user\",\"content\":\"x\"}]}"),
            0) == -1)
        fail_msg("%s", f.err.msg);
    assert_true(str_is_none(item_list_container(&f.request.items)));
    assert_true(str_eq(f.request.container_id, STR("cntr_1")));
    assert_int_equal(f.request.n_searches, 0);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(context_management_is_read),
        cmocka_unit_test(context_management_is_refused_by_its_path),
        cmocka_unit_test(a_body_for_the_endpoint_is_refused_by_its_path),
        cmocka_unit_test(the_endpoint_takes_what_has_no_effect),
        cmocka_unit_test(tools_go_on_from_what_a_summary_has_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
