/* test_chat_request.c -- the fields of the Chat request, real clients, and bad luck. */
#include "request_fixture.h"

#define GOOD          "\"model\":\"m\",\"input\":\"x\""
#define WITH(members) "{" GOOD "," members "}"
#define CODEX         "tests/data/codex/"

static void a_plain_request_sends_nothing_else(void **state)
{
    json_t *chat = chat_of("{" GOOD "}");

    (void)state;
    assert_json("plain", chat,
                "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"stream\":"
                "true,\"stream_options\":{\"include_usage\":true}}");
    json_decref(chat);
}

static void vendor_fields_pass_through(void **state)
{
    json_t *chat = chat_of(
        WITH("\"stop\":[\"a\"],\"seed\":1,\"logit_bias\":{\"1\":2},\"n\":1,\"top_k\":3,\"min_p\":"
             "0.1,\"repetition_penalty\":1.1,\"chat_template_kwargs\":{\"a\" : true},"
             "\"guided_json\":{},\"structured_outputs\":{\"regex\":\"a\"},\"other\":1"));

    (void)state;
    json_object_del(chat, "messages");
    assert_json("vendor", chat,
                "{\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
                "\"stop\":[\"a\"],\"seed\":1,\"logit_bias\":{\"1\":2},\"n\":1,\"top_k\":3,"
                "\"min_p\":0.1,\"repetition_penalty\":1.1,\"chat_template_kwargs\":{\"a\":true},"
                "\"guided_json\":{},\"structured_outputs\":{\"regex\":\"a\"}}");
    json_decref(chat);
    chat = chat_of(WITH("\"n\":2"));
    assert_null(json_object_get(chat, "n"));
    json_decref(chat);
}

static bool is_grammar(void *arg, str name)
{
    (void)arg;
    return str_eq(name, STR("grammar"));
}

/* What is written for one of two upstreams that know other fields. */
static json_t *chat_for(const struct extra_fields_options *taken, bool switches_thinking)
{
    static const char *const names[] = {"top_k", "chat_template_kwargs"};
    const struct responses_request_options options = {
        .default_model = STR_NONE,
        .extra = {.pass = {names, COUNT_OF(names)}, .is_for_others = is_grammar}};
    const struct chat_request_options chat = {.taken_fields = taken,
                                              .thinking_switch = switches_thinking};
    struct fixture f;
    json_t *tree;

    assert_int_equal(
        fixture_parse_with(&f, &options,
                           STR(WITH("\"top_k\":3,\"grammar\":\"g\",\"other\":1,\"reasoning\":{"
                                    "\"effort\":\"none\"},\"chat_template_kwargs\":{\"a\":1}")),
                           0),
        0);
    assert_int_equal(f.request.extra.n_ignored, 1);
    tree = fixture_chat(&f, &chat);
    fixture_fini(&f);
    return tree;
}

static void a_field_that_another_candidate_knows_goes_to_that_alone(void **state)
{
    static const char *const names[] = {"grammar"};
    const struct extra_fields_options grammar = {.pass = {names, 1}},
                                      all = {.unknown = UNKNOWN_FIELDS_FORWARD};
    json_t *chat = chat_for(&grammar, true);

    (void)state;
    assert_json("own", json_object_get(chat, "grammar"), "\"g\"");
    assert_null(json_object_get(chat, "top_k"));
    assert_json("switch", json_object_get(chat, "chat_template_kwargs"),
                "{\"enable_thinking\":false}");
    json_decref(chat);
    for (size_t i = 0; i < 2; i++) {
        chat = chat_for(i == 0 ? &all : NULL, false);
        assert_json("all", json_object_get(chat, "grammar"), "\"g\"");
        assert_json("all", json_object_get(chat, "top_k"), "3");
        assert_json("all", json_object_get(chat, "chat_template_kwargs"), "{\"a\":1}");
        assert_null(json_object_get(chat, "other"));
        json_decref(chat);
    }
}

static void the_schema_of_the_text_is_passed_on(void **state)
{
    json_t *chat = chat_of(WITH("\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"n\","
                                "\"description\":\"d\",\"schema\":{\"a\" : 1},\"strict\":false}}"));

    (void)state;
    assert_json("format", json_object_get(chat, "response_format"),
                "{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"n\",\"description\":\"d\","
                "\"schema\":{\"a\":1},\"strict\":false}}");
    json_decref(chat);
}

static void logprobs_follow_include(void **state)
{
    json_t *chat = chat_of(WITH("\"include\":[\"message.output_text.logprobs\"]"));

    (void)state;
    assert_json("logprobs", json_object_get(chat, "logprobs"), "true");
    assert_null(json_object_get(chat, "top_logprobs"));
    json_decref(chat);
}

static void an_openai_upstream_gets_its_own_fields(void **state)
{
    const struct chat_request_options options = {
        .model = STR("up/stream"), .token_field = CHAT_MAX_COMPLETION_TOKENS, .is_openai = true};
    struct fixture f;
    json_t *chat;

    (void)state;
    assert_int_equal(fixture_parse(&f,
                                   STR(WITH("\"max_output_tokens\":5,\"text\":{\"verbosity\":"
                                            "\"low\"},\"service_tier\":\"flex\"")),
                                   0),
                     0);
    chat = fixture_chat(&f, &options);
    json_object_del(chat, "messages");
    assert_json("openai", chat,
                "{\"model\":\"up/stream\",\"stream\":true,\"stream_options\":{\"include_usage\":"
                "true},\"max_completion_tokens\":5,\"verbosity\":\"low\",\"service_tier\":"
                "\"flex\"}");
    json_decref(chat);
    fixture_fini(&f);
}

/* ---- recorded requests of the Codex CLI */

static size_t count_functions(const json_t *tools)
{
    size_t n = 0, i;
    const json_t *tool;

    json_array_foreach(tools, i, tool)
    {
        const char *type = json_string_value(json_object_get(tool, "type"));

        if (strcmp(type, "namespace") == 0)
            n += count_functions(json_object_get(tool, "tools"));
        else if (strcmp(type, "function") == 0 || strcmp(type, "custom") == 0)
            n++;
    }
    return n;
}

static size_t count_servable(const json_t *body)
{
    size_t n = count_functions(json_object_get(body, "tools")), i;
    const json_t *item;

    json_array_foreach(json_object_get(body, "input"), i, item) n +=
        count_functions(json_object_get(item, "tools"));
    return n;
}

static json_t *convert_tree(const json_t *body)
{
    char *text = json_dumps(body, 0);
    json_t *chat = chat_of(text), *echo = echo_of(text);

    json_decref(echo);
    free(text);
    return chat;
}

static void codex_with_a_local_model_converts(void **state)
{
    json_t *file = load_json_file(CODEX "codex-0.169-exec-request.json");
    json_t *body = json_object_get(json_object_get(file, "first"), "body");
    json_t *chat = convert_tree(body);

    (void)state;
    assert_true(count_servable(body) > 10);
    assert_int_equal(json_array_size(json_object_get(chat, "tools")), count_servable(body));
    assert_int_equal(json_array_size(json_object_get(chat, "messages")), 3);
    json_decref(chat);
    json_array_extend(json_object_get(body, "input"), json_object_get(file, "second_input_tail"));
    chat = convert_tree(body);
    assert_int_equal(json_array_size(json_object_get(chat, "messages")), 5);
    json_decref(chat);
    json_decref(file);
}

static void codex_with_additional_tools_converts(void **state)
{
    json_t *file = load_json_file(CODEX "codex-0.169-openai-model-request.json");
    const json_t *body = json_object_get(file, "body");
    json_t *chat = convert_tree(body);
    const json_t *first = json_array_get(json_object_get(chat, "tools"), 0);

    (void)state;
    assert_true(count_servable(body) > 5);
    assert_int_equal(json_array_size(json_object_get(chat, "tools")), count_servable(body));
    assert_json("name", json_object_get(json_object_get(first, "function"), "name"),
                "\"functions__exec\"");
    json_decref(chat);
    json_decref(file);
}

/* ---- robustness */

static const char everything[] =
    "{\"model\":\"m\",\"instructions\":\"i\",\"input\":[\"s\",{\"role\":\"developer\",\"content\":"
    "[{\"type\":\"input_text\",\"text\":\"d\"}]},{\"type\":\"reasoning\",\"content\":[{\"text\":"
    "\"r\"}]},{\"type\":\"function_call\",\"call_id\":\"c\\u0031\",\"namespace\":\"n s\",\"name\":"
    "\"f\",\"arguments\":{\"a\" : 1}},{\"type\":\"function_call_output\",\"call_id\":\"c1\","
    "\"output\":[{\"type\":\"input_text\",\"text\":\"t\"},{\"type\":\"input_image\",\"image_url\":"
    "{\"url\":\"u\",\"detail\":\"low\"}}]},{\"type\":\"custom_tool_call\",\"name\":\"p\",\"input\":"
    "\"\\\"x\"},{\"type\":\"reasoning\",\"summary\":[{\"text\":\"r\"},{\"text\":\"s\"}]},{\"role\":\"user\",\"content\":[{\"type\":\"input_file\",\"filename\":\"a.txt\",\"file_data\":\"data:;base64,YWI=\"}]},{\"type\":\"custom_tool_call_output\",\"output\":{\"x\":[1, 2]}},{\"type\":"
    "\"local_shell_call\",\"call_id\":\"l\",\"action\":{\"command\":[\"ls\"],\"env\":{}}},{\"type\":"
    "\"mcp_call\",\"id\":\"m1\",\"name\":\"q\",\"arguments\":\"{}\",\"error\":{\"code\":1}},"
    "{\"type\":\"code_interpreter_call\",\"id\":\"ci\",\"code\":\"1\",\"outputs\":[{\"logs\":"
    "\"1\"}]},{\"type\":\"additional_tools\",\"tools\":[{\"type\":\"custom\",\"name\":\"c\"}]},"
    "{\"type\":\"shell_call\",\"call_id\":\"s\",\"action\":{\"commands\":[\"ls\"]}},{\"type\":"
    "\"apply_patch_call\",\"call_id\":\"a\",\"operation\":{\"type\":\"delete_file\",\"path\":"
    "\"p\"}},{\"type\":\"apply_patch_call_output\",\"call_id\":\"a\",\"status\":\"failed\"},"
    "{\"type\":\"tool_search_call\",\"call_id\":\"t\",\"arguments\":{\"q\":1}},{\"type\":"
    "\"tool_search_output\",\"call_id\":\"t\",\"tools\":[{\"type\":\"namespace\",\"name\":\"n s\","
    "\"tools\":[{\"type\":\"function\",\"name\":\"f\",\"parameters\":{}}]}]},{\"type\":"
    "\"configuration_update\",\"reasoning\":{\"effort\":\"low\"}}],"
    "\"tools\":[{\"type\":\"tool_search\",\"execution\":\"client\"},{\"type\":\"apply_patch\"},{\"type\":\"function\",\"name\":\"f\",\"parameters\":{\"a\":1}},{\"type\":"
    "\"namespace\",\"name\":\"n s\",\"tools\":[{\"type\":\"function\",\"name\":\"f\"}]},{\"type\":"
    "\"mcp\",\"server_label\":\"d\",\"server_url\":\"https://x\"},{\"type\":\"local_shell\"}],"
    "\"tool_choice\":{\"type\":\"function\",\"name\":\"f\"},\"metadata\":{\"a\":\"b\"},\"include\":"
    "[\"message.output_text.logprobs\"],\"seed\":1,\"unknown\":{}}";

/* What takes memory. */
static const struct responses_request_options costly_request = {
    .extra = {.unknown = UNKNOWN_FIELDS_FORWARD},
    .input = {.text_files = true, .reasoning_from_summary = true},
};

/* Parse and build under a limit; true when there was enough. */
static bool fits(size_t limit)
{
    const struct chat_request_options options = {.short_call_ids = true};
    struct buf out = {0};
    struct fixture f;
    bool ok = fixture_parse_with(&f, &costly_request, str_from_c(everything), limit) == 0 &&
              chat_request_build(&f.request, &options, &f.ids, &f.arena, &out, &f.err) == 0;

    if (!ok)
        assert_int_equal(f.err.code, ERR_INTERNAL);
    buf_fini(&out);
    fixture_fini(&f);
    return ok;
}

static void running_out_of_memory_is_an_error_at_any_point(void **state)
{
    size_t limit = 1;

    (void)state;
    while (!fits(limit))
        limit += 16;
    assert_true(limit > 2000);
}

static void a_full_buffer_is_an_error(void **state)
{
    const struct chat_request_options options = {0};
    struct fixture f;

    (void)state;
    assert_int_equal(fixture_parse(&f, str_from_c(everything), 0), 0);
    for (size_t limit = 1; limit < 1000; limit += 50) {
        struct buf out;

        buf_init(&out, limit);
        assert_int_equal(chat_request_build(&f.request, &options, &f.ids, &f.arena, &out, &f.err),
                         -1);
        buf_fini(&out);
    }
    fixture_fini(&f);
}

static void every_cut_of_a_body_is_refused(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(everything) - 1; n++) {
        struct fixture f;

        assert_int_equal(fixture_parse(&f, str_from(everything, n), 0), -1);
        assert_int_equal(f.err.code, ERR_INVALID_JSON);
        fixture_fini(&f);
    }
}

/* A byte changed anywhere gives a request or an error, and JSON out of it. */
static void every_changed_byte_is_survived(void **state)
{
    static const char bytes[] = {'"', '\\', '{', '}', '[', ']', ',', '0', 'n', '\0', '\xE2'};
    char body[sizeof(everything)];

    (void)state;
    for (size_t i = 0; i < sizeof(everything) - 1; i++) {
        for (size_t b = 0; b < sizeof(bytes); b++) {
            const struct chat_request_options options = {0};
            struct fixture f;

            memcpy(body, everything, sizeof(everything));
            body[i] = bytes[b];
            if (fixture_parse(&f, str_from(body, sizeof(body) - 1), 0) == 0)
                json_decref(fixture_chat(&f, &options));
            fixture_fini(&f);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_request_sends_nothing_else),
        cmocka_unit_test(vendor_fields_pass_through),
        cmocka_unit_test(a_field_that_another_candidate_knows_goes_to_that_alone),
        cmocka_unit_test(the_schema_of_the_text_is_passed_on),
        cmocka_unit_test(logprobs_follow_include),
        cmocka_unit_test(an_openai_upstream_gets_its_own_fields),
        cmocka_unit_test(codex_with_a_local_model_converts),
        cmocka_unit_test(codex_with_additional_tools_converts),
        cmocka_unit_test(running_out_of_memory_is_an_error_at_any_point),
        cmocka_unit_test(a_full_buffer_is_an_error),
        cmocka_unit_test(every_cut_of_a_body_is_refused),
        cmocka_unit_test(every_changed_byte_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
