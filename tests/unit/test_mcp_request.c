/* test_mcp_request.c -- what we say to MCP servers, byte by byte. */
#include "lib/test.h"

#include "base/version.h"
#include "lib/fixture.h"
#include "mcp/proto/mcp_request.h"

#define CLIENT "{\"name\":\"antiphon\",\"version\":\"" ANTIPHON_VERSION "\"}"
#define ENVELOPE                                                                                   \
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                  \
    "\"io.modelcontextprotocol/clientInfo\":" CLIENT ","                                           \
    "\"io.modelcontextprotocol/clientCapabilities\":{}"
#define LEGACY .version = MCP_2025_11_25
#define MODERN .version = MCP_2026_07_28

static const struct {
    struct mcp_request request;
    const char *text;
} requests[] = {
    {{.method = MCP_INITIALIZE, LEGACY, .id = 0},
     "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
     "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":" CLIENT "}}"},
    {{.method = MCP_INITIALIZED, LEGACY},
     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"},
    {{.method = MCP_PING, LEGACY, .id = 9}, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}"},
    {{.method = MCP_DISCOVER, MODERN, .id = 1},
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{\"_meta\":{" ENVELOPE
     "}}}"},
    {{.method = MCP_LIST_TOOLS, LEGACY, .id = 2},
     "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{}}"},
    {{.method = MCP_LIST_TOOLS, LEGACY, .id = 3, .cursor = STR_INIT("")},
     "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\",\"params\":{\"cursor\":\"\"}}"},
    {{.method = MCP_LIST_TOOLS, MODERN, .id = 3, .cursor = STR_INIT("a\\u00e9")},
     "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\",\"params\":{\"cursor\":\"a\\u00e9\","
     "\"_meta\":{" ENVELOPE "}}}"},
    {{.method = MCP_CALL_TOOL,
      LEGACY,
      .id = 4,
      .tool = STR_INIT("echo"),
      .arguments = STR_INIT("{\"message\":\n\t\"a  b\"}"),
      .progress_token = 4},
     "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
     "\"arguments\":{\"message\":\"a  b\"},\"_meta\":{\"progressToken\":4}}}"},
    {{.method = MCP_CALL_TOOL, LEGACY, .id = 5, .tool = STR_INIT("echo")},
     "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
     "\"arguments\":{}}}"},
    {{.method = MCP_CALL_TOOL,
      MODERN,
      .id = 6,
      .tool = STR_INIT("ask"),
      .input_responses = STR_INIT("{\"who\":{\"action\":\"decline\"}}"),
      .request_state = STR_INIT("\"opaque\\/\\ud83d 1\""),
      .progress_token = 6},
     "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"tools/call\",\"params\":{\"name\":\"ask\","
     "\"arguments\":{},\"inputResponses\":{\"who\":{\"action\":\"decline\"}},"
     "\"requestState\":\"opaque\\/\\ud83d 1\",\"_meta\":{" ENVELOPE ",\"progressToken\":6}}}"},
    {{.method = MCP_LISTEN, MODERN, .id = 7},
     "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"subscriptions/listen\",\"params\":{"
     "\"notifications\":{\"toolsListChanged\":true},\"_meta\":{" ENVELOPE "}}}"},
    {{.method = MCP_CANCELLED, MODERN, .cancelled_id = 7},
     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}"},
    {{.method = MCP_CANCELLED, LEGACY, .cancelled_id = INT64_MAX, .reason = "timeout"},
     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
     "\"requestId\":9223372036854775807,\"reason\":\"timeout\"}}"},
};

static void each_request_is_exactly_this_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        struct buf out = {0};

        mcp_request_write(&requests[i].request, &out);
        assert_str_c(buf_str(&out), requests[i].text);
        buf_fini(&out);
    }
}

static void what_is_written_reads_back_as_what_it_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        const struct mcp_request *request = &requests[i].request;
        struct buf out = {0};
        struct jsonrpc_reader r;
        struct jsonrpc_message m;
        bool is_notice;

        mcp_request_write(request, &out);
        jsonrpc_reader_init(&r, buf_str(&out));
        is_notice = request->method == MCP_INITIALIZED || request->method == MCP_CANCELLED;
        assert_int_equal(jsonrpc_next(&r, &m), is_notice ? JSONRPC_NOTIFICATION : JSONRPC_REQUEST);
        assert_true(jsonrpc_is(&m, str_from_c(mcp_method_name(request->method))));
        assert_true(is_notice || jsonrpc_id_is(&m.id, request->id));
        jsonrpc_reader_fini(&r);
        buf_fini(&out);
    }
}

/* Their ids are not ours (MCP 3.2). */
static void a_ping_is_answered_and_all_else_refused(void **state)
{
    static const struct {
        const char *method, *answer;
    } cases[] = {
        {"ping", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"},
        {"roots/list", "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":"
                       "\"Method not found\"}}"},
        {"sampling/createMessage", "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,"
                                   "\"message\":\"Method not found\"}}"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct jsonrpc_message m = {.kind = JSONRPC_REQUEST,
                                    .id = jsonrpc_id_of(STR("1")),
                                    .method = str_from_c(cases[i].method)};
        struct buf out = {0};

        mcp_request_answer(&m, &out);
        assert_str_c(buf_str(&out), cases[i].answer);
        buf_fini(&out);
    }
}

static void arguments_are_an_object_or_nothing(void **state)
{
    static const struct {
        const char *text, *arguments, *error;
    } cases[] = {
        {"{\"a\":1}", "{\"a\":1}", NULL},
        {" {} \n", "{}", NULL},
        {"", "{}", NULL},
        {" \n", "{}", NULL},
        {"[1]", NULL, "must be a JSON object, not an array."},
        {"null", NULL, "must be a JSON object, not null."},
        {"\"{}\"", NULL, "must be a JSON object, not a string."},
        {"{\"a\":", NULL, "not valid JSON: value missing at byte 5."},
        {"{} {}", NULL, "not valid JSON: text after the value at byte 3."},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        str arguments = STR_NONE;
        struct err e;

        assert_int_equal(mcp_arguments(str_from_c(cases[i].text), &arguments, &e),
                         cases[i].error == NULL ? 0 : -1);
        if (cases[i].error == NULL)
            assert_str_c(arguments, cases[i].arguments);
        else
            assert_string_equal(e.msg, cases[i].error);
    }
}

static void elicitations_are_declined_and_other_inputs_refused(void **state)
{
    struct buf out = {0};
    struct err e;

    (void)state;
    assert_int_equal(
        mcp_decline_inputs(STR("{\"who\":{\"method\":\"elicitation\\/create\",\"params\":{}},"
                               " \"a\\\"b\":{\"method\":\"elicitation/create\"}}"),
                           &out, &e),
        0);
    assert_str_c(buf_str(&out),
                 "{\"who\":{\"action\":\"decline\"},\"a\\\"b\":{\"action\":\"decline\"}}");
    buf_reset(&out);
    assert_int_equal(mcp_decline_inputs(STR_NONE, &out, &e), 0);
    assert_int_equal(out.len, 0);
    assert_int_equal(
        mcp_decline_inputs(STR("{\"m\":{\"method\":\"sampling/createMessage\"}}"), &out, &e), -1);
    assert_string_equal(e.msg, "The tool needs input that we cannot give: sampling/createMessage.");
    assert_int_equal(mcp_decline_inputs(STR("{\"m\":7}"), &out, &e), -1);
    assert_int_equal(mcp_decline_inputs(STR("[]"), &out, &e), -1);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_request_is_exactly_this_line),
        cmocka_unit_test(what_is_written_reads_back_as_what_it_is),
        cmocka_unit_test(a_ping_is_answered_and_all_else_refused),
        cmocka_unit_test(arguments_are_an_object_or_nothing),
        cmocka_unit_test(elicitations_are_declined_and_other_inputs_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
