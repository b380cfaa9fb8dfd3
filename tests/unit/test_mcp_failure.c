/* test_mcp_failure.c -- every row of the table of failures (MCP 14). */
#include "lib/test.h"

#include "base/utf8.h"
#include "json/json_read.h"
#include "mcp/proto/mcp_failure.h"

#define DOCS .label = STR_INIT("docs")

static const struct {
    struct mcp_failure failure;
    const char *text, *object;
} rows[] = {
    {{.cause = MCP_FAILED_RPC,
      DOCS,
      .code = -32603,
      .message = STR_INIT("database \"x\" exploded")},
     "database \"x\" exploded (-32603)",
     "{\"type\":\"mcp_protocol_error\",\"code\":-32603,\"message\":\"database \\\"x\\\" "
     "exploded\"}"},
    {{.cause = MCP_FAILED_HTTP, DOCS, .code = 503},
     "MCP server docs: HTTP 503",
     "{\"type\":\"http_error\",\"code\":503,\"message\":\"MCP server docs: HTTP 503\"}"},
    {{.cause = MCP_FAILED_UNREACHABLE, DOCS, .message = STR_INIT("10.0.0.7 refused")},
     "MCP server docs is unreachable",
     "{\"type\":\"http_error\",\"code\":502,\"message\":\"MCP server docs is unreachable\"}"},
    {{.cause = MCP_FAILED_CLOSED, DOCS},
     "MCP server docs closed the connection",
     "{\"type\":\"mcp_protocol_error\",\"code\":-32000,\"message\":\"MCP server docs closed the "
     "connection\"}"},
    {{.cause = MCP_FAILED_TIMEOUT, DOCS, .tool = STR_INIT("a.b"), .seconds = 60},
     "tool a.b timed out after 60 s",
     "{\"type\":\"mcp_protocol_error\",\"code\":-32001,\"message\":\"tool a.b timed out after 60 "
     "s\"}"},
    {{.cause = MCP_FAILED_ARGUMENTS, .message = STR_INIT("must be a JSON object, not null.")},
     "Invalid arguments: must be a JSON object, not null.",
     "{\"type\":\"mcp_protocol_error\",\"code\":-32602,\"message\":\"Invalid arguments: must be a "
     "JSON object, not null.\"}"},
    {{.cause = MCP_FAILED_RESULT, DOCS, .message = STR_INIT("The server sent nonsense.")},
     "MCP server docs: The server sent nonsense.",
     "{\"type\":\"mcp_protocol_error\",\"code\":-32603,\"message\":\"MCP server docs: The server "
     "sent nonsense.\"}"},
    {{.cause = MCP_FAILED_LIMIT, .message = STR_INIT("Too many calls are waiting.")},
     "Too many calls are waiting.",
     "{\"type\":\"mcp_protocol_error\",\"code\":-32000,\"message\":\"Too many calls are "
     "waiting.\"}"},
};

static void each_cause_has_exactly_these_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf text = {0}, object = {0};

        mcp_failure_text(&rows[i].failure, &text);
        mcp_failure_object(&rows[i].failure, &object);
        assert_str_c(buf_str(&text), rows[i].text);
        assert_str_c(buf_str(&object), rows[i].object);
        buf_fini(&text);
        buf_fini(&object);
    }
}

static struct mcp_call_result call_result(const char *content)
{
    return (struct mcp_call_result){.is_error = true, .content = str_from_c(content)};
}

static void a_tool_that_failed_says_so_itself(void **state)
{
    static const struct {
        const char *content, *text, *object;
    } cases[] = {
        {"[{\"type\":\"text\",\"text\":\"Access denied\"},{\"type\":\"image\",\"data\":\"AAAA\"}]",
         "Access denied\n[image, 3 bytes]",
         "{\"type\":\"mcp_tool_execution_error\",\"content\":[{\"type\":\"text\",\"text\":\"Access "
         "denied\"},{\"type\":\"text\",\"text\":\"[image, 3 bytes]\"}]}"},
        {"[]", "[no content]", "{\"type\":\"mcp_tool_execution_error\",\"content\":[]}"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct mcp_call_result result = call_result(cases[i].content);
        const struct mcp_failure f = {.cause = MCP_FAILED_TOOL, .result = &result};
        struct buf text = {0}, object = {0};

        mcp_failure_text(&f, &text);
        mcp_failure_object(&f, &object);
        assert_str_c(buf_str(&text), cases[i].text);
        assert_str_c(buf_str(&object), cases[i].object);
        buf_fini(&text);
        buf_fini(&object);
    }
}

static void a_long_text_is_cut_between_characters(void **state)
{
    struct buf message = {0}, text = {0}, object = {0};
    struct mcp_failure f = {.cause = MCP_FAILED_RPC, .code = 1};

    (void)state;
    for (size_t i = 0; i < 2 * (size_t)MCP_FAILURE_MAX_CHARS; i++)
        buf_c(&message, "\xE2\x82\xAC");
    f.message = buf_str(&message);
    buf_c(&text, "before: ");
    mcp_failure_text(&f, &text);
    assert_int_equal(utf8_count(buf_str(&text)), 8 + MCP_FAILURE_MAX_CHARS);
    assert_true(utf8_is_valid(buf_str(&text)));
    mcp_failure_object(&f, &object);
    assert_true(jr_is_valid(buf_str(&object)));
    assert_true(utf8_count(buf_str(&object)) < MCP_FAILURE_MAX_CHARS + 100);
    buf_fini(&message);
    buf_fini(&text);
    buf_fini(&object);
}

static void malformed_bytes_are_replaced(void **state)
{
    const struct mcp_failure f = {.cause = MCP_FAILED_RPC, .code = 1, .message = STR("a\xFFz")};
    struct buf text = {0};

    (void)state;
    mcp_failure_text(&f, &text);
    assert_str_c(buf_str(&text), "a\xEF\xBF\xBDz (1)");
    buf_fini(&text);
}

static void an_unknown_tool_asks_for_a_new_list(void **state)
{
    static const struct {
        enum mcp_cause cause;
        int64_t code;
        const char *content;
        bool wants;
    } cases[] = {
        {MCP_FAILED_RPC, -32602, NULL, true},
        {MCP_FAILED_RPC, -32603, NULL, false},
        {MCP_FAILED_TIMEOUT, -32602, NULL, false},
        {MCP_FAILED_TOOL, 0,
         "[{\"type\":\"text\",\"text\":\"MCP error -32602: Tool no-such-tool not found\"}]", true},
        {MCP_FAILED_TOOL, 0, "[{\"type\":\"text\",\"text\":\"Unknown tool: x\"}]", true},
        {MCP_FAILED_TOOL, 0, "[{\"type\":\"text\",\"text\":\"Access denied\"}]", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct mcp_call_result result = call_result(cases[i].content);
        const struct mcp_failure f = {.cause = cases[i].cause,
                                      .code = cases[i].code,
                                      .result = cases[i].content == NULL ? NULL : &result};

        assert_int_equal(mcp_failure_wants_refresh(&f), cases[i].wants);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cause_has_exactly_these_words),
        cmocka_unit_test(a_tool_that_failed_says_so_itself),
        cmocka_unit_test(a_long_text_is_cut_between_characters),
        cmocka_unit_test(malformed_bytes_are_replaced),
        cmocka_unit_test(an_unknown_tool_asks_for_a_new_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
