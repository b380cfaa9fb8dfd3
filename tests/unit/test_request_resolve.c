/* test_request_resolve.c -- requests that refer to what the store has. */
#include "resolve_fixture.h"

static void history_stands_before_the_input(void **state)
{
    static const struct resolve_case cases[] = {
        {"text after items", CONTINUES("\"input\":\"b\""),
         .history = {{USER("a"), false}, {ASSISTANT("x"), true}},
         .messages = USER("a") "," ASSISTANT("x") "," USER("b")},
        {"without input", IN_CONVERSATION("\"input\":[]"), .history = {{USER("a"), false}},
         .messages = USER("a")},
        {"instructions come first, system items of the history with them",
         CONTINUES("\"instructions\":\"i\",\"input\":\"b\""),
         .history = {{SYSTEM("s"), false}, {USER("a"), false}},
         .messages = SYSTEM("i\\n\\ns") "," USER("a") "," USER("b")},
        {"an output finds its call", CONTINUES(INPUT(OUTPUT)),
         .history = {{USER("a"), false}, {CALL, true}}, .messages = USER("a") "," CALLED},
        {"items that are gone are passed over", CONTINUES("\"input\":\"b\""),
         .history = {{"", false}, {USER("a"), false}}, .messages = USER("a") "," USER("b")},
        {"an item type that is unknown now", CONTINUES("\"input\":\"b\""),
         .history = {{"{\"type\":\"new\"}", false}}, .messages = USER("b")},
        {"an orphan is the client's mistake", IN_CONVERSATION(INPUT(OUTPUT)),
         .error = "No tool call found for function call output with call_id c.", .param = "input"},
        {"approvals are not waiting",
         CONTINUES(INPUT(USER("x") ",{\"type\":\"mcp_approval_response\",\"approval_request_id\":"
                                   "\"mcpr_1\",\"approve\":true}")),
         .history = {{USER("a"), false}},
         .error = "Invalid 'input[1].approval_request_id': no approval request with id 'mcpr_1' is "
                  "waiting.",
         .param = "input[1].approval_request_id"},
    };

    (void)state;
    CHECK(cases);
}

/* Wherever a row ends, it is passed over. */
static void an_item_that_is_damaged_is_passed_over(void **state)
{
    static const char whole[] =
        "{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"\\u00e4\"}]}";

    (void)state;
    for (size_t n = 1; n < sizeof(whole) - 1; n++) {
        char cut[sizeof(whole)] = {0};
        const struct resolve_case c = {"a row that is cut", CONTINUES("\"input\":\"b\""),
                                       .history = {{cut, false}}, .messages = USER("b")};

        memcpy(cut, whole, n);
        check_case(&c);
    }
}

#define WITH_ID(id, text) "{\"role\":\"user\",\"id\":\"" id "\",\"content\":\"" text "\"}"

static void a_conversation_says_nothing_twice(void **state)
{
    static const struct resolve_case cases[] = {
        {"a reference to what it holds", IN_CONVERSATION(INPUT(REFERENCE("x") "," USER("b"))),
         .history = {{WITH_ID("x", "a"), false}}, .found = {{WITH_ID("x", "a"), false}},
         .messages = USER("a") "," USER("b")},
        {"an item with its id", IN_CONVERSATION(INPUT(WITH_ID("\\u0078", "a") "," USER("b"))),
         .history = {{WITH_ID("x", "a"), false}}, .messages = USER("a") "," USER("b")},
        {"a reference that comes twice",
         IN_CONVERSATION(INPUT(REFERENCE("x") "," REFERENCE("x") "," USER("b"))),
         .found = {{WITH_ID("x", "a"), false}, {WITH_ID("x", "a"), false}},
         .messages = USER("a") "," USER("b")},
        {"what is behind one that is left out is found",
         IN_CONVERSATION(INPUT(REFERENCE("x") "," REFERENCE("y"))),
         .history = {{WITH_ID("x", "a"), false}},
         .found = {{WITH_ID("x", "a"), false}, {WITH_ID("y", "b"), false}},
         .messages = USER("a") "," USER("b")},
        {"the second of two is another item",
         IN_CONVERSATION(INPUT(WITH_ID("x", "a") "," WITH_ID("x", "b"))),
         .history = {{WITH_ID("x", "a"), false}}, .messages = USER("a") "," USER("b")},
        {"but a chain is as the client has made it", CONTINUES(INPUT(WITH_ID("x", "a"))),
         .history = {{WITH_ID("x", "a"), false}}, .messages = USER("a") "," USER("a")},
    };

    (void)state;
    CHECK(cases);
}

static void a_reference_becomes_the_item_it_means(void **state)
{
    static const struct resolve_case cases[] = {
        {"in its place",
         "{\"model\":\"m\"," INPUT(USER("a") "," REFERENCE("msg_1") "," USER("b")) "}",
         .found = {{ASSISTANT("x"), true}}, .messages = USER("a") "," ASSISTANT("x") "," USER("b")},
        {"several, in their order",
         "{\"model\":\"m\"," INPUT(REFERENCE("fc_1") ",{\"id\":\"fco_1\"}," USER("b")) "}",
         .found = {{CALL, true}, {OUTPUT, false}}, .messages = CALLED "," USER("b")},
        {"behind the history", CONTINUES(INPUT(REFERENCE("msg_1"))),
         .history = {{USER("a"), false}}, .found = {{USER("b"), false}},
         .messages = USER("a") "," USER("b")},
        {"the first that is unknown is reported",
         "{\"model\":\"m\"," INPUT(REFERENCE("a") "," REFERENCE("\\u0062")) "}",
         .found = {{USER("a"), false}, {"", false}}, .error = "Item with id 'b' not found.",
         .param = "input"},
        {"an item beside it is not stored yet",
         IN_CONVERSATION(INPUT(WITH_ID("x", "a") "," REFERENCE("x"))), .found = {{"", false}},
         .error = "Item with id 'x' not found.", .param = "input"},
    };

    (void)state;
    CHECK(cases);
}

/* The Agents SDK sends hosted calls without what they returned. */
static void a_hosted_call_is_completed_from_the_store(void **state)
{
#define SEARCH(rest)                                                                               \
    "{\"type\":\"mcp_call\",\"id\":\"mcp_1\",\"server_label\":\"s\",\"name\":\"f\","               \
    "\"arguments\":\"{}\"" rest "}"
#define SEARCHED(output)                                                                           \
    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"mcp_1\",\"type\":"         \
    "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\","       \
    "\"tool_call_id\":\"mcp_1\",\"content\":\"" output "\"},"
    static const struct resolve_case cases[] = {
        {"with what is stored", "{\"model\":\"m\"," INPUT(SEARCH("") "," USER("a")) "}",
         .found = {{SEARCH(",\"output\":\"found\""), true}},
         .messages = SEARCHED("found") USER("a")},
        {"it does without", "{\"model\":\"m\"," INPUT(SEARCH("") "," USER("a")) "}",
         .found = {{"", false}}, .messages = SEARCHED("[no output]") USER("a")},
        {"one that has its output is left alone",
         "{\"model\":\"m\"," INPUT(REFERENCE("x") "," SEARCH(",\"output\":\"own\"")) "}",
         .found = {{USER("a"), false}},
         .messages = USER("a") ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":"
                               "\"mcp_1\",\"type\":\"function\",\"function\":{\"name\":\"f\","
                               "\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":"
                               "\"mcp_1\",\"content\":\"own\"}"},
    };

    (void)state;
    CHECK(cases);
}

static void a_summary_the_gateway_sent_is_the_models_reasoning(void **state)
{
#define SUMMARY                                                                                    \
    "{\"type\":\"reasoning\",\"content\":[],\"summary\":[{\"type\":\"summary_text\","              \
    "\"text\":\"t\"}]}"
    static const struct resolve_case cases[] = {
        {"of an output", CONTINUES("\"input\":\"b\""),
         .history = {{SUMMARY, true}, {ASSISTANT("x"), true}},
         .messages =
             "{\"role\":\"assistant\",\"content\":\"x\",\"reasoning_content\":\"t\"}," USER("b")},
        {"not of an input", CONTINUES("\"input\":\"b\""),
         .history = {{SUMMARY, false}, {ASSISTANT("x"), true}},
         .messages = ASSISTANT("x") "," USER("b")},
    };

    (void)state;
    CHECK(cases);
}

/* ---- tools */

struct tools_case {
    struct resolve_case request;
    const char *tools, *choice; /* names of the echoed tools; the echoed choice */
    const char *sent_choice;    /* what the upstream gets, or NULL */
};

static void check_tools(const struct tools_case *c)
{
    const struct chat_request_options options = {0};
    const char *claim = c->request.claim;
    struct buf echo = {0}, names = {0};
    json_t *chat, *tree, *tool;
    struct fixture f;
    size_t i;

    if (resolve(&f, &c->request) == -1)
        fail_msg("%s: %s", claim, f.err.msg);
    chat = fixture_chat(&f, &options);
    assert_non_null(chat);
    buf_char(&echo, '{');
    responses_request_echo(&f.request, &echo);
    buf_char(&echo, '}');
    tree = json_loadb(echo.p, echo.len, 0, NULL);
    json_array_foreach(json_object_get(tree, "tools"), i, tool)
        buf_append(&names, str_from_c(json_string_value(json_object_get(tool, "name"))));
    if (strcmp(buf_cstr(&names), c->tools) != 0)
        fail_msg("%s: tools %s", claim, buf_cstr(&names));
    assert_json(claim, json_object_get(tree, "tool_choice"), c->choice);
    if (c->sent_choice != NULL)
        assert_json(claim, json_object_get(chat, "tool_choice"), c->sent_choice);
    else
        assert_null(json_object_get(chat, "tool_choice"));
    json_decref(tree);
    json_decref(chat);
    buf_fini(&names);
    buf_fini(&echo);
    fixture_fini(&f);
}

#define CHOICE_A "{\"type\":\"function\",\"name\":\"a\"}"
#define SENT_A   "{\"type\":\"function\",\"function\":{\"name\":\"a\"}}"

static void tools_that_are_not_named_are_inherited(void **state)
{
    static const struct tools_case cases[] = {
        {{"tools and choice", CONTINUES("\"input\":\"b\""),
          .tail = TAIL("\"tools\":[" FUNCTION("a") "],\"tool_choice\":" CHOICE_A)},
         "a",
         CHOICE_A,
         SENT_A},
        {{"an inherited auto is not sent", CONTINUES("\"input\":\"b\""),
          .tail = TAIL("\"tool_choice\":\"auto\",\"tools\":[" FUNCTION("a") "]")},
         "a",
         "\"auto\"",
         NULL},
        {{"a choice of its own among inherited tools",
          CONTINUES("\"input\":\"b\",\"tool_choice\":" CHOICE_A),
          .tail = TAIL("\"tools\":[" FUNCTION("a") "],\"tool_choice\":\"none\"")},
         "a",
         CHOICE_A,
         SENT_A},
        {{"tools of its own end the choice",
          CONTINUES("\"input\":\"b\",\"tools\":[" FUNCTION("b") "]"),
          .tail = TAIL("\"tools\":[" FUNCTION("a") "],\"tool_choice\":" CHOICE_A)},
         "b",
         "\"auto\"",
         NULL},
        {{"no tools are tools of its own", CONTINUES("\"input\":\"b\",\"tools\":[]"),
          .tail = TAIL("\"tools\":[" FUNCTION("a") "],\"tool_choice\":\"required\"")},
         "",
         "\"auto\"",
         NULL},
        {{"null is not named", CONTINUES("\"input\":\"b\",\"tools\":null,\"tool_choice\":null"),
          .tail = TAIL("\"tools\":[" FUNCTION("a") "],\"tool_choice\":\"required\"")},
         "a",
         "\"required\"",
         "\"required\""},
        {{"none are inherited", CONTINUES("\"input\":\"b\""),
          .tail = TAIL("\"tools\":[],\"tool_choice\":\"none\"")},
         "",
         "\"none\"",
         NULL},
        {{"a conversation has none", IN_CONVERSATION("\"input\":\"b\""), .tail = NULL},
         "",
         "\"auto\"",
         NULL},
        {{"tools of the history can be chosen",
          IN_CONVERSATION("\"input\":\"b\",\"tool_choice\":" CHOICE_A),
          .history = {{ADDITIONAL(FUNCTION("a")), false}}},
         "",
         CHOICE_A,
         SENT_A},
        {{"tools of the history may come again",
          CONTINUES(INPUT(ADDITIONAL(FUNCTION("a")) "," USER("b"))),
          .history = {{ADDITIONAL(FUNCTION("a")), false}, {ADDITIONAL(FUNCTION("a")), false}},
          .tail = TAIL("\"tools\":[],\"tool_choice\":" CHOICE_A)},
         "",
         CHOICE_A,
         SENT_A},
        {{"those of the request are newer than the history",
          IN_CONVERSATION("\"tools\":[" FUNCTION("a") "],\"tool_choice\":" CHOICE_A
                                                      "," INPUT(USER("b"))),
          .history = {{ADDITIONAL("{\"type\":\"custom\",\"name\":\"a\"}"), false}}},
         "a",
         CHOICE_A,
         SENT_A},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        check_tools(&cases[i]);
}

/* ---- configuration */

#define EFFORT(effort)                                                                             \
    "{\"type\":\"configuration_update\",\"reasoning\":{\"effort\":\"" effort "\"}}"
#define FORMAT(format)                                                                             \
    "{\"type\":\"configuration_update\",\"text\":{\"format\":{\"type\":\"" format "\"}}}"

static void the_last_update_configures_the_answer(void **state)
{
    static const struct {
        struct resolve_case request;
        const char *effort, *format; /* as echoed */
    } cases[] = {
        {{"of the history", CONTINUES("\"input\":\"b\""), .history = {{EFFORT("low"), false}}},
         "low",
         "text"},
        {{"the last of the history", CONTINUES("\"input\":\"b\""),
          .history = {{EFFORT("low"), false},
                      {FORMAT("json_object"), false},
                      {EFFORT("high"), false}}},
         "high",
         "json_object"},
        {{"the input is later", CONTINUES(INPUT(EFFORT("none") "," USER("b"))),
          .history = {{EFFORT("low"), false}, {FORMAT("json_object"), false}}},
         "none",
         "json_object"},
        {{"the request decides",
          IN_CONVERSATION("\"reasoning\":{\"effort\":\"max\"},\"text\":{\"format\":{\"type\":"
                          "\"text\"}}," INPUT(EFFORT("none") "," FORMAT("json_object"))),
          .history = {{EFFORT("low"), false}}},
         "max",
         "text"},
        {{"a stored one that is wrong is passed over", CONTINUES("\"input\":\"b\""),
          .history = {{EFFORT("low"), false}, {EFFORT("huge"), false}}},
         "low",
         "text"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf echo = {0};
        struct fixture f;
        json_t *tree;

        if (resolve(&f, &cases[i].request) == -1)
            fail_msg("%s: %s", cases[i].request.claim, f.err.msg);
        buf_char(&echo, '{');
        responses_request_echo(&f.request, &echo);
        buf_char(&echo, '}');
        tree = json_loadb(echo.p, echo.len, 0, NULL);
        assert_string_equal(
            json_string_value(json_object_get(json_object_get(tree, "reasoning"), "effort")),
            cases[i].effort);
        assert_string_equal(json_string_value(json_object_get(
                                json_object_get(json_object_get(tree, "text"), "format"), "type")),
                            cases[i].format);
        json_decref(tree);
        buf_fini(&echo);
        fixture_fini(&f);
    }
}

static void a_choice_must_be_among_all_tools(void **state)
{
    static const struct resolve_case cases[] = {
        {"a function that is nowhere", CONTINUES("\"input\":\"b\",\"tool_choice\":" CHOICE_A),
         .tail = TAIL("\"tools\":[" FUNCTION("b") "],\"tool_choice\":\"auto\""),
         .error = "Tool choice 'function' not found in 'tools' parameter.", .param = "tool_choice"},
        {"required without tools", CONTINUES("\"input\":\"b\",\"tool_choice\":\"required\""),
         .tail = TAIL("\"tools\":[],\"tool_choice\":\"auto\""),
         .error = "Tool choice 'required' must be specified with 'tools' parameter.",
         .param = "tool_choice"},
    };

    (void)state;
    CHECK(cases);
}

/* ---- before the store is asked */

static void what_needs_no_store_is_refused_at_once(void **state)
{
    static const struct {
        const char *body, *param;
    } cases[] = {
        {CONTINUES("\"input\":\"b\",\"tool_choice\":\"never\""), "tool_choice"},
        {CONTINUES("\"input\":\"b\",\"tool_choice\":{\"type\":\"function\"}"), "tool_choice.name"},
        {CONTINUES("\"input\":\"b\",\"tools\":[{\"type\":\"function\"}]"), "tools[0].name"},
        {CONTINUES(INPUT("{\"type\":\"message\"}")), "input[0].role"},
        {CONTINUES("\"conversation\":\"c\""), "previous_response_id"},
    };
    const struct responses_request_options options = {.default_model = STR_NONE};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct fixture f;

        assert_int_equal(fixture_parse_with(&f, &options, str_from_c(cases[i].body), 0), -1);
        assert_string_equal(f.err.param, cases[i].param);
        fixture_fini(&f);
    }
}

static void a_request_of_its_own_needs_no_store(void **state)
{
    const struct responses_request_options options = {.default_model = STR_NONE};
    struct fixture f;

    (void)state;
    assert_int_equal(
        fixture_parse_with(&f, &options, STR("{\"model\":\"m\"," INPUT(USER("a")) "}"), 0), 0);
    assert_false(f.request.needs_store);
    fixture_fini(&f);
}

static void references_are_listed_as_plain_text(void **state)
{
    const struct responses_request_options options = {.default_model = STR_NONE};
    struct request_references references;
    struct fixture f;

    (void)state;
    assert_int_equal(
        fixture_parse_with(&f, &options,
                           STR("{\"model\":\"m\"," INPUT(REFERENCE("\\u0061b") "," SEARCH("")) "}"),
                           0),
        0);
    assert_int_equal(request_references(&f.request, &f.arena, &references, &f.err), 0);
    assert_int_equal(references.n, 2);
    assert_true(str_eq(references.v[0].id, STR("ab")));
    assert_true(str_eq(references.v[1].id, STR("mcp_1")));
    fixture_fini(&f);
}

/* The store looks for them when the client, and its request, may be gone. */
static void references_outlive_the_request(void **state)
{
    const struct responses_request_options options = {.default_model = STR_NONE};
    const str body = STR("{\"model\":\"m\"," INPUT(REFERENCE("msg_1")) "}");
    struct request_references references;
    struct fixture f;

    (void)state;
    assert_int_equal(fixture_parse_with(&f, &options, body, 0), 0);
    assert_int_equal(request_references(&f.request, &f.arena, &references, &f.err), 0);
    memset(f.body, '?', body.len);
    assert_true(str_eq(references.v[0].id, STR("msg_1")));
    fixture_fini(&f);
}

static void what_is_unknown_is_named(void **state)
{
    struct responses_request r = {.previous_response_id = STR("resp_\\u0078"),
                                  .conversation_id = STR("conv_x")};
    struct err e;

    (void)state;
    assert_int_equal(request_reject_previous(&r, &e), -1);
    assert_int_equal(e.code, ERR_PREVIOUS_NOT_FOUND);
    assert_string_equal(e.param, "previous_response_id");
    assert_string_equal(e.msg, "Previous response with id 'resp_x' not found.");
    assert_int_equal(request_reject_conversation(&r, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_string_equal(e.param, "conversation");
    assert_string_equal(e.msg, "Conversation with id 'conv_x' not found.");
}

static void memory_may_run_out_anywhere(void **state)
{
    const struct responses_request_options options = {.default_model = STR_NONE};
    const struct request_history_item items[] = {{.body = STR(USER("a\\u0062"))},
                                                 {.body = STR(CALL), .is_output = true}};
    const struct request_history_item found[] = {{.body = STR(OUTPUT)}};
    const struct request_history history = {
        .items = items,
        .n = 2,
        .found = found,
        .previous_tail = STR(TAIL("\"tools\":[" FUNCTION("a") "],\"tool_choice\":" CHOICE_A))};
    size_t n_failed = 0;
    int rc = -1;

    (void)state;
    for (size_t limit = 1; rc == -1; limit += 16) {
        struct request_references references;
        struct fixture f;

        rc = fixture_parse_with(&f, &options, STR(CONTINUES(INPUT(REFERENCE("\\u0078")))), limit);
        if (rc == 0 &&
            (request_references(&f.request, &f.arena, &references, &f.err) == -1 ||
             request_resolve(&f.request, &history, &options, &f.ids, &f.arena, &f.err) == -1)) {
            n_failed++;
            rc = -1;
        }
        assert_true(rc == 0 || f.err.code == ERR_INTERNAL);
        fixture_fini(&f);
    }
    assert_true(n_failed > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(history_stands_before_the_input),
        cmocka_unit_test(an_item_that_is_damaged_is_passed_over),
        cmocka_unit_test(a_conversation_says_nothing_twice),
        cmocka_unit_test(a_reference_becomes_the_item_it_means),
        cmocka_unit_test(a_hosted_call_is_completed_from_the_store),
        cmocka_unit_test(a_summary_the_gateway_sent_is_the_models_reasoning),
        cmocka_unit_test(tools_that_are_not_named_are_inherited),
        cmocka_unit_test(the_last_update_configures_the_answer),
        cmocka_unit_test(a_choice_must_be_among_all_tools),
        cmocka_unit_test(what_needs_no_store_is_refused_at_once),
        cmocka_unit_test(a_request_of_its_own_needs_no_store),
        cmocka_unit_test(references_are_listed_as_plain_text),
        cmocka_unit_test(references_outlive_the_request),
        cmocka_unit_test(what_is_unknown_is_named),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
