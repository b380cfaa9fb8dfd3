/* test_conversation.c -- order, merging and repair beyond the shared cases. */
#include "request_fixture.h"

struct conversation_case {
    const char *claim, *input, *messages;
};

#define USER(text)      "{\"role\":\"user\",\"content\":\"" text "\"}"
#define ASSISTANT(text) "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define THOUGHT(text)   "{\"type\":\"reasoning\",\"content\":[{\"text\":\"" text "\"}]}"
#define CALL_ITEM(id)   "{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"f\"}"
#define OUTPUT(id, text)                                                                           \
    "{\"type\":\"function_call_output\",\"call_id\":\"" id "\",\"output\":" text "}"
#define CALLS(calls) "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" calls "]}"
#define NAMED(id, name, arguments)                                                                 \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"" name                      \
    "\",\"arguments\":\"" arguments "\"}}"
#define CALL(id)       NAMED(id, "f", "{}")
#define TOOL(id, text) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"" text "\"}"

static const struct conversation_case cases[] = {
    {"a bare string is what the user says", "\"a\"," USER("b"), USER("a") "," USER("b")},
    {"a string in the content is a text part", "{\"role\":\"user\",\"content\":[\"a\"]}",
     USER("a")},
    {"an output that comes late is moved to its call",
     CALL_ITEM("1") "," USER("u") "," OUTPUT("1", "\"o\""),
     CALLS(CALL("1")) "," TOOL("1", "o") "," USER("u")},
    {"an id used again belongs to the newest call",
     CALL_ITEM("0") "," OUTPUT("0", "\"a\"") "," CALL_ITEM("0") "," OUTPUT("0", "\"b\""),
     CALLS(CALL("0")) "," TOOL("0", "a") "," CALLS(CALL("0")) "," TOOL("0", "b")},
    {"a call sent twice is one call", CALL_ITEM("0") "," CALL_ITEM("0") "," OUTPUT("0", "\"a\""),
     CALLS(CALL("0")) "," TOOL("0", "a")},
    {"ids are compared by what they mean",
     "{\"type\":\"function_call\",\"call_id\":\"\\u0063\",\"name\":\"f\"}," OUTPUT("c", "\"o\""),
     CALLS(CALL("c")) "," TOOL("c", "o")},
    {"calls at the very end stay open", USER("u") "," CALL_ITEM("1") "," THOUGHT("t"),
     USER("u") "," CALLS(CALL("1"))},
    {"each orphan gets a call of its own", OUTPUT("1", "\"a\"") "," OUTPUT("2", "null"),
     CALLS(NAMED("1", "unknown_tool", "{}")) "," TOOL("1", "a") "," CALLS(
         NAMED("2", "unknown_tool", "{}")) "," TOOL("2", "")},
    {"images of an output go to a user message",
     CALL_ITEM("1") "," OUTPUT("1", "[{\"type\":\"input_text\",\"text\":\"t\"},{\"type\":"
                                    "\"input_image\",\"image_url\":\"u\"}]"),
     CALLS(CALL("1")) "," TOOL("1", "t") ",{\"role\":\"user\",\"content\":[{\"type\":\"image_url\","
                                         "\"image_url\":{\"url\":\"u\"}}]}"},
    {"an output array without parts is JSON", CALL_ITEM("1") "," OUTPUT("1", "[1, {\"a\":\"b\"}]"),
     CALLS(CALL("1")) "," TOOL("1", "[1,{\\\"a\\\":\\\"b\\\"}]")},
    {"an output may be any JSON", CALL_ITEM("1") "," OUTPUT("1", "true"),
     CALLS(CALL("1")) "," TOOL("1", "true")},
    {"an empty output array is empty text", CALL_ITEM("1") "," OUTPUT("1", "[]"),
     CALLS(CALL("1")) "," TOOL("1", "")},
    {"the reasoning of a whole run is joined by newlines",
     THOUGHT("a") "," ASSISTANT("x") "," THOUGHT("b") "," CALL_ITEM("1") "," OUTPUT("1", "\"o\""),
     "{\"role\":\"assistant\",\"content\":\"x\",\"reasoning_content\":\"a\\nb\",\"tool_calls\":[" CALL(
         "1") "]}," TOOL("1", "o")},
    {"reasoning may come without content, or without text",
     "{\"type\":\"reasoning\",\"content\":null}," THOUGHT("") "," ASSISTANT("x") "," USER("u"),
     "{\"role\":\"assistant\",\"content\":\"x\"}," USER("u")},
    {"an empty text begins no line",
     ASSISTANT("") "," ASSISTANT("a") "," ASSISTANT("") "," ASSISTANT("b") "," ASSISTANT(""),
     ASSISTANT("a\\nb")},
    {"an empty text before a call says nothing beside another",
     ASSISTANT("") "," ASSISTANT("a") "," CALL_ITEM("1") "," OUTPUT("1", "\"o\""),
     "{\"role\":\"assistant\",\"content\":\"a\",\"tool_calls\":[" CALL("1") "]}," TOOL("1", "o")},
    {"empty texts alone are one empty text", ASSISTANT("") "," ASSISTANT("") "," USER("u"),
     ASSISTANT("") "," USER("u")},
    {"an image is no empty text",
     "{\"role\":\"assistant\",\"content\":[{\"type\":\"input_image\",\"image_url\":\"u\"}]}," ASSISTANT(
         "a") "," USER("u"),
     "{\"role\":\"assistant\",\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":\"u\"}},"
     "{\"type\":\"text\",\"text\":\"a\"}]}," USER("u")},
    {"a system message ends the run",
     ASSISTANT("a") ",{\"role\":\"system\",\"content\":\"s\"}," ASSISTANT("b"),
     ASSISTANT("a") ",{\"role\":\"system\",\"content\":\"s\"}," ASSISTANT("b")},
    {"a system message with an image is not merged",
     "{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"system\",\"content\":[{\"type\":"
     "\"input_image\",\"image_url\":\"u\"}]}," USER("u"),
     "{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"system\",\"content\":[{\"type\":"
     "\"image_url\",\"image_url\":{\"url\":\"u\"}}]}," USER("u")},
    {"an image of an assistant is kept",
     "{\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"a\"},{\"type\":"
     "\"input_image\",\"image_url\":\"u\"}]}," USER("u"),
     "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":"
     "\"image_url\",\"image_url\":{\"url\":\"u\"}}]}," USER("u")},
    {"audio passes through",
     "{\"role\":\"user\",\"content\":[{\"type\":\"input_audio\",\"input_audio\":{\"data\": \"x\"}}]}",
     "{\"role\":\"user\",\"content\":[{\"type\":\"input_audio\",\"input_audio\":{\"data\":\"x\"}}]}"},
    {"a hosted call without output is repaired",
     "{\"type\":\"mcp_call\",\"id\":\"m\",\"name\":\"q\",\"arguments\":\"{}\"}," USER("u"),
     CALLS(NAMED("m", "q", "{}")) "," TOOL("m", "[no output]") "," USER("u")},
    {"an error may be an object",
     "{\"type\":\"mcp_call\",\"id\":\"m\",\"name\":\"q\",\"error\":{\"code\": 1}}," USER("u"),
     CALLS(NAMED("m", "q", "{}")) "," TOOL("m", "Error: {\\\"code\\\":1}") "," USER("u")},
    {"it may have a message",
     "{\"type\":\"mcp_call\",\"id\":\"m\",\"name\":\"q\",\"error\":{\"type\":"
     "\"mcp_protocol_error\",\"code\":-32001,\"message\":\"too \\\"late\\\"\"}}," USER("u"),
     CALLS(NAMED("m", "q", "{}")) "," TOOL("m", "Error: too \\\"late\\\"") "," USER("u")},
    {"or what the tool said",
     "{\"type\":\"mcp_call\",\"id\":\"m\",\"name\":\"q\",\"error\":{\"type\":"
     "\"mcp_tool_execution_error\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
     "{\"type\":\"image\"},{\"type\":\"text\",\"text\":\"b\"}]}}," USER("u"),
     CALLS(NAMED("m", "q", "{}")) "," TOOL("m", "Error: a\\nb") "," USER("u")},
    {"even if that was nothing",
     "{\"type\":\"mcp_call\",\"id\":\"m\",\"name\":\"q\",\"error\":{\"type\":"
     "\"mcp_tool_execution_error\",\"content\":[]}}," USER("u"),
     CALLS(NAMED("m", "q", "{}")) "," TOOL("m", "Error: [no content]") "," USER("u")},
    {"an MCP tool without anything to say is no empty message",
     "{\"type\":\"mcp_call\",\"id\":\"m\",\"name\":\"q\",\"output\":\"\"}," USER("u"),
     CALLS(NAMED("m", "q", "{}")) "," TOOL("m", "[no content]") "," USER("u")},
    {"lists of tools and open approvals are not for the model",
     USER("u") ",{\"type\":\"mcp_list_tools\",\"server_label\":\"d\",\"tools\":[]},{\"type\":"
               "\"mcp_list_tools\"},{\"type\":\"mcp_approval_request\",\"id\":\"r\","
               "\"server_label\":\"d\",\"name\":\"q\",\"arguments\":\"{}\"}",
     USER("u")},
    {"a hosted call sent twice is one call",
     "{\"type\":\"mcp_call\",\"id\":\"m\",\"name\":\"q\",\"output\":\"o\"},{\"type\":\"mcp_call\","
     "\"id\":\"m\",\"name\":\"q\",\"output\":\"o\"},{\"type\":\"mcp_call\",\"id\":\"n\",\"name\":"
     "\"q\",\"output\":\"p\"}," USER("u"),
     CALLS(NAMED("m", "q", "{}") "," NAMED("n", "q", "{}")) "," TOOL("m", "o") "," TOOL(
         "n", "p") "," USER("u")},
    {"an unfinished hosted call is dropped",
     "{\"type\":\"mcp_call\",\"id\":\"m\",\"name\":\"q\",\"status\":\"in_progress\"}," USER("u"),
     USER("u")},
    {"text after a hosted call is a new message",
     "{\"type\":\"code_interpreter_call\",\"id\":\"ci\",\"code\":\"1\",\"outputs\":[{\"type\":"
     "\"logs\",\"logs\":\"a\"},{\"type\":\"image\"},{\"type\":\"logs\",\"logs\":\"b\"}]}," ASSISTANT(
         "x"),
     CALLS(NAMED("ci", "code_interpreter", "{\\\"code\\\":\\\"1\\\"}")) "," TOOL(
         "ci", "a\\n[image]\\nb") "," ASSISTANT("x")},
    {"what code gave is in lines",
     "{\"type\":\"code_interpreter_call\",\"id\":\"a\",\"code\":\"1\",\"outputs\":[{\"type\":"
     "\"logs\",\"logs\":\"l\\n\"},{\"type\":\"logs\",\"logs\":\"v\"}]}," USER("u"),
     CALLS(NAMED("a", "code_interpreter", "{\\\"code\\\":\\\"1\\\"}")) "," TOOL(
         "a", "l\\nv") "," USER("u")},
    {"code that gave nothing says so",
     "{\"type\":\"code_interpreter_call\",\"id\":\"a\",\"code\":\"1\",\"outputs\":[]}," USER("u"),
     CALLS(NAMED("a", "code_interpreter", "{\\\"code\\\":\\\"1\\\"}")) "," TOOL(
         "a", "[no output]") "," USER("u")},
    {"code that failed says so",
     "{\"type\":\"code_interpreter_call\",\"id\":\"a\",\"code\":\"1\",\"status\":\"failed\","
     "\"outputs\":null}," USER("u"),
     CALLS(NAMED("a", "code_interpreter", "{\\\"code\\\":\\\"1\\\"}")) "," TOOL(
         "a", "Error: the call has failed.") "," USER("u")},
    {"of a search without its result there is nothing to tell",
     USER("u") ",{\"type\":\"web_search_call\",\"id\":\"ws\",\"status\":\"completed\",\"action\":"
               "{\"type\":\"search\",\"query\":\"q\"}}",
     USER("u")},
    {"a shell call keeps what its action says",
     "{\"type\":\"shell_call\",\"call_id\":\"s\",\"action\":{\"commands\":[\"ls\"],\"timeout_ms\":"
     "null,\"max_output_length\":9}},{\"type\":\"shell_call_output\",\"call_id\":\"s\",\"output\":"
     "[{\"stdout\":\"x\"}]}",
     CALLS(NAMED("s", "shell", "{\\\"commands\\\":[\\\"ls\\\"],\\\"max_output_length\\\":9}")) "," TOOL(
         "s", "[{\\\"stdout\\\":\\\"x\\\"}]")},
    {"a patch call keeps its operation",
     "{\"type\":\"apply_patch_call\",\"call_id\":\"p\",\"operation\":{\"type\":\"delete_file\","
     "\"path\":\"a\"}},{\"type\":\"apply_patch_call_output\",\"call_id\":\"p\",\"output\":\"ok\"}",
     CALLS(NAMED("p", "apply_patch", "{\\\"type\\\":\\\"delete_file\\\",\\\"path\\\":\\\"a\\\"}")) "," TOOL(
         "p", "{\\\"status\\\":\\\"completed\\\",\\\"output\\\":\\\"ok\\\"}")},
    {"half a character is replaced", USER("a\\ud83d"), USER("a\\ufffd")},
};

static void run_case(const struct conversation_case *c)
{
    struct buf body = {0}, expected = {0};
    json_t *chat;

    buf_c(&body, "{\"model\":\"m\",\"input\":[");
    buf_c(&body, c->input);
    buf_c(&body, "]}");
    buf_c(&expected, "[");
    buf_c(&expected, c->messages);
    buf_c(&expected, "]");
    chat = chat_of(buf_cstr(&body));
    assert_json(c->claim, json_object_get(chat, "messages"), buf_cstr(&expected));
    json_decref(chat);
    buf_fini(&body);
    buf_fini(&expected);
}

static void every_case_is_assembled_as_claimed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        run_case(&cases[i]);
}

static void a_call_without_an_id_gets_one(void **state)
{
    json_t *chat =
        chat_of("{\"model\":\"m\",\"input\":[{\"type\":\"function_call\",\"name\":\"f\"}]}");
    const json_t *message = json_array_get(json_object_get(chat, "messages"), 0);
    const json_t *call = json_array_get(json_object_get(message, "tool_calls"), 0);
    const char *id = json_string_value(json_object_get(call, "id"));

    (void)state;
    assert_int_equal(strncmp(id, "call_", 5), 0);
    assert_int_equal(strlen(id), 5 + ID_CALL_CHARS);
    json_decref(chat);
}

static void an_orphan_of_a_held_history_is_refused(void **state)
{
    const struct conversation_context context = {.is_stateful = true};
    struct conversation c;
    struct fixture f;

    (void)state;
    assert_int_equal(
        fixture_parse(&f, STR("{\"model\":\"m\",\"input\":[" OUTPUT("c", "1") "]}"), 0), 0);
    assert_int_equal(
        conversation_build(&f.request.items, STR_NONE, &context, &f.ids, &f.arena, &c, &f.err), -1);
    assert_string_equal(f.err.msg, "No tool call found for function call output with call_id c.");
    fixture_fini(&f);
}

/* ---- reasoning that the client did not send back */

static bool find_reasoning(void *arg, const struct call *c, struct arena *a, str *ret)
{
    bool is_known = str_eq(c->id, STR("2")) && str_eq(c->name, STR("f"));

    (void)a;
    ++*(size_t *)arg;
    if (is_known)
        *ret = STR("t\\u0061");
    return is_known;
}

static void a_call_without_its_reasoning_gets_what_is_known(void **state)
{
    static const struct {
        const char *input, *messages;
        size_t n_asked;
    } recalls[] = {
        {CALL_ITEM("1") "," CALL_ITEM("2") "," CALL_ITEM("3") "," USER("u"),
         "[{\"role\":\"assistant\",\"content\":null,\"reasoning_content\":\"ta\",\"tool_calls\":"
         "[" CALL("1") "," CALL("2") "," CALL("3") "]}," TOOL("1", "[no output]") "," TOOL(
             "2", "[no output]") "," TOOL("3", "[no output]") "," USER("u") "]",
         2},
        {THOUGHT("own") "," CALL_ITEM("2"),
         "[{\"role\":\"assistant\",\"content\":null,\"reasoning_content\":\"own\","
         "\"tool_calls\":[" CALL("2") "]}]",
         0},
        {CALL_ITEM("1") "," USER("u"),
         "[" CALLS(CALL("1")) "," TOOL("1", "[no output]") "," USER("u") "]", 1},
        {ASSISTANT("x"), "[" ASSISTANT("x") "]", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(recalls) / sizeof(*recalls); i++) {
        size_t n_asked = 0;
        const struct reasoning_source source = {find_reasoning, &n_asked};
        struct chat_request_options options = {.reasoning_source = &source};
        struct buf body = {0};
        struct fixture f;
        json_t *chat;

        buf_append(&body, STR("{\"model\":\"m\",\"input\":["));
        buf_append(&body, str_from_c(recalls[i].input));
        buf_append(&body, STR("]}"));
        assert_int_equal(fixture_parse(&f, buf_str(&body), 0), 0);
        chat = fixture_chat(&f, &options);
        assert_json(recalls[i].input, json_object_get(chat, "messages"), recalls[i].messages);
        assert_int_equal(n_asked, recalls[i].n_asked);
        json_decref(chat);
        n_asked = 0;
        options.reasoning_field = CHAT_NO_REASONING;
        json_decref(fixture_chat(&f, &options));
        assert_int_equal(n_asked, 0);
        fixture_fini(&f);
        buf_fini(&body);
    }
}

/* Ten thousand calls, their outputs in the opposite order: a search per output
 * would take minutes under a sanitizer. */
static void many_calls_are_matched_in_linear_time(void **state)
{
    enum { N = 10000 };
    struct buf body = {0};
    json_t *chat;

    (void)state;
    buf_c(&body, "{\"model\":\"m\",\"input\":[");
    for (unsigned i = 0; i < N; i++) {
        buf_c(&body, "{\"type\":\"function_call\",\"name\":\"f\",\"call_id\":\"");
        buf_uint(&body, i);
        buf_c(&body, "\"},");
    }
    for (unsigned i = N; i > 0; i--) {
        buf_c(&body, "{\"type\":\"function_call_output\",\"output\":\"o\",\"call_id\":\"");
        buf_uint(&body, i - 1);
        buf_c(&body, i > 1 ? "\"}," : "\"}]}");
    }
    chat = chat_of(buf_cstr(&body));
    assert_int_equal(json_array_size(json_object_get(chat, "messages")), N + 1);
    json_decref(chat);
    buf_fini(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_is_assembled_as_claimed),
        cmocka_unit_test(a_call_without_an_id_gets_one),
        cmocka_unit_test(an_orphan_of_a_held_history_is_refused),
        cmocka_unit_test(a_call_without_its_reasoning_gets_what_is_known),
        cmocka_unit_test(many_calls_are_matched_in_linear_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
