/* test_tool_set.c -- tools, the names the upstream gets for them, and choices. */
#include "request_fixture.h"

#include "conv/tool_name.h"

#define GOOD "\"model\":\"m\",\"input\":\"x\""

static void check_name(const char *name_space, const char *name, const char *expected)
{
    struct arena a = {0};
    str got = tool_name_for_upstream(&a, str_from_c(name_space), str_from_c(name));
    char text[TOOL_NAME_MAX + 1] = "";

    assert_true(got.len <= TOOL_NAME_MAX);
    memcpy(text, got.p, got.len);
    assert_string_equal(text, expected);
    arena_fini(&a);
}

static void names_become_clean_and_short(void **state)
{
    (void)state;
    check_name(NULL, "get_weather-2", "get_weather-2");
    check_name("crm", "find", "crm__find");
    check_name("", "find", "find");
    check_name(NULL, "a.b/c d", "a_b_c_d");
    check_name(NULL, "caf\xC3\xA9", "caf_");
    check_name(NULL, "caf\\u00e9", "caf_");
    check_name(NULL, "a\\u0062", "ab");
    check_name(NULL, "", "_");
    check_name(NULL, "0123456789012345678901234567890123456789012345678901234567890123",
               "0123456789012345678901234567890123456789012345678901234567890123");
}

static void long_names_that_begin_alike_stay_apart(void **state)
{
    static const char a[] = "01234567890123456789012345678901234567890123456789012345678901234";
    static const char b[] = "01234567890123456789012345678901234567890123456789012345678901235";
    struct arena arena = {0};
    str x = tool_name_for_upstream(&arena, STR_NONE, str_from_c(a));
    str y = tool_name_for_upstream(&arena, STR_NONE, str_from_c(b));

    (void)state;
    assert_int_equal(x.len, 64);
    assert_int_equal(y.len, 64);
    assert_memory_equal(x.p, a, 55);
    assert_int_equal(x.p[55], '_');
    assert_false(str_eq(x, y));
    arena_fini(&arena);
}

/* A history item and the tool meet under one name. */
static void a_call_in_the_history_has_the_name_of_its_tool(void **state)
{
    json_t *chat = chat_of(
        "{\"model\":\"m\",\"tools\":[{\"type\":\"namespace\",\"name\":\"a.b\",\"tools\":[{\"type\":"
        "\"function\",\"name\":\"c d\"}]}],\"input\":[{\"type\":\"function_call\",\"call_id\":\"1\","
        "\"namespace\":\"a.b\",\"name\":\"c d\"}]}");
    const json_t *message = json_array_get(json_object_get(chat, "messages"), 0);
    const json_t *call = json_array_get(json_object_get(message, "tool_calls"), 0);
    const json_t *tool = json_array_get(json_object_get(chat, "tools"), 0);

    (void)state;
    assert_json("call", json_object_get(json_object_get(call, "function"), "name"), "\"a_b__c_d\"");
    assert_json("tool", json_object_get(json_object_get(tool, "function"), "name"), "\"a_b__c_d\"");
    json_decref(chat);
}

static const struct tool *find(const struct fixture *f, const char *name)
{
    return tool_set_find(&f->request.tools, str_from_c(name));
}

static void tools_are_found_by_their_upstream_name(void **state)
{
    struct fixture f;

    (void)state;
    assert_int_equal(
        fixture_parse(&f,
                      STR("{" GOOD ",\"tools\":[{\"type\":\"function\",\"name\":\"a.b\"},{\"type\":"
                          "\"namespace\",\"name\":\"n\",\"tools\":[{\"type\":\"custom\",\"name\":"
                          "\"p\"},{\"type\":\"web_search\"}]},{\"type\":\"local_shell\"},{\"type\":"
                          "\"web_search\"}]}"),
                      0),
        0);
    assert_int_equal(f.request.tools.n, 3);
    assert_int_equal(f.request.tools.n_sent, 3);
    assert_true(str_eq(find(&f, "a_b")->name, STR("a.b")));
    assert_int_equal(find(&f, "a_b")->kind, TOOL_FUNCTION);
    assert_int_equal(find(&f, "n__p")->kind, TOOL_CUSTOM);
    assert_true(str_eq(find(&f, "n__p")->name_space, STR("n")));
    assert_int_equal(find(&f, "local_shell")->kind, TOOL_LOCAL_SHELL);
    assert_null(find(&f, "a.b"));
    assert_null(find(&f, "web_search"));
    fixture_fini(&f);
}

static void names_that_become_equal_are_refused(void **state)
{
    struct fixture f;

    (void)state;
    assert_int_equal(
        fixture_parse(&f,
                      STR("{" GOOD ",\"tools\":[{\"type\":\"function\",\"name\":\"a.b\""
                          "},{\"type\":\"function\",\"name\":\"a_b\"}]}"),
                      0),
        -1);
    assert_string_equal(f.err.param, "tools");
    fixture_fini(&f);
}

#define ADDITIONAL(tools) "{\"type\":\"additional_tools\",\"tools\":[" tools "]}"
#define FUNCTION(name)    "{\"type\":\"function\",\"name\":\"" name "\"}"

static void additional_tools_are_sent_once_and_not_echoed(void **state)
{
    static const char body[] =
        "{\"model\":\"m\",\"tools\":[" FUNCTION("a") "],\"input\":[" ADDITIONAL(
            FUNCTION("a") "," FUNCTION("b")) "," ADDITIONAL(FUNCTION("b")) "]}";
    json_t *chat = chat_of(body), *echo = echo_of(body);

    (void)state;
    assert_int_equal(json_array_size(json_object_get(chat, "tools")), 2);
    assert_int_equal(json_array_size(json_object_get(echo, "tools")), 1);
    json_decref(chat);
    json_decref(echo);
}

#define FOUND(tools) "{\"type\":\"tool_search_output\",\"call_id\":\"s\",\"tools\":[" tools "]}"

static void check_order(const struct fixture *f, const char *expected)
{
    const struct tool_set *set = &f->request.tools;
    struct buf names = {0};
    size_t n = 0;

    for (const struct tool *t = set->first; t != NULL; t = t->next, n++) {
        buf_append(&names, t->upstream_name);
        buf_char(&names, ' ');
        assert_ptr_equal(set->last, t->next == NULL ? t : set->last);
    }
    assert_string_equal(buf_cstr(&names), expected);
    assert_int_equal(set->n, n);
    assert_int_equal(set->n_sent, n);
    buf_fini(&names);
}

/* What a model reads of its tools begins as it did before a search has found more. */
static void tools_that_were_found_stand_behind_all_others(void **state)
{
    static const char body[] =
        "{\"model\":\"m\",\"tools\":[" FUNCTION("a") "],\"input\":[" FOUND(FUNCTION(
            "x") "," FUNCTION("y")) "," ADDITIONAL(FUNCTION("b")) "," FOUND(FUNCTION("y")) "]}";
    const struct server_tool of_server = {.server_label = STR("s"),
                                          .name = STR("t"),
                                          .upstream_name = STR("t"),
                                          .description = STR(""),
                                          .parameters = STR("{}")};
    struct fixture f;

    (void)state;
    assert_int_equal(fixture_parse(&f, str_from_c(body), 0), 0);
    check_order(&f, "a b x y ");
    assert_int_equal(
        tool_set_add_mcp(&f.request.tools, &f.request.tool_index, &of_server, &f.arena, &f.err), 0);
    check_order(&f, "a b t x y ");
    fixture_fini(&f);
}

static void a_later_definition_replaces_and_stands_at_the_end(void **state)
{
    static const struct {
        const char *tools, *items, *order;
    } cases[] = {
        {FUNCTION("a") "," FUNCTION("b"), ADDITIONAL("{\"type\":\"custom\",\"name\":\"a\"}"),
         "b a "},
        {FUNCTION("a"), ADDITIONAL("{\"type\":\"custom\",\"name\":\"a\"}"), "a "},
        {FUNCTION("a") "," FUNCTION("b"), FOUND("{\"type\":\"custom\",\"name\":\"b\"}"), "a b "},
        {FUNCTION("a") "," FUNCTION("b"), FOUND("{\"type\":\"custom\",\"name\":\"a\"}"), "b a "},
        {"{\"type\":\"tool_search\",\"execution\":\"client\"}," FUNCTION("b"),
         ADDITIONAL("{\"type\":\"tool_search\",\"execution\":\"client\",\"description\":\"x\"}"),
         "b tool_search "},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char body[512];
        struct fixture f;

        (void)snprintf(body, sizeof(body), "{\"model\":\"m\",\"tools\":[%s],\"input\":[%s]}",
                       cases[i].tools, cases[i].items);
        assert_int_equal(fixture_parse(&f, str_from_c(body), 0), 0);
        check_order(&f, cases[i].order);
        fixture_fini(&f);
    }
}

static void what_only_programs_may_call_is_left_out(void **state)
{
    static const char body[] =
        "{" GOOD ",\"tools\":[{\"type\":\"function\",\"name\":\"a\",\"allowed_callers\":["
        "\"programmatic\"]},{\"type\":\"custom\",\"name\":\"b\",\"allowed_callers\":["
        "\"programmatic\",\"direct\"]},{\"type\":\"shell\",\"allowed_callers\":[]},{\"type\":"
        "\"namespace\",\"name\":\"n\",\"tools\":[{\"type\":\"function\",\"name\":\"c\","
        "\"allowed_callers\":[\"programmatic\"]}]},{\"type\":\"apply_patch\",\"allowed_callers\":"
        "null},{\"type\":\"shell\",\"environment\":{\"type\":\"container_auto\"}}]}";
    json_t *echo = echo_of(body);
    struct fixture f;

    (void)state;
    assert_int_equal(fixture_parse(&f, str_from_c(body), 0), 0);
    check_order(&f, "b apply_patch ");
    assert_int_equal(json_array_size(json_object_get(echo, "tools")), 6);
    json_decref(echo);
    fixture_fini(&f);
}

static void an_additional_tool_may_not_take_a_name(void **state)
{
    struct fixture f;

    (void)state;
    assert_int_equal(fixture_parse(&f,
                                   STR("{\"model\":\"m\",\"tools\":[" FUNCTION(
                                       "a.b") "],\"input\":[" ADDITIONAL(FUNCTION("a b")) "]}"),
                                   0),
                     -1);
    assert_string_equal(f.err.param, "tools");
    fixture_fini(&f);
}

static void every_kind_of_tool_is_sent_as_a_function(void **state)
{
    json_t *chat = chat_of(
        "{" GOOD ",\"tools\":[{\"type\":\"custom\",\"name\":\"p\",\"format\":{\"type\":\"text\"}},"
        "{\"type\":\"custom\",\"name\":\"g\",\"format\":{\"type\":\"grammar\",\"syntax\":\"regex\","
        "\"definition\":\"a+\"}},{\"type\":\"local_shell\"},{\"type\":\"mcp\",\"server_label\":"
        "\"d\",\"server_url\":\"https://x\"},{\"type\":\"code_interpreter\",\"container\":\"c\"}]}");
    const json_t *tools = json_object_get(chat, "tools");

    (void)state;
    assert_int_equal(json_array_size(tools), 3);
    assert_json("text", json_array_get(tools, 0),
                "{\"type\":\"function\",\"function\":{\"name\":\"p\",\"parameters\":{\"type\":"
                "\"object\",\"properties\":{\"input\":{\"type\":\"string\"}},\"required\":["
                "\"input\"],\"additionalProperties\":false}}}");
    assert_json(
        "grammar",
        json_object_get(json_object_get(json_array_get(tools, 1), "function"), "description"),
        "\"The input must match this regex grammar:\\na+\"");
    assert_json("shell",
                json_object_get(json_object_get(json_array_get(tools, 2), "function"), "name"),
                "\"local_shell\"");
    json_decref(chat);
}

static void allowed_tools_keeps_the_others_back(void **state)
{
    struct fixture f;

    (void)state;
    assert_int_equal(
        fixture_parse(&f,
                      STR("{" GOOD ",\"tools\":[" FUNCTION("a") "," FUNCTION(
                          "b") ",{\"type\":\"web_search\"}],\"tool_choice\":{\"type\":"
                               "\"allowed_tools\",\"mode\":\"auto\",\"tools\":[" FUNCTION(
                                   "b") "," FUNCTION("b") ",{\"type\":\"web_search\"}]}}"),
                      0),
        0);
    assert_int_equal(f.request.tools.n, 2);
    assert_int_equal(f.request.tools.n_sent, 1);
    assert_false(find(&f, "a")->sent);
    assert_true(find(&f, "b")->sent);
    assert_int_equal(f.request.tool_choice.mode, TOOL_CHOICE_AUTO);
    fixture_fini(&f);
}

static void nothing_allowed_sends_nothing_about_tools(void **state)
{
    json_t *chat = chat_of("{" GOOD ",\"tools\":[" FUNCTION(
        "a") "],\"parallel_tool_calls\":true,\"tool_choice\":{\"type\":\"allowed_tools\",\"mode\":"
             "\"auto\",\"tools\":[]}}");

    (void)state;
    assert_null(json_object_get(chat, "tools"));
    assert_null(json_object_get(chat, "tool_choice"));
    assert_null(json_object_get(chat, "parallel_tool_calls"));
    json_decref(chat);
}

static void choices_name_the_upstream_tool(void **state)
{
    static const struct {
        const char *choice, *sent;
    } cases[] = {
        {"\"none\"", "\"none\""},
        {"\"auto\"", "\"auto\""},
        {"\"required\"", "\"required\""},
        {"{\"type\":\"function\",\"name\":\"a.b\"}",
         "{\"type\":\"function\",\"function\":{\"name\":\"a_b\"}}"},
        {"{\"type\":\"function\",\"function\":{\"name\":\"a_b\"}}",
         "{\"type\":\"function\",\"function\":{\"name\":\"a_b\"}}"},
        {"{\"type\":\"custom\",\"name\":\"n__f\"}",
         "{\"type\":\"function\",\"function\":{\"name\":\"n__f\"}}"},
        {"{\"type\":\"local_shell\"}",
         "{\"type\":\"function\",\"function\":{\"name\":\"local_shell\"}}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char body[512];
        json_t *chat;

        (void)snprintf(
            body, sizeof(body),
            "{" GOOD
            ",\"tools\":[" FUNCTION("a.b") ",{\"type\":\"namespace\",\"name\":\"n\",\"tools\":[" FUNCTION(
                "f") "]},{\"type\":\"local_shell\"}],\"tool_choice\":%s}",
            cases[i].choice);
        chat = chat_of(body);
        assert_json(cases[i].choice, json_object_get(chat, "tool_choice"), cases[i].sent);
        json_decref(chat);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_become_clean_and_short),
        cmocka_unit_test(long_names_that_begin_alike_stay_apart),
        cmocka_unit_test(a_call_in_the_history_has_the_name_of_its_tool),
        cmocka_unit_test(tools_are_found_by_their_upstream_name),
        cmocka_unit_test(names_that_become_equal_are_refused),
        cmocka_unit_test(additional_tools_are_sent_once_and_not_echoed),
        cmocka_unit_test(tools_that_were_found_stand_behind_all_others),
        cmocka_unit_test(a_later_definition_replaces_and_stands_at_the_end),
        cmocka_unit_test(what_only_programs_may_call_is_left_out),
        cmocka_unit_test(an_additional_tool_may_not_take_a_name),
        cmocka_unit_test(every_kind_of_tool_is_sent_as_a_function),
        cmocka_unit_test(allowed_tools_keeps_the_others_back),
        cmocka_unit_test(nothing_allowed_sends_nothing_about_tools),
        cmocka_unit_test(choices_name_the_upstream_tool),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
