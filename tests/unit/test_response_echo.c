/* test_response_echo.c -- what the response object repeats of the request. */
#include "request_fixture.h"

#define GOOD          "\"model\":\"m\",\"input\":\"x\""
#define WITH(members) "{" GOOD "," members "}"
#define FUNCTION_A    "{\"type\":\"function\",\"name\":\"a\"}"

static void the_echo_has_every_default(void **state)
{
    json_t *echo = echo_of("{" GOOD "}");

    (void)state;
    assert_json("defaults", echo,
                "{\"background\":false,\"instructions\":null,\"max_output_tokens\":null,"
                "\"max_tool_calls\":null,\"model\":\"m\",\"parallel_tool_calls\":true,"
                "\"previous_response_id\":null,\"reasoning\":{\"effort\":null,\"summary\":null},"
                "\"store\":true,\"temperature\":1.0,\"text\":{\"format\":{\"type\":\"text\"}},"
                "\"tool_choice\":\"auto\",\"tools\":[],\"top_p\":1.0,\"truncation\":\"disabled\","
                "\"metadata\":{},\"presence_penalty\":0.0,\"frequency_penalty\":0.0,"
                "\"top_logprobs\":0,\"safety_identifier\":null,\"prompt_cache_key\":null,"
                "\"conversation\":null}");
    json_decref(echo);
}

static void the_echo_repeats_what_was_given(void **state)
{
    json_t *echo = echo_of(
        WITH("\"instructions\":\"i\",\"max_output_tokens\":16,\"max_tool_calls\":2,"
             "\"parallel_tool_calls\":false,\"reasoning\":{\"effort\":\"low\",\"generate_summary\":"
             "\"auto\",\"context\":\"all_turns\",\"x\":1},\"store\":false,\"temperature\":0.5,"
             "\"top_p\":1,\"text\":{\"verbosity\":\"low\",\"format\":{\"type\":\"json_schema\","
             "\"name\":\"n\",\"schema\":{\"a\" : [1, 2]}}},\"truncation\":\"auto\",\"metadata\":"
             "{\"k\":\"v\"},\"presence_penalty\":-1,\"frequency_penalty\":1,\"top_logprobs\":2,"
             "\"safety_identifier\":\"s\",\"prompt_cache_key\":\"p\",\"user\":\"u\","
             "\"prompt_cache_retention\":\"24h\""));

    (void)state;
    assert_json("given", echo,
                "{\"background\":false,\"instructions\":\"i\",\"max_output_tokens\":16,"
                "\"max_tool_calls\":2,\"model\":\"m\",\"parallel_tool_calls\":false,"
                "\"previous_response_id\":null,\"reasoning\":{\"effort\":\"low\",\"summary\":"
                "\"auto\",\"context\":\"all_turns\"},\"store\":false,\"temperature\":0.5,\"text\":"
                "{\"format\":{\"type\":\"json_schema\",\"name\":\"n\",\"description\":null,"
                "\"schema\":{\"a\":[1,2]},\"strict\":false},\"verbosity\":\"low\"},\"tool_choice\":"
                "\"auto\",\"tools\":[],\"top_p\":1,\"truncation\":\"auto\",\"metadata\":{\"k\":"
                "\"v\"},\"presence_penalty\":-1,\"frequency_penalty\":1,\"top_logprobs\":2,"
                "\"safety_identifier\":\"s\",\"prompt_cache_key\":\"p\",\"conversation\":null,"
                "\"user\":\"u\",\"prompt_cache_retention\":\"24h\"}");
    json_decref(echo);
}

static void the_echo_of_tools_is_complete_and_keeps_secrets(void **state)
{
    json_t *echo = echo_of(WITH(
        "\"tools\":[{\"type\":\"function\",\"name\":\"a\"},\n{\"type\":\"function\",\"function\":{"
        "\"name\":\"b\",\"description\":\"B\",\"parameters\":{\n \"type\" : \"object\"\n},\"strict\":"
        "true}},{\"type\":\"mcp\",\"server_label\":\"d\",\"server_url\":\"https:\\/\\/u:p@h:8/x"
        "?key=1#f\",\"authorization\":\"secret\",\"headers\":{\"k\":\"secret\"},\"allowed_tools\":["
        "\"t\"],\"require_approval\":\"never\"},{\"type\":\"web_search\",\"x\": [ 1 ]}]"));

    (void)state;
    assert_json("tools", json_object_get(echo, "tools"),
                "[{\"type\":\"function\",\"name\":\"a\",\"description\":null,\"parameters\":null,"
                "\"strict\":null},{\"type\":\"function\",\"name\":\"b\",\"description\":\"B\","
                "\"parameters\":{\"type\":\"object\"},\"strict\":true},{\"type\":\"mcp\","
                "\"server_label\":\"d\",\"server_url\":\"https://h:8/x\",\"allowed_tools\":[\"t\"],"
                "\"require_approval\":\"never\"},{\"type\":\"web_search\",\"x\":[1]}]");
    json_decref(echo);
}

static void newer_members_of_functions_come_back_as_given(void **state)
{
    json_t *echo = echo_of(WITH(
        "\"tools\":[{\"type\":\"function\",\"name\":\"a\",\"async\":true,\"defer_loading\":"
        "false,\"allowed_callers\":[\"direct\"],\"output_schema\":{\"type\":\"object\"},"
        "\"other\":1}],\"personality\":\"friendly\",\"prompt_cache_options\":{\"ttl\":\"1h\"}"));

    (void)state;
    assert_json("tools", json_object_get(echo, "tools"),
                "[{\"type\":\"function\",\"name\":\"a\",\"description\":null,\"parameters\":null,"
                "\"strict\":null,\"allowed_callers\":[\"direct\"],\"async\":true,"
                "\"defer_loading\":false,\"output_schema\":{\"type\":\"object\"}}]");
    assert_null(json_object_get(echo, "personality"));
    assert_null(json_object_get(echo, "prompt_cache_options"));
    assert_null(json_object_get(echo, "prompt_cache_diagnostics"));
    json_decref(echo);
}

static void who_asks_what_was_cached_is_answered(void **state)
{
    json_t *echo =
        echo_of(WITH("\"prompt_cache_options\":{\"comparison_response_id\":\"resp_1\"}"));

    (void)state;
    assert_json("diagnostics", json_object_get(echo, "prompt_cache_diagnostics"),
                "{\"type\":\"unavailable\"}");
    json_decref(echo);
}

static void secrets_of_mcp_tools_are_not_repeated(void **state)
{
    json_t *echo = echo_of(WITH(
        "\"tools\":[{\"type\":\"namespace\",\"name\":\"n\",\"tools\":[{\"type\":\"mcp\","
        "\"server_label\":\"d\",\"server_url\":\"https://u:p@h/\",\"authorization\":\"s\","
        "\"headers\":{\"k\":\"s\"}},{\"type\":\"function\",\"name\":\"f\"}]},{\"type\":\"mcp\","
        "\"server_label\":\"e\",\"server_url\":\"h/sse?key=s&next=https://z\"},{\"type\":\"mcp\","
        "\"server_label\":\"f\",\"server_url\":\"https://u:p@p@h/@x\"},{\"type\":\"mcp\","
        "\"server_label\":\"g\",\"server_url\":\"u:p@h/x#s\"}]"));

    (void)state;
    assert_json(
        "tools", json_object_get(echo, "tools"),
        "[{\"type\":\"namespace\",\"name\":\"n\",\"tools\":[{\"type\":\"mcp\","
        "\"server_label\":\"d\",\"server_url\":\"https://h/\"},{\"type\":\"function\","
        "\"name\":\"f\"}]},{\"type\":\"mcp\",\"server_label\":\"e\",\"server_url\":"
        "\"h/sse\"},{\"type\":\"mcp\",\"server_label\":\"f\",\"server_url\":\"https://h/@x\"},"
        "{\"type\":\"mcp\",\"server_label\":\"g\",\"server_url\":\"h/x\"}]");
    json_decref(echo);
}

static void names_of_members_come_back_as_they_were(void **state)
{
    static const char name[] =
        "a\\n\\\"b0123456789012345678901234567890123456789012345678901234567";
    char body[400];
    json_t *echo;

    (void)state;
    (void)snprintf(body, sizeof(body),
                   WITH("\"tools\":[{\"type\":\"namespace\",\"name\":\"n\",\"\\u0061b\":1,\"%s\":2,"
                        "\"tools\":[]}]"),
                   name);
    echo = echo_of(body);
    (void)snprintf(body, sizeof(body),
                   "[{\"type\":\"namespace\",\"name\":\"n\",\"ab\":1,\"%s\":2,\"tools\":[]}]",
                   name);
    assert_json("tools", json_object_get(echo, "tools"), body);
    json_decref(echo);
}

static void the_echo_of_a_choice_has_the_flat_form(void **state)
{
    static const struct {
        const char *choice, *echo;
    } cases[] = {
        {"\"none\"", "\"none\""},
        {"\"required\"", "\"required\""},
        {"{\"type\":\"function\",\"name\":\"a\",\"x\":1}",
         "{\"type\":\"function\",\"name\":\"a\"}"},
        {"{\"type\":\"function\",\"function\":{\"name\":\"a\"}}",
         "{\"type\":\"function\",\"name\":\"a\"}"},
        {"{\"type\":\"allowed_tools\",\"mode\":\"auto\",\"tools\":[{\"type\":\"function\","
         "\"name\":\"a\"}]}",
         "{\"type\":\"allowed_tools\",\"mode\":\"auto\",\"tools\":[{\"type\":\"function\","
         "\"name\":\"a\"}]}"},
        {"{\"type\":\"local_shell\"}", "{\"type\":\"local_shell\"}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char body[512];
        json_t *echo;

        (void)snprintf(
            body, sizeof(body),
            WITH("\"tools\":[" FUNCTION_A ",{\"type\":\"local_shell\"}],\"tool_choice\":%s"),
            cases[i].choice);
        echo = echo_of(body);
        assert_json(body, json_object_get(echo, "tool_choice"), cases[i].echo);
        json_decref(echo);
    }
}

static void secrets_of_mcp_tools_are_not_repeated_as_a_choice(void **state)
{
    static const char body[] = WITH(
        "\"tools\":[{\"type\":\"mcp\",\"server_label\":\"docs\",\"server_url\":\"https://h/\"}],"
        "\"tool_choice\":{\"type\":\"allowed_tools\",\"mode\":\"auto\",\"tools\":[{"
        "\"authorization\":\"s\",\"allowed_tools\":5,\"type\":\"mcp\",\"server_label\":\"docs\","
        "\"headers\":{\"k\":\"s\"},\"server_url\":\"https://h/?s\"},{\"type\":\"\\u006dcp\","
        "\"server_label\":\"docs\",\"name\":\"search\",\"authorization\":\"s\"}]}");
    const struct responses_request_options options = {.default_model = STR_NONE};
    const struct request_history nothing = {.n = 0};
    struct fixture f;
    json_t *echo;

    (void)state;
    assert_int_equal(fixture_complete(&f, &options, str_from_c(body), &nothing, 0), 0);
    echo = fixture_echo(&f);
    assert_json("choice", json_object_get(echo, "tool_choice"),
                "{\"type\":\"allowed_tools\",\"mode\":\"auto\",\"tools\":[{\"type\":\"mcp\","
                "\"server_label\":\"docs\"},{\"type\":\"mcp\",\"server_label\":\"docs\",\"name\":"
                "\"search\"}]}");
    json_decref(echo);
}

static void the_echo_escapes_what_splits_lines(void **state)
{
    static const char body[] = WITH("\"instructions\":\"a\xE2\x80\xA8"
                                    "b\\ud83d\",\"metadata\":"
                                    "{\"k\":\"\xC2\x85\xE2\x80\xA9\"}");
    struct buf out = {0};
    struct fixture f;

    (void)state;
    assert_int_equal(fixture_parse(&f, str_from_c(body), 0), 0);
    responses_request_echo(&f.request, &out);
    assert_non_null(strstr(buf_cstr(&out), "\"instructions\":\"a\\u2028b\\ufffd\""));
    assert_non_null(strstr(buf_cstr(&out), "\"k\":\"\\u0085\\u2029\""));
    buf_fini(&out);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_echo_has_every_default),
        cmocka_unit_test(the_echo_repeats_what_was_given),
        cmocka_unit_test(the_echo_of_tools_is_complete_and_keeps_secrets),
        cmocka_unit_test(newer_members_of_functions_come_back_as_given),
        cmocka_unit_test(who_asks_what_was_cached_is_answered),
        cmocka_unit_test(secrets_of_mcp_tools_are_not_repeated),
        cmocka_unit_test(secrets_of_mcp_tools_are_not_repeated_as_a_choice),
        cmocka_unit_test(names_of_members_come_back_as_they_were),
        cmocka_unit_test(the_echo_of_a_choice_has_the_flat_form),
        cmocka_unit_test(the_echo_escapes_what_splits_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
