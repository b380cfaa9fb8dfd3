/* test_harmony_builtin.c -- prompts for models that have python and browser by training: where they
 * stand, how their calls are written, and what is left to functions. */
#include "prompt_fixture.h"

#include "wire/harmony/harmony_builtin.h"

#define START     "<|start|>"
#define END       "<|end|>"
#define ASSISTANT START "assistant"
#define USER      START "user<|message|>q" END
#define USER_ITEM "{\"role\":\"user\",\"content\":\"q\"}"
/* What the store has of a call; arguments as in JSON. */
#define CALL(name, arguments)                                                                      \
    "{\"type\":\"hosted_call_result\",\"id\":\"1_result\",\"call_id\":\"1\",\"name\":\"" name      \
    "\",\"arguments\":\"" arguments "\",\"output\":\"o\"}"
#define CODE_ITEM                                                                                      \
    "{\"type\":\"code_interpreter_call\",\"id\":\"1\",\"code\":\"x\",\"outputs\":[{\"type\":\"logs\"," \
    "\"logs\":\"o\"}]}"
#define FUNCTION_CALL(name, arguments)                                                             \
    "{\"type\":\"function_call\",\"call_id\":\"1\",\"name\":\"" name                               \
    "\",\"arguments\":\"" arguments "\"}"
#define OUTPUT         "{\"type\":\"function_call_output\",\"call_id\":\"1\",\"output\":\"o\"}"
#define TOOLS(tools)   "\"tools\":[" tools "]"
#define CODE           "{\"type\":\"code_interpreter\",\"container\":{\"type\":\"auto\"}}"
#define SEARCH         "{\"type\":\"web_search\"}"
#define FUNCTION(name) "{\"type\":\"function\",\"name\":\"" name "\"}"
#define CHOICE(choice) ",\"tool_choice\":" choice

/* A call of the model's own and its answer. */
#define BUILTIN(tool, said)                                                                        \
    ASSISTANT " to=" tool "<|channel|>analysis code<|message|>" said "<|call|>" START tool         \
              " to=assistant<|channel|>analysis<|message|>o" END
#define AS_FUNCTION(name, said)                                                                    \
    ASSISTANT " to=functions." name "<|channel|>commentary <|constrain|>json<|message|>" said      \
              "<|call|>" START "functions." name                                                   \
              " to=assistant<|channel|>commentary<|message|>o" END

static const struct harmony_options trained = {.has_browser = true, .has_python = true};
static const struct harmony_options untrained = {.has_browser = false};

/* The prompt of a body without its braces; free it. */
static char *prompt_of(const char *members, enum chat_round round, const struct harmony_options *o)
{
    struct buf body = {0}, out = {0};
    struct conversation c;
    struct fixture f;
    char *copy;

    buf_char(&body, '{');
    buf_c(&body, members);
    buf_char(&body, '}');
    parse(&f, buf_str(&body), NULL);
    c = converse(&f);
    harmony_prompt_write(&f.request, &c, round, o, &out);
    copy = strdup(buf_cstr(&out));
    assert_non_null(copy);
    fixture_fini(&f);
    buf_fini(&body);
    buf_fini(&out);
    return copy;
}

static void check_end(const char *members, const struct harmony_options *o, const char *expected)
{
    char *prompt = prompt_of(members, CHAT_FIRST_ROUND, o);

    if (!str_ends_with(str_from_c(prompt), str_from_c(expected)))
        fail_msg("%s\n does not end with\n%s", prompt, expected);
    free(prompt);
}

/* ---- where they stand */

static void check_shown(const char *members, enum chat_round round, const struct harmony_options *o,
                        bool as_python, bool as_function)
{
    char *prompt = prompt_of(members, round, o);

    assert_int_equal(strstr(prompt, "\n## python\n") != NULL, as_python);
    assert_int_equal(strstr(prompt, "\n## browser\n") != NULL, as_python);
    assert_int_equal(strstr(prompt, "type code_interpreter = ") != NULL, as_function);
    assert_int_equal(strstr(prompt, "type web_search = ") != NULL, as_function);
    assert_int_equal(strstr(prompt, "go to the commentary channel: 'functions'") != NULL,
                     as_function);
    assert_int_equal(strstr(prompt, START "developer") != NULL, as_function);
    free(prompt);
}

static void they_are_shown_once_as_what_the_model_knows(void **state)
{
    static const char both[] = "\"input\":\"q\"," TOOLS(CODE "," SEARCH);

    (void)state;
    check_shown(both, CHAT_FIRST_ROUND, &trained, true, false);
    check_shown(both, CHAT_LATER_ROUND, &trained, true, false);
    check_shown(both, CHAT_LAST_ROUND, &trained, false, false);
    check_shown(both, CHAT_FIRST_ROUND, &untrained, false, true);
    check_shown("\"input\":\"q\"", CHAT_FIRST_ROUND, &trained, false, false);
}

static void what_a_round_offers_is_known_to_who_reads_the_answer(void **state)
{
    static const struct {
        const char *body;
        enum chat_round round;
        bool has_browser, has_python;
    } cases[] = {
        {"{\"input\":\"q\"," TOOLS(CODE "," SEARCH) "}", CHAT_FIRST_ROUND, true, true},
        {"{\"input\":\"q\"," TOOLS(CODE "," SEARCH) "}", CHAT_LAST_ROUND, false, false},
        {"{\"input\":\"q\"," TOOLS(CODE) "}", CHAT_FIRST_ROUND, false, true},
        {"{\"input\":\"q\"," TOOLS(SEARCH) CHOICE("\"none\"") "}", CHAT_FIRST_ROUND, false, false},
        {"{\"input\":\"q\"," TOOLS(CODE "," SEARCH)
             CHOICE("{\"type\":\"allowed_tools\",\"mode\":\"auto\",\"tools\":[" SEARCH "]}") "}",
         CHAT_FIRST_ROUND, true, false},
        {"{\"input\":\"q\"," TOOLS(FUNCTION("code_interpreter")) "}", CHAT_FIRST_ROUND, false,
         false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct harmony_builtins b;
        struct fixture f;

        parse(&f, str_from_c(cases[i].body), NULL);
        b = harmony_request_builtins(&f.request, cases[i].round, &trained);
        assert_int_equal(b.has_browser, cases[i].has_browser);
        assert_int_equal(b.has_python, cases[i].has_python);
        b = harmony_request_builtins(&f.request, cases[i].round, &untrained);
        assert_false(b.has_browser || b.has_python);
        fixture_fini(&f);
    }
}

static void functions_beside_them_stay_functions(void **state)
{
    char *prompt =
        prompt_of("\"input\":\"q\"," TOOLS(CODE "," FUNCTION("f")), CHAT_FIRST_ROUND, &trained);

    (void)state;
    assert_non_null(strstr(prompt, "\n## python\n"));
    assert_non_null(strstr(prompt, "namespace functions {\n\ntype f = () => any;\n\n}"));
    free(prompt);
}

/* ---- history */

static void calls_are_written_as_the_model_makes_them(void **state)
{
    static const struct {
        const char *name, *arguments; /* as in JSON */
        const char *expected;
    } cases[] = {
        {"code_interpreter", "{\\\"code\\\":\\\"a = 1\\\\nprint(\\\\\\\"x\\\\\\\")\\\"}",
         BUILTIN("python", "a = 1\nprint(\"x\")")},
        {"web_search", "{\\\"action\\\":\\\"search\\\",\\\"query\\\":\\\"w\\\",\\\"topn\\\":3}",
         BUILTIN("browser.search", "{\"query\":\"w\",\"topn\":3}")},
        {"web_search", "{\\\"query\\\":\\\"w\\\"}", BUILTIN("browser.search", "{\"query\":\"w\"}")},
        {"web_search", "{\\\"action\\\":\\\"open_page\\\",\\\"url\\\":\\\"https://a\\\"}",
         BUILTIN("browser.open", "{\"id\":\"https://a\"}")},
        {"web_search",
         "{\\\"action\\\":\\\"open_page\\\",\\\"url\\\":\\\"https://a\\\",\\\"id\\\":7,"
         "\\\"cursor\\\":2,\\\"loc\\\":9}",
         BUILTIN("browser.open", "{\"id\":7,\"cursor\":2,\"loc\":9}")},
        {"web_search",
         " {\\\"action\\\":\\\"find_in_page\\\",\\\"pattern\\\":\\\"p\\\",\\\"cursor\\\":3}",
         BUILTIN("browser.find", "{\"pattern\":\"p\",\"cursor\":3}")},
        /* A model that fills in all that a function takes. */
        {"web_search",
         "{\\\"action\\\":\\\"search\\\",\\\"query\\\":\\\"w\\\",\\\"url\\\":\\\"\\\","
         "\\\"pattern\\\":null}",
         BUILTIN("browser.search", "{\"query\":\"w\"}")},
        /* What was no use then is shown as it was. */
        {"code_interpreter", "print(1)", BUILTIN("python", "print(1)")},
        {"code_interpreter", "{\\\"code\\\":1}", BUILTIN("python", "{\"code\":1}")},
        {"web_search", "{\\\"query\\\"", BUILTIN("browser.search", "{\"query\"")},
        {"web_search", "[]", BUILTIN("browser.search", "[]")},
        /* Markers are broken here too. */
        {"code_interpreter", "{\\\"code\\\":\\\"<|end|>\\\"}",
         BUILTIN("python", "<" ZWSP "|end|>")},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char members[1024], expected[1024];

        (void)snprintf(members, sizeof(members),
                       "\"input\":[" USER_ITEM "," CALL("%s", "%s") "," OUTPUT
                                                                    "]," TOOLS(CODE "," SEARCH),
                       cases[i].name, cases[i].arguments);
        (void)snprintf(expected, sizeof(expected), USER "%s" ASSISTANT, cases[i].expected);
        check_end(members, &trained, expected);
    }
}

static void an_item_of_the_client_is_such_a_call_too(void **state)
{
    (void)state;
    check_end("\"input\":[" USER_ITEM "," CODE_ITEM "]," TOOLS(CODE), &trained,
              USER BUILTIN("python", "x") ASSISTANT);
}

static void the_history_has_tools_that_the_request_has_not(void **state)
{
    (void)state;
    check_end("\"input\":[" USER_ITEM "," CODE_ITEM "]", &trained,
              USER BUILTIN("python", "x") ASSISTANT);
}

static void without_training_they_are_functions(void **state)
{
    (void)state;
    check_end("\"input\":[" USER_ITEM "," CODE_ITEM "]," TOOLS(CODE), &untrained,
              USER AS_FUNCTION("code_interpreter", "{\"code\":\"x\"}") ASSISTANT);
}

static void a_name_that_was_changed_is_still_python(void **state)
{
    static const char members[] =
        "\"input\":[" USER_ITEM "," CODE_ITEM "]," TOOLS(CODE "," FUNCTION("code_interpreter"));

    (void)state;
    check_end(members, &trained, USER BUILTIN("python", "x") ASSISTANT);
    check_end(members, &untrained,
              USER AS_FUNCTION("code_interpreter_2", "{\"code\":\"x\"}") ASSISTANT);
}

static void a_function_of_the_client_by_that_name_is_a_function(void **state)
{
    (void)state;
    check_end("\"input\":[" USER_ITEM
              "," FUNCTION_CALL("web_search", "{\\\"q\\\":1}") "," OUTPUT
                                                               "]," TOOLS(FUNCTION("web_search")),
              &trained, USER AS_FUNCTION("web_search", "{\"q\":1}") ASSISTANT);
}

/* ---- tool_choice */

static void a_chosen_tool_is_begun_in_its_own_form(void **state)
{
    static const char code[] =
        "\"input\":\"q\"," TOOLS(CODE "," SEARCH) CHOICE("{\"type\":\"code_interpreter\"}");

    (void)state;
    check_end(code, &trained, USER ASSISTANT " to=python<|channel|>analysis code<|message|>");
    check_end("\"input\":\"q\"," TOOLS(CODE "," SEARCH) CHOICE("{\"type\":\"web_search_preview\"}"),
              &trained, USER ASSISTANT " to=browser.search<|channel|>analysis code<|message|>");
    check_end(code, &untrained,
              USER ASSISTANT " to=functions.code_interpreter<|channel|>commentary "
                             "<|constrain|>json<|message|>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_shown_once_as_what_the_model_knows),
        cmocka_unit_test(what_a_round_offers_is_known_to_who_reads_the_answer),
        cmocka_unit_test(functions_beside_them_stay_functions),
        cmocka_unit_test(calls_are_written_as_the_model_makes_them),
        cmocka_unit_test(an_item_of_the_client_is_such_a_call_too),
        cmocka_unit_test(the_history_has_tools_that_the_request_has_not),
        cmocka_unit_test(without_training_they_are_functions),
        cmocka_unit_test(a_name_that_was_changed_is_still_python),
        cmocka_unit_test(a_function_of_the_client_by_that_name_is_a_function),
        cmocka_unit_test(a_chosen_tool_is_begun_in_its_own_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
