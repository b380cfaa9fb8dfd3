/* test_responses_request.c -- what a request may contain, and how it is refused. */
#include "request_fixture.h"

#include "json/json_text.h"

#define S16                   "0123456789abcdef"
#define S64                   S16 S16 S16 S16
#define S512                  S64 S64 S64 S64 S64 S64 S64 S64
#define GOOD                  "\"model\":\"m\",\"input\":\"x\""
#define ITEM(members)         "{\"model\":\"m\",\"input\":[{" members "}]}"
#define TOOL(members)         "{" GOOD ",\"tools\":[{" members "}]}"
#define CHOICE(tools, choice) "{" GOOD ",\"tools\":[" tools "],\"tool_choice\":" choice "}"
#define FUNCTION_A            "{\"type\":\"function\",\"name\":\"a\"}"
#define WITH(members)         "{" GOOD "," members "}"

struct refusal {
    const char *body;
    enum err_code code;
    const char *param, *message;
};

static void check_refusals(const struct refusal *refusals, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct fixture f;

        if (fixture_parse(&f, str_from_c(refusals[i].body), 0) == 0)
            fail_msg("accepted: %s", refusals[i].body);
        if (f.err.code != refusals[i].code || strcmp(f.err.param, refusals[i].param) != 0 ||
            strcmp(f.err.msg, refusals[i].message) != 0)
            fail_msg("%s:\n got %s, '%s', %s\n not %d, '%s', %s", refusals[i].body,
                     err_wire_code(&f.err), f.err.param, f.err.msg, refusals[i].code,
                     refusals[i].param, refusals[i].message);
        fixture_fini(&f);
    }
}

#define CHECK(table) check_refusals(table, sizeof(table) / sizeof((table)[0]))

#define JSON_BAD "The request body is not valid JSON. Byte "
#define TYPE(what, expected, got)                                                                  \
    ERR_INVALID_TYPE, what,                                                                        \
        "Invalid type for '" what "': expected " expected ", but got " got " instead."
#define MISSING(what)     ERR_MISSING_PARAMETER, what, "Missing required parameter: '" what "'."
#define UNSUPPORTED(what) ERR_UNSUPPORTED_PARAMETER, what, "Unsupported parameter: '" what "'."
#define VALUE(what, value, supported)                                                              \
    ERR_INVALID_VALUE, what, "Invalid value: '" value "'. Supported values are: " supported "."

static void a_body_that_is_no_object_is_refused(void **state)
{
    static const struct refusal refusals[] = {
        {"", ERR_INVALID_JSON, "", JSON_BAD "0: value missing."},
        {"{\"model\":", ERR_INVALID_JSON, "", JSON_BAD "9: value missing."},
        {"{\"model\":1,}", ERR_INVALID_JSON, "", JSON_BAD "11: member name missing."},
        {"{} x", ERR_INVALID_JSON, "", JSON_BAD "3: text after the value."},
        {"{\"input\":\"\xFF\"}", ERR_INVALID_JSON, "", JSON_BAD "10: malformed UTF-8."},
        {"[1]", ERR_INVALID_TYPE, "",
         "Invalid type for the request body: expected an object, but got an array instead."},
        {"null", ERR_INVALID_TYPE, "",
         "Invalid type for the request body: expected an object, but got null instead."},
    };

    (void)state;
    CHECK(refusals);
}

static void wrong_types_are_named(void **state)
{
    static const struct refusal refusals[] = {
        {"{\"model\":1}", TYPE("model", "a string", "a number")},
        {"{\"model\":\"m\",\"input\":{}}", TYPE("input", "a string or an array", "an object")},
        {"{\"model\":\"m\",\"input\":7}", TYPE("input", "a string or an array", "a number")},
        {WITH("\"instructions\":[]"), TYPE("instructions", "a string", "an array")},
        {WITH("\"previous_response_id\":1"), TYPE("previous_response_id", "a string", "a number")},
        {WITH("\"conversation\":1"), TYPE("conversation", "a string or an object", "a number")},
        {WITH("\"conversation\":{\"id\":1}"), TYPE("conversation.id", "a string", "a number")},
        {WITH("\"stream\":\"yes\""), TYPE("stream", "a boolean", "a string")},
        {WITH("\"stream_options\":true"), TYPE("stream_options", "an object", "a boolean")},
        {WITH("\"stream_options\":{\"include_obfuscation\":1}"),
         TYPE("stream_options.include_obfuscation", "a boolean", "a number")},
        {WITH("\"store\":0"), TYPE("store", "a boolean", "a number")},
        {WITH("\"background\":0"), TYPE("background", "a boolean", "a number")},
        {WITH("\"max_output_tokens\":\"1\""), TYPE("max_output_tokens", "an integer", "a string")},
        {WITH("\"max_output_tokens\":1.5"),
         TYPE("max_output_tokens", "an integer", "a decimal number")},
        {WITH("\"max_tool_calls\":{}"), TYPE("max_tool_calls", "an integer", "an object")},
        {WITH("\"temperature\":\"hot\""), TYPE("temperature", "a number", "a string")},
        {WITH("\"top_p\":true"), TYPE("top_p", "a number", "a boolean")},
        {WITH("\"presence_penalty\":[]"), TYPE("presence_penalty", "a number", "an array")},
        {WITH("\"frequency_penalty\":\"\""), TYPE("frequency_penalty", "a number", "a string")},
        {WITH("\"top_logprobs\":0.5"), TYPE("top_logprobs", "an integer", "a decimal number")},
        {WITH("\"tools\":{}"), TYPE("tools", "an array", "an object")},
        {WITH("\"tools\":[1]"), TYPE("tools[0]", "an object", "a number")},
        {WITH("\"tool_choice\":1"), TYPE("tool_choice", "a string or an object", "a number")},
        {WITH("\"parallel_tool_calls\":1"), TYPE("parallel_tool_calls", "a boolean", "a number")},
        {WITH("\"text\":\"x\""), TYPE("text", "an object", "a string")},
        {WITH("\"text\":{\"format\":\"json\"}"), TYPE("text.format", "an object", "a string")},
        {WITH("\"text\":{\"format\":{\"type\":\"json_schema\",\"schema\":1}}"),
         TYPE("text.format.schema", "an object", "a number")},
        {WITH("\"text\":{\"verbosity\":1}"), TYPE("text.verbosity", "a string", "a number")},
        {WITH("\"reasoning\":\"low\""), TYPE("reasoning", "an object", "a string")},
        {WITH("\"reasoning\":{\"effort\":1}"), TYPE("reasoning.effort", "a string", "a number")},
        {WITH("\"include\":\"x\""), TYPE("include", "an array", "a string")},
        {WITH("\"include\":[1]"), TYPE("include[0]", "a string", "a number")},
        {WITH("\"truncation\":true"), TYPE("truncation", "a string", "a boolean")},
        {WITH("\"metadata\":[]"), TYPE("metadata", "an object", "an array")},
        {WITH("\"metadata\":{\"a\":1}"), TYPE("metadata.a", "a string", "a number")},
        {WITH("\"service_tier\":1"), TYPE("service_tier", "a string", "a number")},
        {WITH("\"personality\":1"), TYPE("personality", "a string", "a number")},
        {WITH("\"safety_identifier\":1"), TYPE("safety_identifier", "a string", "a number")},
        {WITH("\"prompt_cache_key\":1"), TYPE("prompt_cache_key", "a string", "a number")},
        {WITH("\"prompt_cache_retention\":1"),
         TYPE("prompt_cache_retention", "a string", "a number")},
        {WITH("\"user\":1"), TYPE("user", "a string", "a number")},
    };

    (void)state;
    CHECK(refusals);
}

static void required_fields_are_asked_for(void **state)
{
    static const struct refusal refusals[] = {
        {"{}", MISSING("model")},
        {"{\"model\":null,\"input\":\"x\"}", MISSING("model")},
        {"{\"model\":\"\",\"input\":\"x\"}", MISSING("model")},
        {"{\"model\":\"m\"}", MISSING("input")},
        {"{\"model\":\"m\",\"input\":null,\"instructions\":\"i\"}", MISSING("input")},
        {"{\"model\":\"m\",\"input\":[ ]}", MISSING("input")},
        {WITH("\"conversation\":{}"), MISSING("conversation.id")},
        {WITH("\"text\":{\"format\":{}}"), MISSING("text.format.type")},
        {WITH("\"text\":{\"format\":{\"type\":\"json_schema\"}}"), MISSING("text.format.name")},
        {WITH("\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"n\"}}"),
         MISSING("text.format.schema")},
    };

    (void)state;
    CHECK(refusals);
}

#define BELOW(what, least, got)                                                                    \
    what, "Invalid '" what "': integer below minimum value. Expected a value >= " least            \
          ", but got " got " instead."
#define DECIMAL(what, side, sign, limit, got)                                                      \
    what, "Invalid '" what "': decimal " side " value. Expected a value " sign " " limit           \
          ", but got " got " instead."

static void limits_and_enums_are_kept(void **state)
{
    static const struct refusal refusals[] = {
        {WITH("\"max_output_tokens\":0"), ERR_INTEGER_BELOW_MIN,
         BELOW("max_output_tokens", "1", "0")},
        {WITH("\"max_tool_calls\":0"), ERR_INTEGER_BELOW_MIN, BELOW("max_tool_calls", "1", "0")},
        {WITH("\"top_logprobs\":-1"), ERR_INTEGER_BELOW_MIN, BELOW("top_logprobs", "0", "-1")},
        {WITH("\"top_logprobs\":21"), ERR_INTEGER_ABOVE_MAX, "top_logprobs",
         "Invalid 'top_logprobs': integer above maximum value. Expected a value <= 20, but got 21 "
         "instead."},
        {WITH("\"temperature\":-0.1"), ERR_DECIMAL_BELOW_MIN,
         DECIMAL("temperature", "below minimum", ">=", "0", "-0.1")},
        {WITH("\"temperature\":2.5"), ERR_DECIMAL_ABOVE_MAX,
         DECIMAL("temperature", "above maximum", "<=", "2", "2.5")},
        {WITH("\"top_p\":-1"), ERR_DECIMAL_BELOW_MIN,
         DECIMAL("top_p", "below minimum", ">=", "0", "-1")},
        {WITH("\"top_p\":1e400"), ERR_DECIMAL_ABOVE_MAX,
         DECIMAL("top_p", "above maximum", "<=", "1", "1e400")},
        {WITH("\"presence_penalty\":-3"), ERR_DECIMAL_BELOW_MIN,
         DECIMAL("presence_penalty", "below minimum", ">=", "-2", "-3")},
        {WITH("\"frequency_penalty\":3"), ERR_DECIMAL_ABOVE_MAX,
         DECIMAL("frequency_penalty", "above maximum", "<=", "2", "3")},
        {WITH("\"text\":{\"format\":{\"type\":\"xml\"}}"),
         VALUE("text.format.type", "xml", "'text', 'json_object', and 'json_schema'")},
        {WITH("\"text\":{\"verbosity\":\"loud\"}"),
         VALUE("text.verbosity", "loud", "'low', 'medium', and 'high'")},
        {WITH("\"reasoning\":{\"effort\":\"huge\"}"),
         VALUE("reasoning.effort", "huge",
               "'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'")},
        {WITH("\"reasoning\":{\"summary\":\"no\"}"),
         VALUE("reasoning.summary", "no", "'auto', 'concise', and 'detailed'")},
        {WITH("\"reasoning\":{\"generate_summary\":\"no\"}"),
         VALUE("reasoning.generate_summary", "no", "'auto', 'concise', and 'detailed'")},
        {WITH("\"truncation\":\"some\""), VALUE("truncation", "some", "'auto' and 'disabled'")},
        {WITH("\"prompt_cache_retention\":\"1h\""),
         VALUE("prompt_cache_retention", "1h", "'in_memory' and '24h'")},
        {WITH("\"include\":[\"reasoning.encrypted_content\",\"all\"]"),
         VALUE("include[1]", "all",
               "'reasoning.encrypted_content', 'message.output_text.logprobs', "
               "'code_interpreter_call.outputs', 'web_search_call.action.sources', "
               "'file_search_call.results', 'web_search_call.results', "
               "'message.input_image.image_url', and 'computer_call_output.output.image_url'")},
        {WITH("\"safety_identifier\":\"" S64 "x\""), ERR_STRING_TOO_LONG, "safety_identifier",
         "Invalid 'safety_identifier': string too long. Expected a string with maximum length 64, "
         "but got a string with length 65 instead."},
        {WITH("\"personality\":\"" S64 "x\""), ERR_STRING_TOO_LONG, "personality",
         "Invalid 'personality': string too long. Expected a string with maximum length 64, but "
         "got a string with length 65 instead."},
        {WITH("\"metadata\":{\"k\":\"" S512 "x\"}"), ERR_STRING_TOO_LONG, "metadata.k",
         "Invalid 'metadata.k': string too long. Expected a string with maximum length 512, but "
         "got a string with length 513 instead."},
        {WITH("\"metadata\":{\"" S64 "x\":\"\"}"), ERR_STRING_TOO_LONG, "metadata",
         "Invalid 'metadata': key too long. Expected a key with maximum length 64, but got a key "
         "with length 65 instead."},
        {WITH("\"metadata\":{\"a\":\"\",\"b\":\"\",\"c\":\"\",\"d\":\"\",\"e\":\"\",\"f\":\"\","
              "\"g\":\"\",\"h\":\"\",\"i\":\"\",\"j\":\"\",\"k\":\"\",\"l\":\"\",\"m\":\"\","
              "\"n\":\"\",\"o\":\"\",\"p\":\"\",\"q\":\"\"}"),
         ERR_OBJECT_TOO_LARGE, "metadata",
         "Invalid 'metadata': too many properties. Expected an object with at most 16 properties, "
         "but got an object with 17 properties instead."},
        {WITH("\"prompt\":{\"id\":\"p\"}"), UNSUPPORTED("prompt")},
        {WITH("\"background\":true,\"store\":false"), ERR_INVALID_VALUE, "background",
         "Invalid value: 'background' can only be true when 'store' is true."},
    };

    (void)state;
    CHECK(refusals);
}

#define PART_TYPES                                                                                 \
    "'input_text', 'output_text', 'text', 'summary_text', 'reasoning_text', 'refusal', "           \
    "'input_image', 'input_file', and 'input_audio'"
#define PART(members) ITEM("\"role\":\"user\",\"content\":[{" members "}]")

static void items_are_refused_by_their_path(void **state)
{
    static const struct refusal refusals[] = {
        {"{\"model\":\"m\",\"input\":[\"a\",5]}", TYPE("input[1]", "an object", "a number")},
        {ITEM(""), MISSING("input[0].type")},
        {ITEM("\"type\":5"), TYPE("input[0].type", "a string", "a number")},
        {ITEM("\"type\":\"telepathy\""), ERR_INVALID_VALUE, "input[0].type",
         "Invalid value: 'telepathy'. The gateway knows no input item of this type."},
        {ITEM("\"type\":\"message\",\"content\":\"x\""), MISSING("input[0].role")},
        {ITEM("\"role\":\"tool\""),
         VALUE("input[0].role", "tool", "'user', 'assistant', 'system', and 'developer'")},
        {ITEM("\"role\":\"user\",\"content\":{}"),
         TYPE("input[0].content", "a string or an array", "an object")},
        {ITEM("\"role\":\"user\",\"content\":[1]"),
         TYPE("input[0].content[0]", "an object", "a number")},
        {PART(""), MISSING("input[0].content[0].type")},
        {PART("\"type\":\"input_smell\""),
         VALUE("input[0].content[0].type", "input_smell", PART_TYPES)},
        {PART("\"type\":\"input_text\""), MISSING("input[0].content[0].text")},
        {PART("\"type\":\"refusal\""), MISSING("input[0].content[0].refusal")},
        {PART("\"type\":\"input_image\""), MISSING("input[0].content[0].image_url")},
        {PART("\"type\":\"input_image\",\"image_url\":{}"),
         MISSING("input[0].content[0].image_url.url")},
        {PART("\"type\":\"input_image\",\"file_id\":\"f\""),
         UNSUPPORTED("input[0].content[0].file_id")},
        {PART("\"type\":\"input_file\",\"file_url\":\"u\""),
         UNSUPPORTED("input[0].content[0].file_url")},
        {PART("\"type\":\"input_file\",\"file_id\":\"f\""),
         UNSUPPORTED("input[0].content[0].file_id")},
        {PART("\"type\":\"input_file\""), MISSING("input[0].content[0].file_data")},
        {ITEM("\"type\":\"function_call\""), MISSING("input[0].name")},
        {ITEM("\"type\":\"custom_tool_call\",\"name\":\"p\",\"input\":{}"),
         TYPE("input[0].input", "a string", "an object")},
        {ITEM("\"type\":\"local_shell_call\",\"action\":\"ls\""),
         TYPE("input[0].action", "an object", "a string")},
        {ITEM("\"type\":\"function_call_output\",\"output\":[{\"type\":\"smell\"}]"),
         VALUE("input[0].output[0].type", "smell", PART_TYPES)},
        {ITEM("\"type\":\"additional_tools\",\"tools\":[{\"type\":\"function\"}]"),
         MISSING("input[0].tools[0].name")},
        {ITEM("\"type\":\"tool_search_output\",\"call_id\":\"c\""), MISSING("input[0].tools")},
        {ITEM("\"type\":\"tool_search_output\",\"tools\":[7]"),
         TYPE("input[0].tools[0]", "an object", "a number")},
        {ITEM("\"type\":\"configuration_update\",\"reasoning\":\"low\""),
         TYPE("input[0].reasoning", "an object", "a string")},
        {ITEM("\"type\":\"configuration_update\",\"reasoning\":{\"effort\":1}"),
         TYPE("input[0].reasoning.effort", "a string", "a number")},
        {ITEM("\"type\":\"configuration_update\",\"reasoning\":{\"effort\":\"huge\"}"),
         VALUE("input[0].reasoning.effort", "huge",
               "'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'")},
        {ITEM("\"type\":\"configuration_update\",\"text\":{\"format\":{\"type\":\"json_schema\"}}"),
         MISSING("input[0].text.format.name")},
        {ITEM("\"type\":\"mcp_call\",\"name\":\"q\",\"server_label\":7"),
         TYPE("input[0].server_label", "a string", "a number")},
        {ITEM("\"type\":\"mcp_list_tools\",\"server_label\":\"d\",\"tools\":{}"),
         TYPE("input[0].tools", "an array", "an object")},
        {ITEM("\"type\":\"mcp_approval_request\",\"name\":\"q\""),
         MISSING("input[0].server_label")},
        {ITEM("\"type\":\"mcp_approval_request\",\"server_label\":\"d\""),
         MISSING("input[0].name")},
        {ITEM("\"type\":\"mcp_approval_response\",\"approve\":true"),
         MISSING("input[0].approval_request_id")},
        {ITEM("\"type\":\"mcp_approval_response\",\"approval_request_id\":\"r\""),
         MISSING("input[0].approve")},
        {ITEM("\"type\":\"mcp_approval_response\",\"approval_request_id\":\"r\",\"approve\":"
              "\"yes\""),
         TYPE("input[0].approve", "a boolean", "a string")},
        {ITEM("\"type\":\"mcp_approval_response\",\"approval_request_id\":\"r\",\"approve\":"
              "true,\"reason\":[]"),
         TYPE("input[0].reason", "a string", "an array")},
        {ITEM("\"id\":\"msg_1\""), ERR_NOT_FOUND, "input", "Item with id 'msg_1' not found."},
        {ITEM("\"type\":\"mcp_approval_response\",\"approval_request_id\":\"mcpr_1\","
              "\"approve\":true"),
         ERR_INVALID_VALUE, "input[0].approval_request_id",
         "Invalid 'input[0].approval_request_id': no approval request with id 'mcpr_1' is "
         "waiting."},
    };

    (void)state;
    CHECK(refusals);
}

static void tools_are_refused_by_their_path(void **state)
{
    static const struct refusal refusals[] = {
        {TOOL(""), MISSING("tools[0].type")},
        {TOOL("\"type\":\"function\""), MISSING("tools[0].name")},
        {TOOL("\"type\":\"function\",\"function\":{}"), MISSING("tools[0].function.name")},
        {TOOL("\"type\":\"function\",\"name\":\"a\",\"parameters\":1"),
         TYPE("tools[0].parameters", "an object", "a number")},
        {TOOL("\"type\":\"function\",\"function\":{\"name\":\"a\",\"strict\":1}"),
         TYPE("tools[0].function.strict", "a boolean", "a number")},
        {TOOL("\"type\":\"function\",\"name\":\"\""), ERR_INVALID_VALUE, "tools[0].name",
         "Invalid 'tools[0].name': empty string. Expected a string with minimum length 1, but got "
         "an empty string instead."},
        {TOOL("\"type\":\"custom\""), MISSING("tools[0].name")},
        {TOOL("\"type\":\"custom\",\"name\":\"p\",\"format\":{}"), MISSING("tools[0].format.type")},
        {TOOL("\"type\":\"custom\",\"name\":\"p\",\"format\":{\"type\":\"xml\"}"),
         VALUE("tools[0].format.type", "xml", "'text' and 'grammar'")},
        {TOOL("\"type\":\"custom\",\"name\":\"p\",\"format\":{\"type\":\"grammar\"}"),
         MISSING("tools[0].format.syntax")},
        {TOOL("\"type\":\"custom\",\"name\":\"p\",\"format\":{\"type\":\"grammar\",\"syntax\":"
              "\"lark\"}"),
         MISSING("tools[0].format.definition")},
        {TOOL("\"type\":\"custom\",\"name\":\"p\",\"format\":{\"type\":\"grammar\",\"syntax\":"
              "\"abnf\",\"definition\":\"\"}"),
         VALUE("tools[0].format.syntax", "abnf", "'lark' and 'regex'")},
        {TOOL("\"type\":\"function\",\"name\":\"f\",\"allowed_callers\":[\"direct\",\"me\"]"),
         VALUE("tools[0].allowed_callers[1]", "me", "'direct' and 'programmatic'")},
        {TOOL("\"type\":\"shell\",\"environment\":{}"), MISSING("tools[0].environment.type")},
        {TOOL("\"type\":\"shell\",\"environment\":{\"type\":\"moon\"}"),
         VALUE("tools[0].environment.type", "moon",
               "'local', 'container_auto', and 'container_reference'")},
        {TOOL("\"type\":\"tool_search\",\"execution\":\"both\""),
         VALUE("tools[0].execution", "both", "'server' and 'client'")},
        {TOOL("\"type\":\"namespace\",\"name\":\"n\""), MISSING("tools[0].tools")},
        {TOOL("\"type\":\"namespace\",\"name\":\"n\",\"tools\":[{\"type\":\"function\"}]"),
         MISSING("tools[0].tools[0].name")},
        {TOOL("\"type\":\"code_interpreter\""), MISSING("tools[0].container")},
        {TOOL("\"type\":\"mcp\""), MISSING("tools[0].server_label")},
        {TOOL("\"type\":\"mcp\",\"server_label\":\"d\",\"connector_id\":\"c\""),
         UNSUPPORTED("tools[0].connector_id")},
        {TOOL("\"type\":\"mcp\",\"server_label\":\"d\",\"tunnel_id\":\"c\""),
         UNSUPPORTED("tools[0].tunnel_id")},
        {TOOL("\"type\":\"mcp\",\"server_label\":\"d\",\"server_url\":\"u\",\"allowed_tools\":[1]"),
         TYPE("tools[0].allowed_tools[0]", "a string", "a number")},
        {TOOL("\"type\":\"mcp\",\"server_label\":\"d\",\"server_url\":\"u\",\"require_approval\":"
              "\"maybe\""),
         VALUE("tools[0].require_approval", "maybe", "'always' and 'never'")},
        {"{" GOOD ",\"tools\":[{\"type\":\"mcp\",\"server_label\":\"d\",\"server_url\":\"u\"},"
         "{\"type\":\"mcp\",\"server_label\":\"\\u0064\",\"server_url\":\"v\"}]}",
         ERR_INVALID_VALUE, "tools[1].server_label",
         "Invalid 'tools[1].server_label': more than one MCP tool has the server label 'd'."},
        {"{" GOOD ",\"tools\":[" FUNCTION_A "," FUNCTION_A "]}", ERR_INVALID_VALUE, "tools",
         "Invalid 'tools': more than one tool has the name 'a'."},
    };

    (void)state;
    CHECK(refusals);
}

#define NOT_FOUND(type)                                                                            \
    ERR_INVALID_VALUE, "tool_choice", "Tool choice '" type "' not found in 'tools' parameter."

static void choices_of_missing_tools_are_refused(void **state)
{
    static const struct refusal refusals[] = {
        {CHOICE("", "\"required\""), ERR_INVALID_VALUE, "tool_choice",
         "Tool choice 'required' must be specified with 'tools' parameter."},
        {CHOICE("{\"type\":\"web_search\"}", "\"required\""), ERR_INVALID_VALUE, "tool_choice",
         "Tool choice 'required' must be specified with 'tools' parameter."},
        {CHOICE(FUNCTION_A, "\"any\""),
         VALUE("tool_choice", "any", "'none', 'auto', and 'required'")},
        {CHOICE(FUNCTION_A, "{}"), MISSING("tool_choice.type")},
        {CHOICE(FUNCTION_A, "{\"type\":\"function\"}"), MISSING("tool_choice.name")},
        {CHOICE(FUNCTION_A, "{\"type\":\"function\",\"name\":\"b\"}"), NOT_FOUND("function")},
        {CHOICE(FUNCTION_A, "{\"type\":\"custom\",\"name\":\"b\"}"), NOT_FOUND("custom")},
        {CHOICE(FUNCTION_A, "{\"type\":\"web_search\"}"), NOT_FOUND("web_search")},
        {CHOICE(FUNCTION_A, "{\"type\":\"local_shell\"}"), NOT_FOUND("local_shell")},
        {CHOICE(FUNCTION_A, "{\"type\":\"mcp\",\"server_label\":\"d\"}"), NOT_FOUND("mcp")},
        {CHOICE("{\"type\":\"web_search\"}", "{\"type\":\"web_search\"}"), ERR_INVALID_VALUE,
         "tool_choice", "Tool choice 'web_search' names a tool that this gateway cannot serve."},
        {CHOICE(FUNCTION_A, "{\"type\":\"allowed_tools\",\"tools\":[]}"),
         MISSING("tool_choice.mode")},
        {CHOICE(FUNCTION_A, "{\"type\":\"allowed_tools\",\"mode\":\"auto\"}"),
         MISSING("tool_choice.tools")},
        {CHOICE(FUNCTION_A, "{\"type\":\"allowed_tools\",\"mode\":\"none\",\"tools\":[]}"),
         VALUE("tool_choice.mode", "none", "'auto' and 'required'")},
        {CHOICE(FUNCTION_A, "{\"type\":\"allowed_tools\",\"mode\":\"required\",\"tools\":[]}"),
         ERR_INVALID_VALUE, "tool_choice",
         "Tool choice 'allowed_tools' must be specified with 'tools' parameter."},
        {CHOICE(FUNCTION_A, "{\"type\":\"allowed_tools\",\"mode\":\"auto\",\"tools\":[{\"type\":"
                            "\"function\",\"name\":\"b\"}]}"),
         NOT_FOUND("function")},
    };

    (void)state;
    CHECK(refusals);
}

/* Each body also has the mistakes of the bodies after it. */
static void the_first_step_that_finds_something_reports_it(void **state)
{
    static const struct refusal refusals[] = {
        {"{\"stream\":1,\"conversation\":\"c\",\"previous_response_id\":\"p\",\"top_p\":9",
         ERR_INVALID_JSON, "", JSON_BAD "67: container not closed."},
        {"{\"stream\":1,\"conversation\":\"c\",\"previous_response_id\":\"p\",\"top_p\":9}",
         TYPE("stream", "a boolean", "a number")},
        {"{\"conversation\":\"c\",\"previous_response_id\":\"p\",\"top_p\":9}", MISSING("model")},
        {"{\"model\":\"m\",\"conversation\":\"c\",\"previous_response_id\":\"p\",\"top_p\":9}",
         ERR_DECIMAL_ABOVE_MAX, DECIMAL("top_p", "above maximum", "<=", "1", "9")},
        {"{\"model\":\"m\",\"conversation\":\"c\",\"previous_response_id\":\"p\"}",
         ERR_MUTUALLY_EXCLUSIVE, "previous_response_id",
         "Mutually exclusive parameters: 'previous_response_id' and 'conversation'."},
    };

    (void)state;
    CHECK(refusals);
}

static void a_misspelled_id_must_agree_with_the_right_one(void **state)
{
    static const struct refusal refusals[] = {
        {"{\"model\":\"m\",\"previous_responses_id\":\"p\",\"previous_response_id\":\"q\"}",
         ERR_MUTUALLY_EXCLUSIVE, "previous_response_id",
         "Mutually exclusive parameters: 'previous_response_id' and 'previous_responses_id' have "
         "different values. Send 'previous_response_id' alone."},
        {"{\"model\":\"m\",\"previous_responses_id\":1}",
         TYPE("previous_responses_id", "a string", "a number")},
        {"{\"model\":\"m\",\"previous_responses_id\":\"p\",\"conversation\":\"c\"}",
         ERR_MUTUALLY_EXCLUSIVE, "previous_response_id",
         "Mutually exclusive parameters: 'previous_response_id' and 'conversation'."},
    };
    static const char *const bodies[] = {
        "{\"model\":\"m\",\"previous_responses_id\":\"resp_p\"}",
        "{\"model\":\"m\",\"previous_responses_id\":null,\"previous_response_id\":\"resp_p\"}",
        "{\"model\":\"m\",\"previous_responses_id\":\"resp\\u005fp\",\"previous_response_id\":\"resp_p\"}",
    };

    (void)state;
    CHECK(refusals);
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        struct fixture f;

        assert_int_equal(fixture_parse(&f, str_from_c(bodies[i]), 0), 0);
        assert_true(json_text_eq(f.request.previous_response_id, STR("resp_p")));
        fixture_fini(&f);
    }
}

static void unusual_but_good_requests_are_taken(void **state)
{
    static const char *const bodies[] = {
        "{\"model\":\"m\",\"input\":\"\"}",
        "{\"model\":\"m\",\"input\":[],\"instructions\":\"i\"}",
        WITH("\"max_output_tokens\":1.0,\"temperature\":2,\"top_p\":0,\"top_logprobs\":20"),
        WITH("\"moderation\":1,\"context_management\":[],\"client_metadata\":{\"a\":1}"),
        WITH("\"stream\":null,\"tools\":null,\"text\":null,\"reasoning\":null,\"metadata\":null"),
        WITH("\"metadata\":{\"k\":\"" S512 "\",\"\\u0061" S16 S16 S16 "123456789012345\":\"\"}"),
        WITH("\"safety_identifier\":\"" S16 S16 S16 "123456789012345\\u00e9\""),
        WITH("\"tools\":[{\"type\":\"computer\",\"name\":5},{\"type\":\"image_generation\"}]"),
        ITEM("\"type\":\"reasoning\",\"summary\":[],\"content\":null"),
        ITEM("\"type\":\"computer_call\",\"arguments\":{},\"name\":7"),
        ITEM("\"type\":\"message\",\"role\":\"assistant\",\"content\":null"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        struct fixture f;

        if (fixture_parse(&f, str_from_c(bodies[i]), 0) == -1)
            fail_msg("%s: %s", bodies[i], f.err.msg);
        fixture_fini(&f);
    }
}

static void switches_and_defaults_are_read(void **state)
{
    struct fixture f;

    (void)state;
    assert_int_equal(fixture_parse(&f, STR("{" GOOD "}"), 0), 0);
    assert_false(f.request.stream);
    assert_true(f.request.store);
    assert_false(f.request.reasoning_summary_requested);
    assert_int_equal(f.request.max_output_tokens, 0);
    assert_true(str_is_none(f.request.service_tier));
    fixture_fini(&f);
    assert_int_equal(
        fixture_parse(&f,
                      STR(WITH("\"stream\":true,\"store\":false,\"max_output_tokens\":16,"
                               "\"stream_options\":{\"include_obfuscation\":true},"
                               "\"reasoning\":{\"generate_summary\":\"auto\"},"
                               "\"include\":[\"reasoning.encrypted_content\","
                               "\"message.output_text.logprobs\"],\"what\":1")),
                      0),
        0);
    assert_true(f.request.stream && f.request.include_obfuscation);
    assert_false(f.request.store);
    assert_true(f.request.reasoning_summary_requested);
    assert_true(f.request.include_encrypted_reasoning && f.request.include_logprobs);
    assert_false(f.request.include_code_outputs);
    assert_int_equal(f.request.max_output_tokens, 16);
    assert_int_equal(f.request.extra.n_ignored, 1);
    fixture_fini(&f);
}

static void a_default_model_stands_in(void **state)
{
    const struct responses_request_options options = {.default_model = STR("a\"b")};
    struct fixture f;

    (void)state;
    (void)fixture_parse(&f, STR("{}"), 0);
    assert_int_equal(responses_request_parse(STR("{\"input\":\"x\"}"), &options, &f.ids, &f.arena,
                                             &f.request, &f.err),
                     0);
    assert_true(str_eq(f.request.model, STR("a\\\"b")));
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_that_is_no_object_is_refused),
        cmocka_unit_test(wrong_types_are_named),
        cmocka_unit_test(required_fields_are_asked_for),
        cmocka_unit_test(limits_and_enums_are_kept),
        cmocka_unit_test(items_are_refused_by_their_path),
        cmocka_unit_test(tools_are_refused_by_their_path),
        cmocka_unit_test(choices_of_missing_tools_are_refused),
        cmocka_unit_test(the_first_step_that_finds_something_reports_it),
        cmocka_unit_test(a_misspelled_id_must_agree_with_the_right_one),
        cmocka_unit_test(unusual_but_good_requests_are_taken),
        cmocka_unit_test(switches_and_defaults_are_read),
        cmocka_unit_test(a_default_model_stands_in),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
