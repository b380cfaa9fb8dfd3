/* test_request_results.c -- calls of the gateway's own tools in what a request continues or brings:
 * what the model was told of them is kept beside them. */
#include "resolve_fixture.h"

#define RESULT(id, name, arguments, output)                                                        \
    "{\"id\":\"" id "_result\",\"type\":\"hosted_call_result\",\"call_id\":\"" id                  \
    "\",\"name\":\"" name "\",\"arguments\":\"" arguments "\",\"output\":\"" output "\"}"
#define TOLD(id, name, arguments, output)                                                          \
    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"" id "\",\"type\":"        \
    "\"function\",\"function\":{\"name\":\"" name "\",\"arguments\":\"" arguments                  \
    "\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"" output "\"}"
#define QUERY          "{\\\"action\\\":\\\"search\\\",\\\"query\\\":\\\"q\\\"}"
#define CODE_ARGUMENTS "{\\\"code\\\":\\\"1\\\"}"
#define WEB_SEARCH     "{\"type\":\"web_search_call\",\"id\":\"ws_1\",\"action\":{\"type\":\"search\"}}"
#define SEARCH_RESULT  RESULT("ws_1", "web_search", QUERY, "a list")
#define SEARCH_TOLD    TOLD("ws_1", "web_search", QUERY, "a list")
#define CODE(outputs)                                                                              \
    "{\"type\":\"code_interpreter_call\",\"id\":\"ci_1\",\"code\":\"1\",\"outputs\":" outputs "}"
#define LOGS            "[{\"type\":\"logs\",\"logs\":\"l\"}]"
#define CODE_RESULT     RESULT("ci_1", "code_interpreter", CODE_ARGUMENTS, "logs and more")
#define CODE_TOLD(text) TOLD("ci_1", "code_interpreter", CODE_ARGUMENTS, text)

static void a_result_says_all_that_its_item_does(void **state)
{
    static const struct resolve_case cases[] = {
        {"of a search", CONTINUES("\"input\":\"b\""),
         .history = {{USER("a"), false}, {WEB_SEARCH, true}, {SEARCH_RESULT, true}},
         .messages = USER("a") "," SEARCH_TOLD "," USER("b")},
        {"of code, which is one call", CONTINUES("\"input\":\"b\""),
         .history = {{CODE("null"), true}, {CODE_RESULT, true}},
         .messages = CODE_TOLD("logs and more") "," USER("b")},
        {"also with logs of its own", IN_CONVERSATION("\"input\":\"b\""),
         .history = {{CODE(LOGS), true}, {CODE_RESULT, true}},
         .messages = CODE_TOLD("logs and more") "," USER("b")},
        {"a message after it is another", CONTINUES("\"input\":\"b\""),
         .history = {{WEB_SEARCH, true}, {SEARCH_RESULT, true}, {ASSISTANT("x"), true}},
         .messages = SEARCH_TOLD "," ASSISTANT("x") "," USER("b")},
        {"one whose item is gone says nothing", IN_CONVERSATION("\"input\":\"b\""),
         .history = {{USER("a"), false}, {SEARCH_RESULT, true}, {CODE(LOGS), true}},
         .messages = USER("a") "," CODE_TOLD("l") "," USER("b")},
        {"nor the first of all", CONTINUES("\"input\":\"b\""), .history = {{CODE_RESULT, true}},
         .messages = USER("b")},
        {"nor one that the gateway has not written", CONTINUES("\"input\":\"b\""),
         .history = {{CODE(LOGS), true}, {CODE_RESULT, false}},
         .messages = CODE_TOLD("l") "," USER("b")},
        {"without one a search says nothing", CONTINUES("\"input\":\"b\""),
         .history = {{USER("a"), false}, {WEB_SEARCH, true}}, .messages = USER("a") "," USER("b")},
    };

    (void)state;
    CHECK(cases);
}

#define MCP(id, output)                                                                            \
    "{\"type\":\"mcp_call\",\"id\":\"" id                                                          \
    "\",\"server_label\":\"s\",\"name\":\"f\",\"arguments\":"                                      \
    "\"{ }\",\"output\":\"" output "\"}"
#define ORIGIN(id, members)                                                                        \
    "{\"id\":\"" id "_result\",\"type\":\"hosted_call_result\",\"call_id\":\"" id "\"," members "}"

static void an_origin_tells_how_the_upstream_wrote_a_call(void **state)
{
    static const struct resolve_case cases[] = {
        {"its id", CONTINUES("\"input\":\"b\""),
         .history = {{MCP("mcp_1", "x"), true}, {ORIGIN("mcp_1", "\"upstream_id\":\"c1\""), true}},
         .messages = TOLD("c1", "f", "{ }", "x") "," USER("b")},
        {"the end of its round", CONTINUES("\"input\":\"b\""),
         .history = {{MCP("mcp_1", "x"), true},
                     {ORIGIN("mcp_1", "\"ends_round\":true"), true},
                     {MCP("mcp_2", "y"), true}},
         .messages =
             TOLD("mcp_1", "f", "{ }", "x") "," TOLD("mcp_2", "f", "{ }", "y") "," USER("b")},
        {"nothing to another call", CONTINUES("\"input\":\"b\""),
         .history = {{MCP("mcp_1", "x"), true}, {ORIGIN("mcp_2", "\"upstream_id\":\"c1\""), true}},
         .messages = TOLD("mcp_1", "f", "{ }", "x") "," USER("b")},
        {"nor when a client has written it", CONTINUES("\"input\":\"b\""),
         .history = {{MCP("mcp_1", "x"), true}, {ORIGIN("mcp_1", "\"upstream_id\":\"c1\""), false}},
         .messages = TOLD("mcp_1", "f", "{ }", "x") "," USER("b")},
        {"of a call that is referred to",
         "{\"model\":\"m\"," INPUT(REFERENCE("mcp_1") "," USER("b")) "}",
         .found = {{MCP("mcp_1", "x"), true}}, .result = ORIGIN("mcp_1", "\"upstream_id\":\"c1\""),
         .messages = TOLD("c1", "f", "{ }", "x") "," USER("b")},
    };

    (void)state;
    CHECK(cases);
}

static void an_own_call_is_completed_with_its_result(void **state)
{
    static const struct resolve_case cases[] = {
        {"a search that comes back", "{\"model\":\"m\"," INPUT(WEB_SEARCH "," USER("b")) "}",
         .found = {{WEB_SEARCH, true}}, .result = SEARCH_RESULT,
         .messages = SEARCH_TOLD "," USER("b")},
        {"code that comes back", "{\"model\":\"m\"," INPUT(CODE("null") "," USER("b")) "}",
         .found = {{CODE(LOGS), true}}, .result = CODE_RESULT,
         .messages = CODE_TOLD("logs and more") "," USER("b")},
        {"with the logs that a client had stored",
         "{\"model\":\"m\"," INPUT(CODE("null") "," USER("b")) "}", .found = {{CODE(LOGS), false}},
         .messages = CODE_TOLD("l") "," USER("b")},
        {"a reference", "{\"model\":\"m\"," INPUT(REFERENCE("ws_1") "," USER("b")) "}",
         .found = {{WEB_SEARCH, true}}, .result = SEARCH_RESULT,
         .messages = SEARCH_TOLD "," USER("b")},
        {"a search of which nothing is known",
         "{\"model\":\"m\"," INPUT(USER("a") "," WEB_SEARCH "," USER("b")) "}",
         .found = {{"", false}}, .messages = USER("a") "," USER("b")},
        {"code of which nothing is known",
         "{\"model\":\"m\"," INPUT(CODE("null") "," USER("b")) "}", .found = {{"", false}},
         .messages = CODE_TOLD("[no output]") "," USER("b")},
        {"not again in a conversation that holds it", IN_CONVERSATION(INPUT(WEB_SEARCH)),
         .history = {{WEB_SEARCH, true}, {SEARCH_RESULT, true}}, .found = {{WEB_SEARCH, true}},
         .result = SEARCH_RESULT, .messages = SEARCH_TOLD},
    };

    (void)state;
    CHECK(cases);
}

/* A function of the client may have the name that a tool of the gateway has by itself. */
static void a_call_has_the_name_that_its_tool_has_now(void **state)
{
    static const struct responses_request_options serving = {.tools.serves[HOSTED_WEB_SEARCH] =
                                                                 true};
    static const char *const bodies[] = {
        CONTINUES(
            "\"input\":\"b\",\"tools\":[" FUNCTION("web_search") ",{\"type\":\"web_search\"}]"),
        CONTINUES("\"input\":\"b\",\"tools\":[" FUNCTION("web_search") "]"),
    };
    const struct request_history_item items[] = {
        {.body = STR(WEB_SEARCH), .is_output = true},
        {.body = STR(SEARCH_RESULT), .is_output = true},
        {.body = STR("{\"type\":\"function_call\",\"name\":\"web_search\"}"), .is_output = true},
    };
    const struct request_history history = {.items = items, .n = 3};

    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        const struct tool *own;
        const struct item *call;
        struct fixture f;

        assert_int_equal(fixture_parse_with(&f, &serving, str_from_c(bodies[i]), 0), 0);
        assert_int_equal(request_resolve(&f.request, &history, &serving, &f.ids, &f.arena, &f.err),
                         0);
        own = tool_set_find_hosted(&f.request.tools, HOSTED_WEB_SEARCH);
        call = f.request.items.first;
        assert_int_equal(own != NULL, i == 0);
        assert_int_equal(str_eq(call->name, STR("web_search")), own == NULL);
        assert_true(own == NULL || str_eq(call->name, own->upstream_name));
        assert_true(str_eq(call->next->name, STR("web_search")));
        fixture_fini(&f);
    }
}

static void memory_may_run_out_anywhere(void **state)
{
    const struct responses_request_options options = {.default_model = STR_NONE};
    const struct request_history_item items[] = {
        {.body = STR(CODE(LOGS)), .is_output = true},
        {.body = STR(CODE_RESULT), .is_output = true},
    };
    const struct request_history_item found[] = {
        {.body = STR(WEB_SEARCH), .result = STR(SEARCH_RESULT)}};
    const struct request_history history = {.items = items, .n = 2, .found = found};
    size_t n_failed = 0;
    int rc = -1;

    (void)state;
    for (size_t limit = 1; rc == -1; limit += 16) {
        struct fixture f;

        rc = fixture_parse_with(&f, &options, STR(CONTINUES(INPUT(WEB_SEARCH))), limit);
        if (rc == 0) {
            rc = request_resolve(&f.request, &history, &options, &f.ids, &f.arena, &f.err);
            n_failed += rc == -1;
        }
        fixture_fini(&f);
    }
    assert_true(n_failed > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_says_all_that_its_item_does),
        cmocka_unit_test(an_origin_tells_how_the_upstream_wrote_a_call),
        cmocka_unit_test(an_own_call_is_completed_with_its_result),
        cmocka_unit_test(a_call_has_the_name_that_its_tool_has_now),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
