/* test_harmony_request.c -- requests as Harmony prompts where the vectors leave something open,
 * and the JSON body around the prompt. */
#include "prompt_fixture.h"

#include "wire/harmony/harmony_tools.h"

/* ---- prompts */

#define SYSTEM_WITH(effort)                                                                        \
    "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n"       \
    "Knowledge cutoff: 2024-06\n\nReasoning: " effort "\n\n# Valid channels: analysis, "           \
    "commentary, final. Channel must be included for every message."
#define SYSTEM    SYSTEM_WITH("medium")
#define FUNCTIONS "\nCalls to these tools must go to the commentary channel: 'functions'."
#define END       "<|end|>"
#define ASSISTANT "<|start|>assistant"

struct options {
    enum chat_round round;
    struct harmony_options harmony;
};

static void check_prompt(const char *body, struct options o, const char *expected)
{
    struct conversation c;
    struct fixture f;
    struct buf out = {0};

    parse(&f, str_from_c(body), NULL);
    c = converse(&f);
    harmony_prompt_write(&f.request, &c, o.round, &o.harmony, &out);
    assert_str_c(buf_str(&out), expected);
    buf_fini(&out);
    fixture_fini(&f);
}

#define CALL(name, id)                                                                             \
    "{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"" name                          \
    "\",\"arguments\":\"{\\\"a\\\":1}\"}"
#define OUTPUT(id, text)                                                                           \
    "{\"type\":\"function_call_output\",\"call_id\":\"" id "\",\"output\":" text "}"
#define USER      "<|start|>user<|message|>q" END
#define USER_ITEM "{\"role\":\"user\",\"content\":\"q\"}"
#define F_TOOL    "\"tools\":[{\"type\":\"function\",\"name\":\"f\"}]"
#define F_SECTION                                                                                  \
    "<|start|>developer<|message|># Tools\n\n## functions\n\nnamespace functions {\n\ntype f = "   \
    "() => any;\n\n} // namespace functions" END
#define F_CALL                                                                                     \
    ASSISTANT " to=functions.f<|channel|>commentary <|constrain|>json<|message|>{\"a\":1}<|call|>"
#define F_OUTPUT(text) "<|start|>functions.f to=assistant<|channel|>commentary<|message|>" text END

static void markers_in_every_text_of_the_caller_are_broken(void **state)
{
    (void)state;
    check_prompt("{\"instructions\":\"i<|end|>\",\"input\":[" USER_ITEM ","
                 "{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"<|e\"},"
                 "{\"type\":\"input_text\",\"text\":\"nd|>\"}]},"
                 "{\"type\":\"function_call\",\"call_id\":\"1\",\"name\":\"f\",\"arguments\":"
                 "\"{\\\"a\\\":\\\"\\u003c|call|>\\\"}\"}," OUTPUT("1", "\"<|start|>\"") "]}",
                 (struct options){0},
                 SYSTEM END
                 "<|start|>developer<|message|># Instructions\n\ni<" ZWSP "|end|>" END USER
                 "<|start|>user<|message|><" ZWSP "|end|>" END ASSISTANT
                 " to=functions.f<|channel|>commentary <|constrain|>json<|message|>"
                 "{\"a\":\"<" ZWSP "|call|>\"}<|call|>" F_OUTPUT("<" ZWSP "|start|>") ASSISTANT);
}

static void a_format_is_harmless_and_compact(void **state)
{
    (void)state;
    check_prompt("{\"input\":\"q\",\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"n\","
                 "\"description\":\"a\\nb\",\"schema\":{ \"x\" : \"<|end|>\" }}}}",
                 (struct options){0},
                 SYSTEM END "<|start|>developer<|message|># Response Formats\n\n## n\n\n// a\n// "
                            "b\n{\"x\":\"<" ZWSP "|end|>\"}" END USER ASSISTANT);
}

static void every_effort_is_one_of_three(void **state)
{
    static const char *const efforts[][2] = {
        {"none", "low"},  {"minimal", "low"}, {"low", "low"},  {"medium", "medium"},
        {"high", "high"}, {"xhigh", "high"},  {"max", "high"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(efforts); i++) {
        char body[64], expected[512];

        (void)snprintf(body, sizeof(body), "{\"input\":\"q\",\"reasoning\":{\"effort\":\"%s\"}}",
                       efforts[i][0]);
        (void)snprintf(expected, sizeof(expected), SYSTEM_WITH("%s") END USER ASSISTANT,
                       efforts[i][1]);
        check_prompt(body, (struct options){0}, expected);
    }
}

static void calls_may_have_a_bare_content_type(void **state)
{
    (void)state;
    check_prompt("{\"input\":[" USER_ITEM "," CALL("f", "1") "," OUTPUT("1", "\"x\"") "]}",
                 (struct options){.harmony.bare_content_type = true},
                 SYSTEM END USER ASSISTANT
                 " to=functions.f<|channel|>commentary json<|message|>{\"a\":1}<|call|>" F_OUTPUT(
                     "x") ASSISTANT);
}

static void a_call_without_output_says_so_unless_it_is_open(void **state)
{
    (void)state;
    check_prompt("{\"input\":[" USER_ITEM "," CALL("f", "1") "," USER_ITEM "]}",
                 (struct options){0},
                 SYSTEM END USER F_CALL F_OUTPUT("[no output]") USER ASSISTANT);
    check_prompt("{\"input\":[" USER_ITEM "," CALL("f", "1") "]}", (struct options){0},
                 SYSTEM END USER F_CALL ASSISTANT);
}

static void text_before_calls_is_commentary_unless_it_is_final(void **state)
{
    (void)state;
    check_prompt(
        "{\"input\":[" USER_ITEM ",{\"role\":\"assistant\",\"content\":\"t\"}," CALL("f", "1") "]}",
        (struct options){0},
        SYSTEM END USER ASSISTANT "<|channel|>commentary<|message|>t" END F_CALL ASSISTANT);
}

#define THOUGHT(text) "{\"type\":\"reasoning\",\"content\":[{\"text\":\"" text "\"}]}"
#define SAID(phase, text)                                                                          \
    "{\"role\":\"assistant\",\"phase\":\"" phase "\",\"content\":\"" text "\"}"
#define ON(channel, text) ASSISTANT "<|channel|>" channel "<|message|>" text END

static void what_a_model_said_at_once_keeps_its_order(void **state)
{
    (void)state;
    check_prompt(
        "{\"input\":[" USER_ITEM
        "," THOUGHT("a") "," THOUGHT("b") "," SAID("commentary", "p") "," THOUGHT("c") "," CALL(
            "f",
            "1") "," THOUGHT("d") "," CALL("f",
                                           "2") "," SAID("commentary",
                                                         "q") "," OUTPUT("1",
                                                                         "\"x\"") "," OUTPUT("2",
                                                                                             "\"y\"") "]}",
        (struct options){0},
        SYSTEM END USER ON("analysis", "a") ON("analysis", "b") ON("commentary", "p")
            ON("analysis", "c") F_CALL F_OUTPUT("x") ON("analysis", "d") F_CALL F_OUTPUT("y")
                ON("commentary", "q") ASSISTANT);
    check_prompt(
        "{\"input\":[" USER_ITEM "," THOUGHT("a") "," SAID("final_answer", "x") "," THOUGHT(
            "b") "," CALL("f", "1") "," OUTPUT("1", "\"x\"") "]}",
        (struct options){0},
        SYSTEM END USER ON("final", "x") ON("analysis", "b") F_CALL F_OUTPUT("x") ASSISTANT);
}

static void the_last_round_shows_no_tools(void **state)
{
    (void)state;
    check_prompt("{\"input\":\"q\"," F_TOOL "}", (struct options){.round = CHAT_LATER_ROUND},
                 SYSTEM FUNCTIONS END F_SECTION USER ASSISTANT);
    check_prompt("{\"input\":\"q\"," F_TOOL "}", (struct options){.round = CHAT_LAST_ROUND},
                 SYSTEM END USER ASSISTANT);
}

static void a_chosen_function_is_begun_in_the_first_round(void **state)
{
    static const char body[] =
        "{\"input\":\"q\"," F_TOOL ",\"tool_choice\":{\"type\":\"function\",\"name\":\"f\"}}";
    struct fixture f;

    (void)state;
    check_prompt(body, (struct options){.round = CHAT_FIRST_ROUND},
                 SYSTEM FUNCTIONS END F_SECTION USER ASSISTANT
                 " to=functions.f<|channel|>commentary <|constrain|>json<|message|>");
    check_prompt(body, (struct options){.round = CHAT_LATER_ROUND},
                 SYSTEM FUNCTIONS END F_SECTION USER ASSISTANT);
    parse(&f, str_from_c(body), NULL);
    assert_str_c(harmony_request_begun_call(&f.request, CHAT_FIRST_ROUND), "f");
    assert_true(str_is_none(harmony_request_begun_call(&f.request, CHAT_LATER_ROUND)));
    fixture_fini(&f);
}

static void only_allowed_tools_are_shown(void **state)
{
    (void)state;
    check_prompt("{\"input\":\"q\",\"tools\":[{\"type\":\"function\",\"name\":\"g\"},{\"type\":"
                 "\"function\",\"name\":\"f\"}],\"tool_choice\":{\"type\":\"allowed_tools\","
                 "\"mode\":\"auto\",\"tools\":[{\"type\":\"function\",\"name\":\"f\"}]}}",
                 (struct options){0}, SYSTEM FUNCTIONS END F_SECTION USER ASSISTANT);
}

static void other_kinds_of_tools_are_functions(void **state)
{
    (void)state;
    check_prompt("{\"input\":\"q\",\"tools\":[{\"type\":\"custom\",\"name\":\"c\","
                 "\"description\":\"D.\",\"format\":{\"type\":\"grammar\",\"syntax\":\"lark\","
                 "\"definition\":\"a\\nb\"}}]}",
                 (struct options){0},
                 SYSTEM FUNCTIONS END
                 "<|start|>developer<|message|># Tools\n\n## functions\n\n"
                 "namespace functions {\n\n// D.\n// The input must match "
                 "this lark grammar:\n// a\n// b\ntype c = (_: {\ninput: "
                 "string,\n}) => any;\n\n} // namespace functions" END USER ASSISTANT);
}

static void tools_of_servers_have_names_that_can_be_read_again(void **state)
{
    static const struct {
        const char *label, *tool, *space, *name;
    } names[] = {
        {"docs", "search", "docs", "search"},     {"docs", "a.b", "functions", "up"},
        {"docs", "a b", "functions", "up"},       {"functions", "search", "functions", "up"},
        {"browser", "search", "functions", "up"}, {"mcp", "search", "functions", "up"},
        {NULL, NULL, "functions", "up"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct harmony_name n =
            harmony_tool_name(str_from_c(names[i].label), str_from_c(names[i].tool), STR("up"));

        assert_str_c(n.space, names[i].space);
        assert_str_c(n.name, names[i].name);
    }
}

/* ---- the body */

static int64_t max_tokens; /* of the operator */

static json_t *body_with(const char *request, const struct chat_request_options *o, struct err *e)
{
    const struct harmony_options harmony = {.date = STR("2025-06-28"), .max_tokens = max_tokens};
    struct conversation c;
    struct fixture f;
    struct buf out = {0};
    json_t *body = NULL;

    parse(&f, str_from_c(request), NULL);
    c = converse(&f);
    if (harmony_request_write(&f.request, &c, o, &harmony, &out, e) == 0) {
        body = json_loadb(out.p, out.len, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(body);
    }
    buf_fini(&out);
    fixture_fini(&f);
    return body;
}

#define SETTINGS                                                                                   \
    "\"skip_special_tokens\":false,\"spaces_between_special_tokens\":false,"                       \
    "\"add_special_tokens\":false,\"stop_token_ids\":[200002,200012],\"preserved_tokens\":["       \
    "\"<|start|>\",\"<|end|>\",\"<|message|>\",\"<|channel|>\",\"<|constrain|>\"]"

static void check_body(const char *request, const struct chat_request_options *o,
                       const char *expected)
{
    struct err e;
    json_t *body = body_with(request, o, &e);

    assert_non_null(body);
    assert_int_equal(json_object_del(body, "prompt"), 0);
    assert_json(request, body, expected);
    json_decref(body);
}

static void a_plain_request_has_a_prompt_and_no_limit(void **state)
{
    (void)state;
    check_body("{\"input\":\"q\",\"stream\":false}", &(struct chat_request_options){0},
               "{\"model\":\"gpt-oss\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
               "\"max_tokens\":null," SETTINGS "}");
}

static void the_operators_limit_stands_in_for_the_clients(void **state)
{
    (void)state;
    max_tokens = 900;
    check_body("{\"input\":\"q\"}", &(struct chat_request_options){.omit_usage = true},
               "{\"model\":\"gpt-oss\",\"stream\":true,\"max_tokens\":900," SETTINGS "}");
    check_body("{\"input\":\"q\",\"max_output_tokens\":50}",
               &(struct chat_request_options){.omit_usage = true},
               "{\"model\":\"gpt-oss\",\"stream\":true,\"max_tokens\":50," SETTINGS "}");
    max_tokens = 0;
}

static void the_body_has_what_the_request_has(void **state)
{
    (void)state;
    check_body(
        "{\"model\":\"m\",\"input\":\"q\",\"max_output_tokens\":50,\"temperature\":0.5,"
        "\"top_p\":1,\"presence_penalty\":1,\"frequency_penalty\":2,\"user\":\"u\","
        "\"seed\":7,\"stop\":[\"x\"],\"top_k\":3,\"min_p\":0.25}",
        &(struct chat_request_options){.model = STR("up"), .omit_usage = true, .spent_tokens = 20},
        "{\"model\":\"up\",\"stream\":true,\"max_tokens\":30,\"temperature\":0.5,\"top_p\":1,"
        "\"presence_penalty\":1,\"frequency_penalty\":2,\"user\":\"u\"," SETTINGS
        ",\"seed\":7,\"stop\":[\"x\"],\"top_k\":3,\"min_p\":0.25}");
}

static void what_is_for_chats_only_is_not_sent(void **state)
{
    (void)state;
    check_body("{\"input\":\"q\",\"reasoning\":{\"effort\":\"none\"},\"text\":{\"verbosity\":"
               "\"low\",\"format\":{\"type\":\"json_object\"}},\"chat_template_kwargs\":{\"a\":1},"
               "\"n\":3," F_TOOL "}",
               &(struct chat_request_options){.thinking_switch = true, .is_openai = true},
               "{\"model\":\"gpt-oss\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
               "\"max_tokens\":null," SETTINGS "}");
}

static void the_prompt_is_escaped_once(void **state)
{
    struct err e;
    json_t *body = body_with("{\"input\":\"a\\\\\\\"\\n\\u00e9\\u2028<|end|>\"}",
                             &(struct chat_request_options){0}, &e);

    (void)state;
    assert_non_null(body);
    assert_true(str_ends_with(
        get_text(body, "prompt"),
        STR("<|start|>user<|message|>a\\\"\n\xc3\xa9\xe2\x80\xa8<" ZWSP "|end|>" END ASSISTANT)));
    assert_true(str_find(get_text(body, "prompt"), STR("Current date: 2025-06-28\n")) <
                get_text(body, "prompt").len);
    json_decref(body);
}

/* ---- refusals */

static void check_refused(const char *request, const char *param)
{
    struct err e;

    assert_null(body_with(request, &(struct chat_request_options){0}, &e));
    assert_int_equal(e.code, ERR_UNSUPPORTED_PARAMETER);
    assert_string_equal(e.param, param);
    assert_non_null(strstr(e.msg, param));
}

#define WITH_CHOICE(choice) "{\"input\":\"q\"," F_TOOL ",\"tool_choice\":" choice "}"

static void what_a_prompt_cannot_say_is_refused(void **state)
{
    (void)state;
    check_refused("{\"input\":\"q\",\"top_logprobs\":2}", "top_logprobs");
    check_refused("{\"input\":\"q\",\"include\":[\"message.output_text.logprobs\"]}", "include");
    check_refused("{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_image\","
                  "\"image_url\":\"data:image/png;base64,AA==\"}]}]}",
                  "input");
    check_refused("{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_audio\","
                  "\"input_audio\":{}}]}]}",
                  "input");
    check_refused("{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_file\","
                  "\"file_data\":\"AA==\"}]}]}",
                  "input");
    check_refused("{\"input\":[" CALL("f", "1") "," OUTPUT(
                      "1", "[{\"type\":\"input_image\",\"image_url\":\"data:,\"}]") "]}",
                  "input");
    check_refused(WITH_CHOICE("\"required\""), "tool_choice");
    check_refused(WITH_CHOICE("{\"type\":\"allowed_tools\",\"mode\":\"required\",\"tools\":["
                              "{\"type\":\"function\",\"name\":\"f\"}]}"),
                  "tool_choice");
}

static void a_forced_choice_is_no_matter_of_later_rounds(void **state)
{
    const struct chat_request_options later = {.round = CHAT_LATER_ROUND};
    struct err e;
    json_t *body = body_with(WITH_CHOICE("\"required\""), &later, &e);

    (void)state;
    assert_non_null(body);
    json_decref(body);
}

/* ---- limits */

static void a_full_buffer_is_an_error(void **state)
{
    const struct chat_request_options o = {0};
    const struct harmony_options harmony = {0};
    struct conversation c;
    struct fixture f;
    struct buf out = {0};
    size_t whole;

    (void)state;
    parse(&f,
          STR("{\"input\":\"<|end|>\",\"tools\":[{\"type\":\"function\",\"name\":\"f\","
              "\"description\":\"d\",\"parameters\":{\"type\":\"object\",\"required\":[\"a\"],"
              "\"properties\":{\"a\":{}}}}]}"),
          NULL);
    c = converse(&f);
    assert_int_equal(harmony_request_write(&f.request, &c, &o, &harmony, &out, &f.err), 0);
    whole = out.len;
    buf_fini(&out);
    for (size_t limit = 1; limit < whole; limit++) {
        buf_init(&out, limit);
        assert_int_equal(harmony_request_write(&f.request, &c, &o, &harmony, &out, &f.err), -1);
        buf_fini(&out);
    }
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markers_in_every_text_of_the_caller_are_broken),
        cmocka_unit_test(a_format_is_harmless_and_compact),
        cmocka_unit_test(every_effort_is_one_of_three),
        cmocka_unit_test(calls_may_have_a_bare_content_type),
        cmocka_unit_test(a_call_without_output_says_so_unless_it_is_open),
        cmocka_unit_test(text_before_calls_is_commentary_unless_it_is_final),
        cmocka_unit_test(what_a_model_said_at_once_keeps_its_order),
        cmocka_unit_test(the_last_round_shows_no_tools),
        cmocka_unit_test(a_chosen_function_is_begun_in_the_first_round),
        cmocka_unit_test(only_allowed_tools_are_shown),
        cmocka_unit_test(other_kinds_of_tools_are_functions),
        cmocka_unit_test(tools_of_servers_have_names_that_can_be_read_again),
        cmocka_unit_test(a_plain_request_has_a_prompt_and_no_limit),
        cmocka_unit_test(the_operators_limit_stands_in_for_the_clients),
        cmocka_unit_test(the_body_has_what_the_request_has),
        cmocka_unit_test(what_is_for_chats_only_is_not_sent),
        cmocka_unit_test(the_prompt_is_escaped_once),
        cmocka_unit_test(what_a_prompt_cannot_say_is_refused),
        cmocka_unit_test(a_forced_choice_is_no_matter_of_later_rounds),
        cmocka_unit_test(a_full_buffer_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
