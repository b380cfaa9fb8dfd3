/* test_hosted_tool.c -- code_interpreter and web_search as requests declare and choose them, and
 * what the upstream is told of them. */
#include "request_fixture.h"

#include "lib/test.h"

#define BODY(tools, members) "{\"model\":\"m\",\"input\":\"x\",\"tools\":[" tools "]" members "}"
#define TOOLS(tools)         BODY(tools, "")
#define CHOICE(choice)       ",\"tool_choice\":" choice
#define CODE(members)        "{\"type\":\"code_interpreter\"" members "}"
#define CONTAINER(container) CODE(",\"container\":" container)
#define AUTO                 CONTAINER("{\"type\":\"auto\"}")
#define SEARCH(members)      "{\"type\":\"web_search\"" members "}"
#define TYPE(type)           "{\"type\":\"" type "\"}"
#define FUNCTION(name)       "{\"type\":\"function\",\"name\":\"" name "\"}"
#define NAMED(name)          "{\"type\":\"function\",\"function\":{\"name\":\"" name "\"}}"
#define ADDITIONAL(tools)    "{\"type\":\"additional_tools\",\"tools\":[" tools "]}"
#define EXPECTED(type, got)  "expected " type ", but got " got " instead."

static const struct responses_request_options serving = {
    .tools = {.serves[HOSTED_CODE_INTERPRETER] = true,
              .serves[HOSTED_WEB_SEARCH] = true,
              .serves_pages = true}};
static const struct responses_request_options without = {.tools.why_not[HOSTED_CODE_INTERPRETER] =
                                                             "bwrap is not installed.",
                                                         .tools.why_not[HOSTED_WEB_SEARCH] = NULL};
static const struct responses_request_options strict = {.tools.why_not[HOSTED_CODE_INTERPRETER] =
                                                            "bwrap is not installed.",
                                                        .tools.reject_unserved = true};

static void parse_with(struct fixture *f, const struct responses_request_options *o,
                       const char *body)
{
    if (fixture_parse_with(f, o, str_from_c(body), 0) == -1)
        fail_msg("%s (%s) for %s", f->err.msg, f->err.param, body);
}

static void check_refused(const struct responses_request_options *o, const char *body,
                          enum err_code code, const char *param, const char *end_of_msg)
{
    struct fixture f;

    if (fixture_parse_with(&f, o, str_from_c(body), 0) != -1)
        fail_msg("taken: %s", body);
    assert_int_equal(f.err.code, code);
    assert_string_equal(f.err.param, param);
    if (!str_ends_with(str_from_c(f.err.msg), str_from_c(end_of_msg)))
        fail_msg("%s for %s", f.err.msg, body);
    fixture_fini(&f);
}

static const struct tool *find(const struct fixture *f, const char *name)
{
    return tool_set_find(&f->request.tools, str_from_c(name));
}

/* ---- declarations */

static void a_wrong_declaration_is_refused_by_its_path_served_or_not(void **state)
{
    static const struct {
        const char *tool;
        enum err_code code;
        const char *member, *msg; /* the end of it */
    } cases[] = {
        {CODE(""), ERR_MISSING_PARAMETER, "container", "'tools[0].container'."},
        {CONTAINER("null"), ERR_MISSING_PARAMETER, "container", "'tools[0].container'."},
        {CONTAINER("7"), ERR_INVALID_TYPE, "container",
         EXPECTED("a string or an object", "a number")},
        {CONTAINER("\"\""), ERR_INVALID_VALUE, "container", "an empty string instead."},
        {CONTAINER("{}"), ERR_MISSING_PARAMETER, "container.type", "'tools[0].container.type'."},
        {CONTAINER("{\"type\":\"cntr_1\"}"), ERR_INVALID_VALUE, "container.type", "'auto'."},
        {CONTAINER("{\"type\":\"auto\",\"memory_limit\":1}"), ERR_INVALID_TYPE,
         "container.memory_limit", EXPECTED("a string", "a number")},
        {CONTAINER("{\"type\":\"auto\",\"memory_limit\":\"2g\"}"), ERR_INVALID_VALUE,
         "container.memory_limit", "'1g', '4g', '16g', and '64g'."},
        {CONTAINER("{\"type\":\"auto\",\"file_ids\":\"f\"}"), ERR_INVALID_TYPE,
         "container.file_ids", EXPECTED("an array", "a string")},
        {CONTAINER("{\"type\":\"auto\",\"file_ids\":[1]}"), ERR_INVALID_TYPE,
         "container.file_ids[0]", EXPECTED("a string", "a number")},
        {CONTAINER("{\"type\":\"auto\",\"file_ids\":[\"f\"]}"), ERR_UNSUPPORTED_PARAMETER,
         "container.file_ids", "'tools[0].container.file_ids'."},
        {SEARCH(",\"search_context_size\":3"), ERR_INVALID_TYPE, "search_context_size",
         EXPECTED("a string", "a number")},
        {SEARCH(",\"search_context_size\":\"big\""), ERR_INVALID_VALUE, "search_context_size",
         "'low', 'medium', and 'high'."},
        {SEARCH(",\"user_location\":\"Rome\""), ERR_INVALID_TYPE, "user_location",
         EXPECTED("an object", "a string")},
        {SEARCH(",\"user_location\":{\"type\":\"exact\"}"), ERR_INVALID_VALUE, "user_location.type",
         "'approximate'."},
        {SEARCH(",\"user_location\":{\"city\":[]}"), ERR_INVALID_TYPE, "user_location.city",
         EXPECTED("a string", "an array")},
        {SEARCH(",\"filters\":[]"), ERR_INVALID_TYPE, "filters", EXPECTED("an object", "an array")},
        {SEARCH(",\"filters\":{\"allowed_domains\":\"a\"}"), ERR_INVALID_TYPE,
         "filters.allowed_domains", EXPECTED("an array", "a string")},
        {SEARCH(",\"filters\":{\"blocked_domains\":[\"a\",{}]}"), ERR_INVALID_TYPE,
         "filters.blocked_domains[1]", EXPECTED("a string", "an object")},
        {SEARCH(",\"external_web_access\":\"no\""), ERR_INVALID_TYPE, "external_web_access",
         EXPECTED("a boolean", "a string")},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char body[512], param[64];

        (void)snprintf(body, sizeof(body), TOOLS("%s"), cases[i].tool);
        (void)snprintf(param, sizeof(param), "tools[0].%s", cases[i].member);
        check_refused(&serving, body, cases[i].code, param, cases[i].msg);
        check_refused(&without, body, cases[i].code, param, cases[i].msg);
    }
}

static void a_declaration_has_what_was_given(void **state)
{
    const struct search_declaration *d;
    struct fixture f;

    (void)state;
    parse_with(&f, &serving,
               TOOLS(CONTAINER("\"c\\u0031\"") "," SEARCH(
                   ",\"search_context_size\":\"low\",\"user_location\":{\"type\":\"approximate\","
                   "\"country\":\"IT\",\"region\":\"R\",\"city\":\"Rome\",\"timezone\":\"T\"},"
                   "\"filters\":{\"allowed_domains\":[\"a\"],\"blocked_domains\":[\"b\"]}")));
    assert_int_equal(find(&f, "code_interpreter")->hosted_kind, HOSTED_CODE_INTERPRETER);
    assert_str_c(find(&f, "code_interpreter")->code->at, "tools[0]");
    assert_str_c(find(&f, "code_interpreter")->code->container, "c\\u0031");
    assert_int_equal(find(&f, "web_search")->hosted_kind, HOSTED_WEB_SEARCH);
    d = find(&f, "web_search")->search;
    assert_str_c(d->at, "tools[1]");
    assert_str_c(d->size, "low");
    assert_str_c(d->country, "IT");
    assert_str_c(d->region, "R");
    assert_str_c(d->city, "Rome");
    assert_str_c(d->timezone, "T");
    assert_str_c(d->allowed_domains, "[\"a\"]");
    assert_str_c(d->blocked_domains, "[\"b\"]");
    fixture_fini(&f);
}

static void what_is_null_is_not_given(void **state)
{
    const struct code_declaration *code;
    const struct search_declaration *search;
    struct fixture f;

    (void)state;
    parse_with(
        &f, &serving,
        TOOLS(CONTAINER("{\"type\":\"auto\",\"memory_limit\":null,\"file_ids\":[]}") "," SEARCH(
            ",\"search_context_size\":null,\"user_location\":null,\"filters\":null,"
            "\"external_web_access\":null")));
    code = find(&f, "code_interpreter")->code;
    assert_true(str_is_none(code->container) && str_is_none(code->memory_limit));
    search = find(&f, "web_search")->search;
    assert_true(str_is_none(search->size) && str_is_none(search->country));
    assert_true(str_is_none(search->allowed_domains) && str_is_none(search->blocked_domains));
    assert_true(search->opens_pages);
    fixture_fini(&f);
    parse_with(&f, &serving, TOOLS(CONTAINER("{\"type\":\"auto\",\"memory_limit\":\"4g\"}")));
    assert_str_c(find(&f, "code_interpreter")->code->memory_limit, "4g");
    fixture_fini(&f);
}

static void pages_are_opened_where_both_sides_allow_it(void **state)
{
    struct responses_request_options no_pages = serving;
    struct fixture f;

    (void)state;
    parse_with(&f, &serving, TOOLS(SEARCH(",\"external_web_access\":true")));
    assert_true(find(&f, "web_search")->search->opens_pages);
    fixture_fini(&f);
    parse_with(&f, &serving, TOOLS(SEARCH(",\"external_web_access\":false")));
    assert_false(find(&f, "web_search")->search->opens_pages);
    fixture_fini(&f);
    no_pages.tools.serves_pages = false;
    parse_with(&f, &no_pages, TOOLS(SEARCH(",\"external_web_access\":true")));
    assert_false(find(&f, "web_search")->search->opens_pages);
    fixture_fini(&f);
}

static void a_request_has_one_of_a_kind(void **state)
{
    (void)state;
    check_refused(&serving, TOOLS(AUTO "," AUTO), ERR_INVALID_VALUE, "tools[1].type",
                  "only one tool of type 'code_interpreter'.");
    check_refused(&serving, TOOLS(TYPE("web_search") "," TYPE("web_search_preview")),
                  ERR_INVALID_VALUE, "tools[1].type",
                  "only one tool of type 'web_search_preview'.");
    check_refused(&without, TOOLS(TYPE("web_search") "," TYPE("web_search")), ERR_INVALID_VALUE,
                  "tools[1].type", "only one tool of type 'web_search'.");
}

static void of_additional_tools_that_repeat_one_the_last_counts(void **state)
{
    struct fixture f;

    (void)state;
    parse_with(
        &f, &serving,
        "{\"model\":\"m\",\"tools\":[" CONTAINER("\"a\"") "],\"input\":[" ADDITIONAL(CONTAINER(
            "\"b\"") "," TYPE("web_search")) "," ADDITIONAL(TYPE("web_search_preview")) "]}");
    assert_int_equal(f.request.tools.n, 2);
    assert_int_equal(f.request.tools.n_sent, 2);
    assert_str_c(find(&f, "code_interpreter")->code->container, "b");
    assert_str_c(find(&f, "web_search")->search->at, "input[1].tools[0]");
    fixture_fini(&f);
}

static void tools_of_the_previous_response_are_inherited(void **state)
{
    const struct request_history history = {
        .previous_tail = STR("],\"tools\":[" CONTAINER("\"c\"") "," TYPE("web_search") "]}")};
    struct fixture f;

    (void)state;
    assert_int_equal(
        fixture_complete(&f, &serving,
                         STR("{\"model\":\"m\",\"input\":\"x\",\"previous_response_id\":\"r\"}"),
                         &history, 0),
        0);
    assert_str_c(find(&f, "code_interpreter")->code->container, "c");
    assert_non_null(find(&f, "web_search"));
    fixture_fini(&f);
}

/* ---- where they are not served */

static void what_is_not_served_is_left_out_and_echoed(void **state)
{
    struct fixture f;
    json_t *echo;

    (void)state;
    parse_with(&f, &without, TOOLS(AUTO "," TYPE("web_search_2025_08_26")));
    assert_int_equal(f.request.tools.n, 0);
    echo = fixture_echo(&f);
    assert_json("echo", json_object_get(echo, "tools"),
                "[" AUTO "," TYPE("web_search_2025_08_26") "]");
    json_decref(echo);
}

static void who_insists_hears_why(void **state)
{
    (void)state;
    check_refused(&strict, TOOLS(AUTO), ERR_UNSUPPORTED_PARAMETER, "tools[0].type",
                  "cannot serve tools of type 'code_interpreter' here: bwrap is not installed.");
    check_refused(&strict, TOOLS(TYPE("web_search_preview")), ERR_UNSUPPORTED_PARAMETER,
                  "tools[0].type", "cannot serve tools of type 'web_search_preview' here.");
    check_refused(&without, BODY(AUTO, CHOICE(TYPE("code_interpreter"))), ERR_INVALID_VALUE,
                  "tool_choice", "that this gateway cannot serve: bwrap is not installed.");
    check_refused(&without, BODY(TYPE("web_search"), CHOICE(TYPE("web_search"))), ERR_INVALID_VALUE,
                  "tool_choice", "that this gateway cannot serve.");
    check_refused(&without, BODY(AUTO, CHOICE("\"required\"")), ERR_INVALID_VALUE, "tool_choice",
                  "must be specified with 'tools' parameter.");
}

/* ---- names */

static void names_give_way_to_those_of_the_client(void **state)
{
    static const struct {
        const char *tools, *code, *search;
    } cases[] = {
        {AUTO "," TYPE("web_search_preview"), "code_interpreter", "web_search"},
        {AUTO "," FUNCTION("code_interpreter") "," SEARCH(""), "code_interpreter_2", "web_search"},
        {FUNCTION("web_search") "," AUTO "," SEARCH(""), "code_interpreter", "web_search_2"},
        {SEARCH("") "," AUTO "," FUNCTION("web_search_2") "," FUNCTION("web search"),
         "code_interpreter", "web_search_3"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct tool *code, *search;
        char body[512];
        struct fixture f;

        (void)snprintf(body, sizeof(body), TOOLS("%s"), cases[i].tools);
        parse_with(&f, &serving, body);
        code = tool_set_find_hosted(&f.request.tools, HOSTED_CODE_INTERPRETER);
        search = tool_set_find_hosted(&f.request.tools, HOSTED_WEB_SEARCH);
        assert_str_c(code->upstream_name, cases[i].code);
        assert_str_c(search->upstream_name, cases[i].search);
        assert_ptr_equal(find(&f, cases[i].code), code);
        assert_ptr_equal(find(&f, cases[i].search), search);
        fixture_fini(&f);
    }
}

/* ---- what the upstream gets */

static json_t *chat_with(const struct responses_request_options *o,
                         const struct chat_request_options *chat, const char *body)
{
    struct fixture f;
    json_t *tree;

    parse_with(&f, o, body);
    tree = fixture_chat(&f, chat);
    assert_non_null(tree);
    fixture_fini(&f);
    return tree;
}

/* The names of what an object holds, each with a ' '. */
static void check_members(const json_t *object, const char *names)
{
    struct buf got = {0};
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        buf_c(&got, name);
        buf_char(&got, ' ');
    }
    assert_str_c(buf_str(&got), names);
    buf_fini(&got);
}

static const json_t *function_at(const json_t *chat, size_t i)
{
    return json_object_get(json_array_get(json_object_get(chat, "tools"), i), "function");
}

static void check_function(const json_t *f, const char *name, const char *properties,
                           const char *required)
{
    const json_t *parameters = json_object_get(f, "parameters");

    assert_string_equal(json_string_value(json_object_get(f, "name")), name);
    assert_true(json_string_length(json_object_get(f, "description")) > 0);
    check_members(json_object_get(parameters, "properties"), properties);
    assert_json(name, json_object_get(parameters, "required"), required);
}

static const json_t *actions(const json_t *function)
{
    const json_t *properties =
        json_object_get(json_object_get(function, "parameters"), "properties");

    return json_object_get(json_object_get(properties, "action"), "enum");
}

static void both_are_sent_as_functions(void **state)
{
    const struct chat_request_options options = {0};
    json_t *chat = chat_with(&serving, &options, TOOLS(AUTO "," SEARCH("")));

    (void)state;
    check_function(function_at(chat, 0), "code_interpreter", "code ", "[\"code\"]");
    check_function(function_at(chat, 1), "web_search", "action query url pattern ", "[\"action\"]");
    assert_json("actions", actions(function_at(chat, 1)),
                "[\"search\",\"open_page\",\"find_in_page\"]");
    json_decref(chat);
}

static void without_pages_the_model_is_only_told_of_searching(void **state)
{
    const struct chat_request_options options = {0};
    json_t *chat = chat_with(&serving, &options, TOOLS(SEARCH(",\"external_web_access\":false")));

    (void)state;
    check_function(function_at(chat, 0), "web_search", "action query ", "[\"action\",\"query\"]");
    assert_json("actions", actions(function_at(chat, 0)), "[\"search\"]");
    json_decref(chat);
}

#define ALL(choice) BODY(AUTO "," FUNCTION("f") "," SEARCH(""), CHOICE(choice))
#define ALLOWED(mode, tools)                                                                       \
    "{\"type\":\"allowed_tools\",\"mode\":\"" mode "\",\"tools\":[" tools "]}"

static void check_choice(const char *body, enum chat_tool_choice support, const char *sent,
                         const char *choice)
{
    const struct chat_request_options options = {.tool_choice = support};
    json_t *chat = chat_with(&serving, &options, body), *tool;
    struct buf names = {0};
    size_t i;

    json_array_foreach(json_object_get(chat, "tools"), i, tool)
    {
        buf_c(&names, json_string_value(json_object_get(function_at(chat, i), "name")));
        buf_char(&names, ' ');
    }
    if (!str_eq(buf_str(&names), str_from_c(sent)))
        fail_msg("sent %s for %s", buf_cstr(&names), body);
    assert_json(body, json_object_get(chat, "tool_choice"), choice);
    buf_fini(&names);
    json_decref(chat);
}

static void a_choice_may_name_the_type_by_any_of_its_names(void **state)
{
    static const struct {
        const char *choice, *name;
    } cases[] = {
        {ALL(TYPE("code_interpreter")), "code_interpreter"},
        {ALL(TYPE("web_search")), "web_search"},
        {ALL(TYPE("web_search_2025_08_26")), "web_search"},
        {ALL(TYPE("web_search_preview")), "web_search"},
        {ALL(TYPE("web_search_preview_2025_03_11")), "web_search"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char named[128], sent[64];

        (void)snprintf(named, sizeof(named), NAMED("%s"), cases[i].name);
        (void)snprintf(sent, sizeof(sent), "%s ", cases[i].name);
        check_choice(cases[i].choice, CHAT_CHOICE_FULL, "code_interpreter f web_search ", named);
        check_choice(cases[i].choice, CHAT_CHOICE_STRINGS, sent, "\"required\"");
        check_choice(cases[i].choice, CHAT_CHOICE_AUTO, sent, "\"auto\"");
    }
}

static void allowed_tools_may_name_them_too(void **state)
{
    (void)state;
    check_choice(ALL(ALLOWED("auto", TYPE("web_search_preview"))), CHAT_CHOICE_FULL, "web_search ",
                 "\"auto\"");
    check_choice(ALL(ALLOWED("required", FUNCTION("f") "," TYPE("code_interpreter"))),
                 CHAT_CHOICE_FULL, "code_interpreter f ", "\"required\"");
}

static void a_choice_follows_the_name_the_tool_has(void **state)
{
    (void)state;
    check_choice(BODY(SEARCH("") "," FUNCTION("web_search"), CHOICE(TYPE("web_search"))),
                 CHAT_CHOICE_FULL, "web_search_2 web_search ", NAMED("web_search_2"));
    check_choice(BODY(SEARCH("") "," FUNCTION("web_search"), CHOICE(FUNCTION("web_search"))),
                 CHAT_CHOICE_FULL, "web_search_2 web_search ", NAMED("web_search"));
}

static void a_choice_is_echoed_as_it_was(void **state)
{
    static const char *const choices[] = {TYPE("code_interpreter"), TYPE("web_search_preview"),
                                          ALLOWED("auto", TYPE("web_search_preview_2025_03_11"))};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(choices); i++) {
        char body[512];
        struct fixture f;
        json_t *echo;

        (void)snprintf(body, sizeof(body), ALL("%s"), choices[i]);
        parse_with(&f, &serving, body);
        echo = fixture_echo(&f);
        assert_json(body, json_object_get(echo, "tool_choice"), choices[i]);
        json_decref(echo);
    }
}

static void a_choice_of_a_tool_that_is_not_there_is_refused(void **state)
{
    (void)state;
    check_refused(&serving, BODY(AUTO, CHOICE(TYPE("web_search"))), ERR_INVALID_VALUE,
                  "tool_choice", "'web_search' not found in 'tools' parameter.");
}

static void memory_may_run_out_anywhere(void **state)
{
    static const char body[] = TOOLS(SEARCH("") "," FUNCTION("web_search") "," AUTO);
    size_t limit = 1;
    struct fixture f;

    (void)state;
    for (; fixture_parse_with(&f, &serving, str_from_c(body), limit) == -1; limit += 16) {
        assert_int_equal(f.err.code, ERR_INTERNAL);
        fixture_fini(&f);
    }
    assert_int_equal(f.request.tools.n, 3);
    fixture_fini(&f);
    assert_true(limit > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_declaration_is_refused_by_its_path_served_or_not),
        cmocka_unit_test(a_declaration_has_what_was_given),
        cmocka_unit_test(what_is_null_is_not_given),
        cmocka_unit_test(pages_are_opened_where_both_sides_allow_it),
        cmocka_unit_test(a_request_has_one_of_a_kind),
        cmocka_unit_test(of_additional_tools_that_repeat_one_the_last_counts),
        cmocka_unit_test(tools_of_the_previous_response_are_inherited),
        cmocka_unit_test(what_is_not_served_is_left_out_and_echoed),
        cmocka_unit_test(who_insists_hears_why),
        cmocka_unit_test(names_give_way_to_those_of_the_client),
        cmocka_unit_test(both_are_sent_as_functions),
        cmocka_unit_test(without_pages_the_model_is_only_told_of_searching),
        cmocka_unit_test(a_choice_may_name_the_type_by_any_of_its_names),
        cmocka_unit_test(allowed_tools_may_name_them_too),
        cmocka_unit_test(a_choice_follows_the_name_the_tool_has),
        cmocka_unit_test(a_choice_is_echoed_as_it_was),
        cmocka_unit_test(a_choice_of_a_tool_that_is_not_there_is_refused),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
