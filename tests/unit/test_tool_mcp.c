/* test_tool_mcp.c -- tools of type mcp as requests declare them. */
#include "request_fixture.h"

#define TOOLS(tools)      "{\"model\":\"m\",\"input\":\"x\",\"tools\":[" tools "]}"
#define MCP(members)      "{\"type\":\"mcp\"," members "}"
#define DOCS(members)     MCP("\"server_label\":\"docs\"," members)
#define LABEL_64          "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-"
#define ADDITIONAL(tools) "{\"type\":\"additional_tools\",\"tools\":[" tools "]}"
#define LABELLED(label)   MCP("\"server_label\":\"" label "\"")
#define WRONG_LABEL(label)                                                                         \
    "Invalid 'tools[0].server_label': '" label "'. A server label is made of "                     \
    "at most 64 letters, digits, '_' and '-'."
#define ALONE(member)                                                                              \
    "Invalid 'tools[0]." member "': it can only be given together with "                           \
    "'server_url'."
#define EXPECTED(type, got) "expected " type ", but got " got " instead."

static const struct responses_request_options usual = {.default_model = STR_NONE};

static void a_wrong_declaration_is_refused_by_its_path(void **state)
{
    static const struct {
        const char *tool;
        enum err_code code;
        const char *param, *msg; /* the end of it */
    } cases[] = {
        {MCP("\"server_url\":\"https://x\""), ERR_MISSING_PARAMETER, "tools[0].server_label",
         "'tools[0].server_label'."},
        {LABELLED(""), ERR_INVALID_VALUE, "tools[0].server_label", "an empty string instead."},
        {LABELLED("a.b"), ERR_INVALID_VALUE, "tools[0].server_label", WRONG_LABEL("a.b")},
        {LABELLED("\\u00e9"), ERR_INVALID_VALUE, "tools[0].server_label", WRONG_LABEL("\xC3\xA9")},
        {LABELLED(LABEL_64 "x"), ERR_INVALID_VALUE, "tools[0].server_label",
         WRONG_LABEL(LABEL_64 "x")},
        {MCP("\"server_label\":7"), ERR_INVALID_TYPE, "tools[0].server_label",
         EXPECTED("a string", "a number")},
        {DOCS("\"server_url\":[]"), ERR_INVALID_TYPE, "tools[0].server_url",
         EXPECTED("a string", "an array")},
        {DOCS("\"connector_id\":\"c\""), ERR_UNSUPPORTED_PARAMETER, "tools[0].connector_id",
         "'tools[0].connector_id'."},
        {DOCS("\"tunnel_id\":\"t\""), ERR_UNSUPPORTED_PARAMETER, "tools[0].tunnel_id",
         "'tools[0].tunnel_id'."},
        {DOCS("\"authorization\":\"s\""), ERR_INVALID_VALUE, "tools[0].authorization",
         ALONE("authorization")},
        {DOCS("\"headers\":{}"), ERR_INVALID_VALUE, "tools[0].headers", ALONE("headers")},
        {DOCS("\"headers\":{\"k\":7}"), ERR_INVALID_TYPE, "tools[0].headers.k",
         EXPECTED("a string", "a number")},
        {DOCS("\"allowed_tools\":\"a\""), ERR_INVALID_TYPE, "tools[0].allowed_tools",
         EXPECTED("an array or an object", "a string")},
        {DOCS("\"allowed_tools\":[\"a\",7]"), ERR_INVALID_TYPE, "tools[0].allowed_tools[1]",
         EXPECTED("a string", "a number")},
        {DOCS("\"allowed_tools\":{\"tool_names\":[null]}"), ERR_INVALID_TYPE,
         "tools[0].allowed_tools.tool_names[0]", EXPECTED("a string", "null")},
        {DOCS("\"allowed_tools\":{\"read_only\":\"yes\"}"), ERR_INVALID_TYPE,
         "tools[0].allowed_tools.read_only", EXPECTED("a boolean", "a string")},
        {DOCS("\"require_approval\":\"maybe\""), ERR_INVALID_VALUE, "tools[0].require_approval",
         "'always' and 'never'."},
        {DOCS("\"require_approval\":[]"), ERR_INVALID_TYPE, "tools[0].require_approval",
         EXPECTED("a string or an object", "an array")},
        {DOCS("\"require_approval\":{\"always\":[\"a\"]}"), ERR_INVALID_TYPE,
         "tools[0].require_approval.always", EXPECTED("an object", "an array")},
        {DOCS("\"require_approval\":{\"never\":{\"tool_names\":[7]}}"), ERR_INVALID_TYPE,
         "tools[0].require_approval.never.tool_names[0]", EXPECTED("a string", "a number")},
        {DOCS("\"allowed_callers\":\"direct\""), ERR_INVALID_TYPE, "tools[0].allowed_callers",
         EXPECTED("an array", "a string")},
        {DOCS("\"allowed_callers\":[]"), ERR_INVALID_VALUE, "tools[0].allowed_callers",
         "which is not in the list."},
        {DOCS("\"allowed_callers\":[\"programmatic\"]"), ERR_INVALID_VALUE,
         "tools[0].allowed_callers", "which is not in the list."},
        {DOCS("\"defer_loading\":1"), ERR_INVALID_TYPE, "tools[0].defer_loading",
         EXPECTED("a boolean", "a number")},
        {LABELLED("docs") "," LABELLED("d\\u006fcs"), ERR_INVALID_VALUE, "tools[1].server_label",
         "more than one MCP tool has the server label 'docs'."},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct buf body = {0};
        struct fixture f;

        buf_c(&body, "{\"model\":\"m\",\"input\":\"x\",\"tools\":[");
        buf_c(&body, cases[i].tool);
        buf_c(&body, "]}");
        if (fixture_parse_with(&f, &usual, buf_str(&body), 0) == 0)
            fail_msg("accepted: %s", cases[i].tool);
        if (f.err.code != cases[i].code || strcmp(f.err.param, cases[i].param) != 0 ||
            !str_ends_with(str_from_c(f.err.msg), str_from_c(cases[i].msg)))
            fail_msg("%s: %s (%s)", cases[i].tool, f.err.msg, f.err.param);
        fixture_fini(&f);
        buf_fini(&body);
    }
}

static void a_declaration_has_what_was_given(void **state)
{
    static const char body[] = TOOLS(DOCS(
        "\"server_url\":\"https:\\/\\/x\",\"authorization\":\"\\u0073\",\"headers\":"
        "{\"k\":\"v\"},\"server_description\":\"a\\nb\",\"allowed_tools\":{\"tool_names\":"
        "[\"a\"],\"read_only\":true},\"require_approval\":{\"always\":{\"tool_names\":[]},"
        "\"never\":null},\"allowed_callers\":[\"x\",\"direct\"],\"defer_loading\":false") "," LABELLED(LABEL_64));
    const struct mcp_declaration *d;
    struct fixture f;

    (void)state;
    assert_int_equal(fixture_parse_with(&f, &usual, str_from_c(body), 0), 0);
    assert_int_equal(f.request.tools.n_servers, 2);
    d = f.request.tools.first_server;
    assert_true(str_eq(d->label, STR("docs")) && str_eq(d->at, STR("tools[0]")));
    assert_true(str_eq(d->server_url, STR("https://x")));
    assert_true(str_eq(d->authorization, STR("s")));
    assert_true(str_eq(d->headers, STR("{\"k\":\"v\"}")));
    assert_true(str_eq(d->description, STR("a\\nb")));
    assert_true(str_starts_with(d->allowed_tools, STR("{\"tool_names\"")));
    assert_true(str_starts_with(d->require_approval, STR("{\"always\"")));
    assert_false(d->is_inherited);
    d = d->next;
    assert_ptr_equal(d, f.request.tools.last_server);
    assert_true(str_eq(d->label, STR(LABEL_64)) && str_eq(d->at, STR("tools[1]")));
    assert_true(str_is_none(d->server_url) && str_is_none(d->authorization));
    assert_null(d->next);
    fixture_fini(&f);
}

static void declarations_are_served(void **state)
{
    const struct responses_request_options strict = {.tools.reject_unserved = true};
    struct fixture f;

    (void)state;
    assert_int_equal(fixture_parse_with(&f, &strict, STR(TOOLS(LABELLED("docs"))), 0), 0);
    assert_true(f.request.needs_tools);
    fixture_fini(&f);
}

/* ---- where declarations come from */

static void of_a_repeated_server_the_last_with_credentials_counts(void **state)
{
    static const char body[] =
        "{\"model\":\"m\",\"previous_response_id\":\"r\",\"input\":[" ADDITIONAL(
            DOCS("\"server_url\":\"u\",\"authorization\":\"s\"") "," LABELLED(
                "own")) "," ADDITIONAL(DOCS("\"server_url\":\"v\",\"authorization\":\"t\"")) "]}";
    static const struct request_history_item before = {
        .body = STR_INIT(ADDITIONAL(DOCS("\"server_url\":\"u\"") "," LABELLED("old")))};
    const struct request_history history = {.items = &before, .n = 1};
    const struct mcp_declaration *d;
    struct fixture f;

    (void)state;
    assert_int_equal(fixture_complete(&f, &usual, str_from_c(body), &history, 0), 0);
    assert_int_equal(f.request.tools.n_servers, 3);
    d = f.request.tools.first_server;
    assert_true(str_eq(d->label, STR("docs")) && str_eq(d->authorization, STR("t")));
    assert_false(d->is_inherited);
    assert_true(str_eq(d->next->label, STR("old")) && d->next->is_inherited);
    assert_true(str_eq(d->next->next->label, STR("own")) && !d->next->next->is_inherited);
    fixture_fini(&f);
}

static void tools_of_the_previous_response_are_inherited(void **state)
{
    const struct request_history history = {
        .previous_tail = STR("],\"tools\":[" DOCS("\"server_url\":\"u\"") "]}")};
    struct fixture f;

    (void)state;
    assert_int_equal(
        fixture_complete(&f, &usual,
                         STR("{\"model\":\"m\",\"input\":\"x\",\"previous_response_id\":\"r\"}"),
                         &history, 0),
        0);
    assert_int_equal(f.request.tools.n_servers, 1);
    assert_true(f.request.tools.first_server->is_inherited);
    fixture_fini(&f);
    assert_int_equal(
        fixture_complete(
            &f, &usual,
            STR("{\"model\":\"m\",\"input\":\"x\",\"previous_response_id\":\"r\",\"tools\":[" DOCS(
                "\"server_url\":\"u\"") "]}"),
            &history, 0),
        0);
    assert_false(f.request.tools.first_server->is_inherited);
    fixture_fini(&f);
}

static void memory_may_run_out_anywhere(void **state)
{
    static const char body[] =
        TOOLS(DOCS("\"server_url\":\"\\u0075\",\"authorization\":\"\\u0073\""));
    size_t limit = 1;
    struct fixture f;

    (void)state;
    for (; fixture_parse_with(&f, &usual, str_from_c(body), limit) == -1; limit += 16) {
        assert_int_equal(f.err.code, ERR_INTERNAL);
        fixture_fini(&f);
    }
    assert_int_equal(f.request.tools.n_servers, 1);
    fixture_fini(&f);
    assert_true(limit > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_declaration_is_refused_by_its_path),
        cmocka_unit_test(a_declaration_has_what_was_given),
        cmocka_unit_test(declarations_are_served),
        cmocka_unit_test(of_a_repeated_server_the_last_with_credentials_counts),
        cmocka_unit_test(tools_of_the_previous_response_are_inherited),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
