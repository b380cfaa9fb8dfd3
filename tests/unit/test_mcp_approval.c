/* test_mcp_approval.c -- policies as they are written, and their verdicts. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "mcp/proto/mcp_approval.h"

static struct arena memory;

static int teardown(void **state)
{
    (void)state;
    arena_fini(&memory);
    return 0;
}

static struct mcp_approval policy(const char *raw)
{
    struct mcp_approval p = {.mode = MCP_APPROVAL_NEVER};
    struct buf why = {0};

    if (mcp_approval_read(str_from_c(raw), &memory, &p, &why) == -1)
        fail_msg("%s: %s", raw, buf_cstr(&why));
    buf_fini(&why);
    return p;
}

static void policies_decide_by_name_and_hint(void **state)
{
    static const struct {
        const char *raw;
        bool of_a, of_b, of_read_only_a;
    } cases[] = {
        {"\"never\"", false, false, false},
        {"\"always\"", true, true, true},
        /* 15.1: in neither, in never, in always, in both */
        {"{\"never\": {\"tool_names\": [\"a\"]}}", false, true, false},
        {"{\"never\": [\"a\"]}", false, true, false},
        {"{\"always\": {\"tool_names\": [\"a\"]}}", true, true, true},
        {"{\"always\": {\"tool_names\": [\"a\"]}, \"never\": {\"tool_names\": [\"a\", \"b\"]}}",
         true, false, true},
        {"{\"never\": {\"tool_names\": [\"*\"]}}", false, false, false},
        {"{\"never\": {\"read_only\": true}}", true, true, false},
        {"{\"never\": {\"read_only\": false}}", false, false, true},
        {"{\"never\": {\"tool_names\": [\"a\"], \"read_only\": true}}", true, true, false},
        {"{\"never\": {}}", true, true, true},
        {"{\"always\": null, \"never\": {\"tool_names\": null, \"read_only\": null}}", true, true,
         true},
        {"{\"never\": {\"tool_names\": [\"\\u0061\"]}}", false, true, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct mcp_approval p = policy(cases[i].raw);

        if (mcp_approval_is_needed(&p, NULL, STR("a"), false) != cases[i].of_a ||
            mcp_approval_is_needed(&p, NULL, STR("b"), false) != cases[i].of_b ||
            mcp_approval_is_needed(&p, NULL, STR("a"), true) != cases[i].of_read_only_a)
            fail_msg("%s", cases[i].raw);
    }
}

static void request_can_ask_for_more_and_not_for_less(void **state)
{
    static const struct {
        const char *floor, *asked;
        bool is_needed;
    } cases[] = {
        {"\"always\"", "\"never\"", true},
        {"\"never\"", "\"always\"", true},
        {"\"never\"", "\"never\"", false},
        {"\"always\"", NULL, true},
        {"\"never\"", NULL, false},
        {"{\"never\": [\"a\"]}", "{\"always\": [\"a\"]}", true},
        {"{\"always\": [\"a\"]}", "{\"never\": [\"a\"]}", true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct mcp_approval floor = policy(cases[i].floor);
        struct mcp_approval asked = policy(cases[i].asked == NULL ? "\"never\"" : cases[i].asked);

        if (mcp_approval_is_needed(&floor, cases[i].asked == NULL ? NULL : &asked, STR("a"),
                                   false) != cases[i].is_needed)
            fail_msg("%s, %s", cases[i].floor, cases[i].asked);
    }
}

static void always_allowed_names_soften_all_but_the_always_filter(void **state)
{
    static const str names[] = {STR_INIT("a")};
    const struct mcp_name_list allowed = {true, names, 1};
    struct mcp_approval p = policy("\"always\"");

    (void)state;
    p.also_never = allowed;
    assert_false(mcp_approval_is_needed(&p, NULL, STR("a"), false));
    assert_true(mcp_approval_is_needed(&p, NULL, STR("b"), false));
    p = policy("{\"always\": [\"a\"]}");
    p.also_never = allowed;
    assert_true(mcp_approval_is_needed(&p, NULL, STR("a"), false));
    p = policy("\"never\"");
    p.also_never = allowed;
    assert_false(mcp_approval_is_needed(&p, NULL, STR("b"), false));
}

static void other_values_are_refused(void **state)
{
    static const struct {
        const char *raw, *says;
    } cases[] = {
        {"\"sometimes\"", "must be \"never\", \"always\" or"},
        {"true", "must be \"never\", \"always\" or"},
        {"{}", "must be \"never\", \"always\" or"},
        {"[\"a\"]", "must be \"never\", \"always\" or"},
        {"{\"always\": true}", "must be an array of names or an object with \"tool_names\""},
        {"{\"never\": {\"tool_names\": \"a\"}}", "must be an array of names in \"tool_names\""},
        {"{\"never\": {\"tool_names\": [1]}}", "must be an array of names in \"tool_names\""},
        {"{\"never\": {\"read_only\": 1}}", "\"read_only\" must be true or false"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct mcp_approval p = {.mode = MCP_APPROVAL_ALWAYS};
        struct buf why = {0};

        assert_int_equal(mcp_approval_read(str_from_c(cases[i].raw), &memory, &p, &why), -1);
        assert_int_equal(p.mode, MCP_APPROVAL_ALWAYS);
        if (strstr(buf_cstr(&why), cases[i].says) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", buf_cstr(&why), cases[i].says);
        buf_fini(&why);
    }
}

static void no_memory_is_a_failure_with_a_reason(void **state)
{
    struct mcp_approval p = {.mode = MCP_APPROVAL_NEVER};
    struct arena full;
    struct buf why = {0};

    (void)state;
    arena_init(&full, 16);
    assert_int_equal(mcp_approval_read(STR("{\"never\": [\"a\", \"b\"]}"), &full, &p, &why), -1);
    assert_non_null(strstr(buf_cstr(&why), "out of memory"));
    buf_fini(&why);
    arena_fini(&full);
}

static void only_an_empty_list_means_no_tools(void **state)
{
    static const struct {
        const char *raw;
        bool is_none;
    } cases[] = {
        {"[]", true},
        {"{\"tool_names\": []}", true},
        {"{\"tool_names\": [], \"read_only\": true}", true},
        {"[\"a\"]", false},
        {"{}", false},
        {"{\"read_only\": true}", false},
        {"{\"tool_names\": null}", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct mcp_filter f = {.hint = MCP_HINT_ANY};
        struct buf why = {0};

        assert_int_equal(mcp_filter_read(str_from_c(cases[i].raw), &memory, &f, &why), 0);
        assert_int_equal(mcp_filter_is_none(&f), cases[i].is_none);
        if (cases[i].is_none)
            assert_false(mcp_filter_has(&f, STR("a"), true));
        buf_fini(&why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies_decide_by_name_and_hint),
        cmocka_unit_test(request_can_ask_for_more_and_not_for_less),
        cmocka_unit_test(always_allowed_names_soften_all_but_the_always_filter),
        cmocka_unit_test(only_an_empty_list_means_no_tools),
        cmocka_unit_test(other_values_are_refused),
        cmocka_unit_test(no_memory_is_a_failure_with_a_reason),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
