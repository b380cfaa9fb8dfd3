/* test_request_hosted.c -- tools that the gateway runs join a request: what the upstream is told of
 * them, round by round, and what the choice of the client then means. */
#include "request_fixture.h"

#define FUNCTION_A     "{\"type\":\"function\",\"name\":\"a\"}"
#define MCP(label)     "{\"type\":\"mcp\",\"server_label\":\"" label "\"}"
#define ALL_TOOLS      FUNCTION_A "," MCP("docs") "," MCP("web") "," MCP("empty")
#define BODY(members)  "{\"model\":\"m\",\"input\":\"x\",\"tools\":[" ALL_TOOLS "]," members "}"
#define CHOICE(choice) BODY("\"tool_choice\":" choice)
#define NAMED(name)    "{\"type\":\"function\",\"function\":{\"name\":\"" name "\"}}"
#define OF_DOCS        "\"type\":\"mcp\",\"server_label\":\"docs\""
#define ALLOWED(mode, tools)                                                                       \
    "{\"type\":\"allowed_tools\",\"mode\":\"" mode "\",\"tools\":[" tools "]}"

static const struct responses_request_options usual = {.default_model = STR_NONE};
static const struct responses_request_options injecting = {.has_injected_tools = true};
static const struct request_history no_history = {.n = 0};

static void complete(struct fixture *f, const struct responses_request_options *options,
                     const char *body)
{
    if (fixture_complete(f, options, str_from_c(body), &no_history, 0) == -1)
        fail_msg("%s (%s) for %s", f->err.msg, f->err.param, body);
}

/* ---- the set */

static void hosted_tools_come_after_those_of_the_client(void **state)
{
    const struct tool *t;
    struct fixture f;

    (void)state;
    complete(&f, &usual, CHOICE("\"auto\""));
    assert_false(f.request.needs_tools);
    assert_int_equal(f.request.tools.n, 4);
    assert_int_equal(f.request.tools.n_sent, 4);
    t = f.request.tools.first->next;
    assert_int_equal(t->kind, TOOL_MCP);
    assert_true(str_eq(t->server_label, STR("docs")) && str_eq(t->name, STR("search")));
    assert_true(str_eq(t->description, STR("Finds \\\"it\\\".")));
    assert_string_equal(t->mcp, "docs search");
    assert_false(t->needs_approval);
    assert_true(str_is_none(t->next->description) && t->next->needs_approval);
    assert_ptr_equal(tool_set_find(&f.request.tools, STR("mcp__web__search")),
                     f.request.tools.last);
    fixture_fini(&f);
}

static void a_hosted_tool_is_found_by_server_and_name(void **state)
{
    const struct tool_set *set;
    struct fixture f;

    (void)state;
    complete(&f, &usual, CHOICE("\"auto\""));
    set = &f.request.tools;
    assert_string_equal(tool_set_find_mcp(set, STR("docs"), STR("search"))->mcp, "docs search");
    assert_string_equal(tool_set_find_mcp(set, STR("\\u0077eb"), STR("s\\u0065arch"))->mcp,
                        "web search");
    assert_null(tool_set_find_mcp(set, STR("web"), STR("a.b")));
    assert_null(tool_set_find_mcp(set, STR_NONE, STR("a")));
    fixture_fini(&f);
}

static void a_name_of_the_client_is_not_taken(void **state)
{
    struct fixture f;

    (void)state;
    assert_int_equal(fixture_complete(&f, &injecting,
                                      STR("{\"model\":\"m\",\"input\":\"x\",\"tools\":[{\"type\":"
                                          "\"function\",\"name\":\"mcp__web__search\"}]}"),
                                      &no_history, 0),
                     -1);
    assert_string_equal(f.err.param, "tools");
    fixture_fini(&f);
}

static void only_requests_that_may_have_tools_of_servers_need_them(void **state)
{
    struct fixture f;

    (void)state;
    assert_int_equal(fixture_parse_with(&f, &usual, STR("{\"model\":\"m\",\"input\":\"x\"}"), 0),
                     0);
    assert_false(f.request.needs_tools);
    fixture_fini(&f);
    assert_int_equal(
        fixture_parse_with(&f, &injecting, STR("{\"model\":\"m\",\"input\":\"x\"}"), 0), 0);
    assert_true(f.request.needs_tools);
    fixture_fini(&f);
}

/* ---- what the upstream gets */

static void check_sent(const char *claim, const json_t *chat, const char *names)
{
    struct buf sent = {0};
    const json_t *tool;
    size_t i;

    json_array_foreach(json_object_get(chat, "tools"), i, tool)
    {
        const json_t *function = json_object_get(tool, "function");

        buf_c(&sent, json_string_value(json_object_get(function, "name")));
        buf_char(&sent, ' ');
    }
    if (strcmp(buf_cstr(&sent), names) != 0)
        fail_msg("%s: tools sent: %s", claim, buf_cstr(&sent));
    buf_fini(&sent);
}

static void check_choice(const char *claim, const json_t *chat, const char *choice)
{
    if (choice != NULL)
        assert_json(claim, json_object_get(chat, "tool_choice"), choice);
    else if (json_object_get(chat, "tool_choice") != NULL)
        fail_msg("%s: a choice was sent", claim);
}

static void a_hosted_tool_is_sent_as_a_function(void **state)
{
    const struct chat_request_options options = {0};
    struct fixture f;
    json_t *chat;

    (void)state;
    complete(&f, &usual, CHOICE("\"auto\""));
    chat = fixture_chat(&f, &options);
    assert_json("described", json_array_get(json_object_get(chat, "tools"), 1),
                "{\"type\":\"function\",\"function\":{\"name\":\"mcp__docs__search\","
                "\"description\":\"Finds \\\"it\\\".\",\"parameters\":{\"type\":\"object\"}}}");
    assert_json("not described", json_array_get(json_object_get(chat, "tools"), 2),
                "{\"type\":\"function\",\"function\":{\"name\":\"mcp__docs__a_b__0123456789\","
                "\"parameters\":{}}}");
    json_decref(chat);
    fixture_fini(&f);
}

#define A          "a "
#define DOCS_TOOLS "mcp__docs__search mcp__docs__a_b__0123456789 "
#define WEB_TOOLS  "mcp__web__search "

struct choice_case {
    const char *claim, *body;
    enum chat_tool_choice support;
    enum chat_round round;
    const char *sent, *choice; /* names, each with a ' '; NULL: no choice is sent */
};

static void check_choices(const struct choice_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct chat_request_options options = {.tool_choice = cases[i].support,
                                                     .round = cases[i].round};
        struct fixture f;
        json_t *chat;

        complete(&f, &usual, cases[i].body);
        chat = fixture_chat(&f, &options);
        check_sent(cases[i].claim, chat, cases[i].sent);
        check_choice(cases[i].claim, chat, cases[i].choice);
        json_decref(chat);
        fixture_fini(&f);
    }
}

#define CHECK(cases) check_choices(cases, sizeof(cases) / sizeof((cases)[0]))
#define FULL         CHAT_CHOICE_FULL, CHAT_FIRST_ROUND
#define STRINGS      CHAT_CHOICE_STRINGS, CHAT_FIRST_ROUND
#define AUTO         CHAT_CHOICE_AUTO, CHAT_FIRST_ROUND
#define ONE          "{" OF_DOCS ",\"name\":\"a.\\u0062\"}"
#define ONE_SENT     "mcp__docs__a_b__0123456789 "

static void a_choice_is_bound_to_hosted_tools(void **state)
{
    static const struct choice_case cases[] = {
        {"a tool of a server", CHOICE(ONE), FULL, A DOCS_TOOLS WEB_TOOLS,
         NAMED("mcp__docs__a_b__0123456789")},
        {"the same where only words are taken", CHOICE(ONE), STRINGS, ONE_SENT, "\"required\""},
        {"the same where only auto is taken", CHOICE(ONE), AUTO, ONE_SENT, "\"auto\""},
        {"any tool of a server", CHOICE("{" OF_DOCS "}"), FULL, DOCS_TOOLS, "\"required\""},
        {"words are enough for that", CHOICE("{" OF_DOCS "}"), STRINGS, DOCS_TOOLS, "\"required\""},
        {"the server where only auto is taken", CHOICE("{" OF_DOCS "}"), AUTO, DOCS_TOOLS,
         "\"auto\""},
        {"any tool of any server", CHOICE("{\"type\":\"mcp\"}"), FULL, DOCS_TOOLS WEB_TOOLS,
         "\"required\""},
        {"required is satisfied by hosted tools alone",
         "{\"model\":\"m\",\"input\":\"x\",\"tools\":[" MCP("docs") "],\"tool_choice\":"
                                                                    "\"required\"}",
         FULL, DOCS_TOOLS WEB_TOOLS, "\"required\""},
        {"a function as before", CHOICE(FUNCTION_A), FULL, A DOCS_TOOLS WEB_TOOLS, NAMED("a")},
        {"a server may be allowed", CHOICE(ALLOWED("auto", MCP("docs"))), FULL, DOCS_TOOLS,
         "\"auto\""},
        {"or some of its tools", CHOICE(ALLOWED("required", ONE "," ONE "," MCP("web"))), FULL,
         ONE_SENT WEB_TOOLS, "\"required\""},
        {"or all servers", CHOICE(ALLOWED("auto", "{\"type\":\"mcp\"}")), FULL,
         DOCS_TOOLS WEB_TOOLS, "\"auto\""},
        {"or one without tools", CHOICE(ALLOWED("auto", MCP("empty") "," FUNCTION_A)), FULL, A,
         "\"auto\""},
    };

    (void)state;
    CHECK(cases);
}

#define LATER(support) CHAT_CHOICE_##support, CHAT_LATER_ROUND
#define LAST(support)  CHAT_CHOICE_##support, CHAT_LAST_ROUND
#define EVERYTHING     A DOCS_TOOLS WEB_TOOLS

static void a_forced_call_is_forced_once(void **state)
{
    static const struct choice_case cases[] = {
        {"a tool", CHOICE(ONE), LATER(FULL), EVERYTHING, "\"auto\""},
        {"a tool where words are taken", CHOICE(ONE), LATER(STRINGS), EVERYTHING, "\"auto\""},
        {"a tool where auto is taken", CHOICE(ONE), LATER(AUTO), EVERYTHING, "\"auto\""},
        {"a server", CHOICE("{" OF_DOCS "}"), LATER(FULL), EVERYTHING, "\"auto\""},
        {"any", CHOICE("\"required\""), LATER(FULL), EVERYTHING, "\"auto\""},
        {"none stays none", CHOICE("\"none\""), LATER(FULL), EVERYTHING, "\"none\""},
        {"none where auto is taken", CHOICE("\"none\""), LATER(AUTO), "", NULL},
        {"what was not given is not sent", BODY("\"stream\":true"), LATER(FULL), EVERYTHING, NULL},
        {"what is not allowed stays away", CHOICE(ALLOWED("required", ONE)), LATER(FULL), ONE_SENT,
         "\"auto\""},
    };

    (void)state;
    CHECK(cases);
}

static void nothing_is_called_in_the_last_round(void **state)
{
    static const struct choice_case cases[] = {
        {"whatever was chosen", CHOICE(ONE), LAST(FULL), EVERYTHING, "\"none\""},
        {"or was not", BODY("\"stream\":true"), LAST(STRINGS), EVERYTHING, "\"none\""},
        {"a server that takes auto alone gets no tools", CHOICE("{" OF_DOCS "}"), LAST(AUTO), "",
         NULL},
    };

    (void)state;
    CHECK(cases);
}

static void later_rounds_have_what_is_left_of_the_tokens(void **state)
{
    const struct chat_request_options options = {
        .token_field = CHAT_BOTH_TOKEN_FIELDS, .round = CHAT_LATER_ROUND, .spent_tokens = 70};
    struct fixture f;
    json_t *chat;

    (void)state;
    complete(&f, &usual, BODY("\"max_output_tokens\":100"));
    chat = fixture_chat(&f, &options);
    assert_json("max_tokens", json_object_get(chat, "max_tokens"), "30");
    assert_json("max_completion_tokens", json_object_get(chat, "max_completion_tokens"), "30");
    json_decref(chat);
    fixture_fini(&f);
    complete(&f, &usual, BODY("\"stream\":true"));
    chat = fixture_chat(&f, &options);
    assert_null(json_object_get(chat, "max_tokens"));
    json_decref(chat);
    fixture_fini(&f);
}

/* ---- choices that cannot be bound */

static void a_choice_of_nothing_is_refused_once_tools_are_known(void **state)
{
    static const struct {
        const char *choice, *msg;
    } cases[] = {
        {"{\"type\":\"mcp\",\"server_label\":\"files\"}",
         "Tool choice 'mcp' not found in 'tools' parameter."},
        {"{" OF_DOCS ",\"name\":\"gone\"}", "Tool choice 'mcp' not found in 'tools' parameter."},
        {MCP("empty"), "Tool choice 'mcp' must be specified with 'tools' parameter."},
        {ALLOWED("auto", "{" OF_DOCS ",\"name\":\"gone\"}"),
         "Tool choice 'mcp' not found in 'tools' parameter."},
        {ALLOWED("auto", MCP("files")), "Tool choice 'mcp' not found in 'tools' parameter."},
        {ALLOWED("required", MCP("empty")),
         "Tool choice 'allowed_tools' must be specified with 'tools' parameter."},
        {"{\"type\":\"function\",\"name\":\"b\"}",
         "Tool choice 'function' not found in 'tools' parameter."},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct buf body = {0};
        struct fixture f;

        buf_c(&body, "{\"model\":\"m\",\"input\":\"x\",\"tools\":[" ALL_TOOLS "],\"tool_choice\":");
        buf_c(&body, cases[i].choice);
        buf_char(&body, '}');
        assert_int_equal(fixture_parse_with(&f, &injecting, buf_str(&body), 0), 0);
        assert_null(f.request.tool_choice.tool);
        if (request_add_mcp(&f.request, fixture_hosted, N_FIXTURE_HOSTED, &f.arena, &f.err) == 0)
            fail_msg("accepted: %s", cases[i].choice);
        assert_int_equal(f.err.code, ERR_INVALID_VALUE);
        assert_string_equal(f.err.param, "tool_choice");
        assert_string_equal(f.err.msg, cases[i].msg);
        fixture_fini(&f);
        buf_fini(&body);
    }
}

/* Its tools are not waited for, unless it may be one whose tools join every request. */
static void a_choice_of_an_unknown_server_is_refused_at_once(void **state)
{
    static const char *const bodies[] = {
        CHOICE("{\"type\":\"mcp\",\"server_label\":\"files\"}"),
        CHOICE("{\"type\":\"mcp\",\"server_label\":\"files\",\"name\":\"a\"}"),
        CHOICE(ALLOWED("auto", MCP("files"))),
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
        struct fixture f;

        assert_int_equal(fixture_parse_with(&f, &usual, str_from_c(bodies[i]), 0), -1);
        assert_int_equal(f.err.code, ERR_INVALID_VALUE);
        assert_string_equal(f.err.param, "tool_choice");
        fixture_fini(&f);
        assert_int_equal(fixture_parse_with(&f, &injecting, str_from_c(bodies[i]), 0), 0);
        fixture_fini(&f);
    }
}

static void the_form_of_a_choice_is_checked_at_once(void **state)
{
    struct fixture f;

    (void)state;
    assert_int_equal(
        fixture_parse_with(&f, &usual, STR(CHOICE("{\"type\":\"mcp\",\"name\":\"a\"}")), 0), -1);
    assert_int_equal(f.err.code, ERR_MISSING_PARAMETER);
    assert_string_equal(f.err.param, "tool_choice.server_label");
    fixture_fini(&f);
    assert_int_equal(
        fixture_parse_with(&f, &usual, STR(CHOICE("{\"type\":\"mcp\",\"server_label\":7}")), 0),
        -1);
    assert_int_equal(f.err.code, ERR_INVALID_TYPE);
    fixture_fini(&f);
}

/* ---- calls of the history */

static void check_name(const char *item, const struct responses_request_options *options,
                       const char *tools, const char *expected)
{
    const struct chat_request_options chat_options = {0};
    struct buf body = {0};
    struct fixture f;
    const json_t *call;
    json_t *chat;

    buf_c(&body,
          "{\"model\":\"m\",\"input\":[{\"type\":\"mcp_call\",\"id\":\"c\",\"output\":\"o\",");
    buf_c(&body, item);
    buf_c(&body, "}],\"tools\":[");
    buf_c(&body, tools);
    buf_c(&body, "]}");
    complete(&f, options, buf_cstr(&body));
    chat = fixture_chat(&f, &chat_options);
    call = json_array_get(json_object_get(chat, "messages"), 0);
    call = json_array_get(json_object_get(call, "tool_calls"), 0);
    call = json_object_get(json_object_get(call, "function"), "name");
    assert_string_equal(json_string_value(call), expected);
    json_decref(chat);
    fixture_fini(&f);
    buf_fini(&body);
}

static void calls_of_the_history_have_the_name_the_model_sees(void **state)
{
#define OF(label, name) "\"server_label\":\"" label "\",\"name\":\"" name "\""
    (void)state;
    check_name(OF("docs", "a.b"), &usual, MCP("docs"), "mcp__docs__a_b__0123456789");
    check_name(OF("d\\u006fcs", "search"), &injecting, "", "mcp__docs__search");
    check_name(OF("docs", "gone"), &usual, MCP("docs"), "mcp__docs__gone");
    check_name(OF("a b", "c/d"), &injecting, "", "mcp__a_b__c_d");
    check_name(OF("docs", "search"), &usual, "", "search");
    check_name("\"name\":\"search\"", &usual, MCP("docs"), "search");
}

/* ---- the echo */

static void check_echo(struct fixture *f, const char *member, const char *expected)
{
    struct buf echo = {0};
    json_t *tree;

    buf_char(&echo, '{');
    responses_request_echo(&f->request, &echo);
    buf_char(&echo, '}');
    tree = json_loadb(echo.p, echo.len, JSON_REJECT_DUPLICATES, NULL);
    assert_json(member, json_object_get(tree, member), expected);
    json_decref(tree);
    buf_fini(&echo);
}

static void the_echo_names_the_server_of_a_choice(void **state)
{
    struct fixture f;

    (void)state;
    complete(&f, &usual, CHOICE("{" OF_DOCS "}"));
    check_echo(&f, "tool_choice", "{" OF_DOCS "}");
    fixture_fini(&f);
    complete(&f, &usual, CHOICE(ONE));
    check_echo(&f, "tool_choice", "{" OF_DOCS ",\"name\":\"a.b\"}");
    fixture_fini(&f);
}

static void the_echo_says_what_holds_about_approvals(void **state)
{
    static const char body[] =
        "{\"model\":\"m\",\"input\":\"x\",\"tools\":[{" OF_DOCS "},{\"type\":\"mcp\","
        "\"server_label\":\"web\",\"require_approval\":\"always\"}," MCP("empty") "]}";
    struct mcp_declaration *d;
    struct fixture f;

    (void)state;
    complete(&f, &usual, body);
    d = f.request.tools.first_server;
    d->effective_approval = STR("\"never\"");
    d->next->effective_approval = STR("\"never\"");
    check_echo(&f, "tools",
               "[{" OF_DOCS ",\"require_approval\":\"never\"},{\"type\":\"mcp\",\"server_label\":"
               "\"web\",\"require_approval\":\"always\"}," MCP("empty") "]");
    fixture_fini(&f);
}

static void memory_may_run_out_anywhere(void **state)
{
    static const char body[] =
        "{\"model\":\"m\",\"input\":[{\"type\":\"mcp_call\",\"id\":\"c\",\"server_label\":\"docs\","
        "\"name\":\"gone\",\"output\":\"\"}],\"tools\":[" ALL_TOOLS "],\"tool_choice\":" ONE "}";
    size_t limit = 1;
    struct fixture f;

    (void)state;
    for (; fixture_complete(&f, &usual, str_from_c(body), &no_history, limit) == -1; limit += 16) {
        assert_int_equal(f.err.code, ERR_INTERNAL);
        fixture_fini(&f);
    }
    assert_int_equal(f.request.tool_choice.mode, TOOL_CHOICE_TOOL);
    fixture_fini(&f);
    assert_true(limit > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosted_tools_come_after_those_of_the_client),
        cmocka_unit_test(a_hosted_tool_is_found_by_server_and_name),
        cmocka_unit_test(a_name_of_the_client_is_not_taken),
        cmocka_unit_test(only_requests_that_may_have_tools_of_servers_need_them),
        cmocka_unit_test(a_hosted_tool_is_sent_as_a_function),
        cmocka_unit_test(a_choice_is_bound_to_hosted_tools),
        cmocka_unit_test(a_forced_call_is_forced_once),
        cmocka_unit_test(nothing_is_called_in_the_last_round),
        cmocka_unit_test(later_rounds_have_what_is_left_of_the_tokens),
        cmocka_unit_test(a_choice_of_nothing_is_refused_once_tools_are_known),
        cmocka_unit_test(a_choice_of_an_unknown_server_is_refused_at_once),
        cmocka_unit_test(the_form_of_a_choice_is_checked_at_once),
        cmocka_unit_test(calls_of_the_history_have_the_name_the_model_sees),
        cmocka_unit_test(the_echo_names_the_server_of_a_choice),
        cmocka_unit_test(the_echo_says_what_holds_about_approvals),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
