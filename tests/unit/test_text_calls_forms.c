/* test_text_calls_forms.c -- calls in text, format by format: what models write that is not in the
 * book, and values that become JSON. */
#include "unit/text_calls_fixture.h"

/* ---- JSON */

static void arguments_are_an_object_in_whatever_wrapping(void **state)
{
    (void)state;
    check(TEXT_CALLS_HERMES, "<tool_call>{\"arguments\": { \"a\" : 1 }, \"name\": \"f\"}",
          "«f { \"a\" : 1 }»");
    check(TEXT_CALLS_HERMES, "<tool_call>{\"name\":\"f\",\"parameters\":{}}</tool_call>", "«f {}»");
    check(TEXT_CALLS_HERMES, "<tool_call>{\"name\":\"f\",\"arguments\":null}</tool_call>",
          "«f {}»");
    check(TEXT_CALLS_HERMES, "<tool_call>{\"name\":\"f\",\"arguments\":\" \"}</tool_call>",
          "«f {}»");
    check(TEXT_CALLS_HERMES, "<tool_call>{\"name\":\"\\u0066\",\"id\":\"7\"}</tool_call>",
          "«f {} 7»");
    check_is_text(TEXT_CALLS_HERMES, "<tool_call>[{\"name\":\"f\"}]</tool_call>");
    check_is_text(TEXT_CALLS_HERMES, "<tool_call>{\"name\":\"f\",\"arguments\":[1]}</tool_call>");
    check_is_text(TEXT_CALLS_HERMES, "<tool_call>{\"name\":\"f\",\"arguments\":\"a\"}</tool_call>");
    check_is_text(TEXT_CALLS_HERMES, "<tool_call>{\"name\":\"\"}</tool_call>");
    check_is_text(TEXT_CALLS_HERMES, "<tool_call>{\"name\":\"f\",\"a\":01}</tool_call>");
    check_is_text(TEXT_CALLS_HERMES, "<tool_call>{\"name\":\"f\"]</tool_call>");
}

static void brackets_and_quotes_in_strings_do_not_end_a_value(void **state)
{
    (void)state;
    check(TEXT_CALLS_HERMES,
          "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"}]\\\"}\\\\\",\"b\":[[],{},-1.5e+3,"
          "true,null]}}</tool_call>x",
          "«f {\"a\":\"}]\\\"}\\\\\",\"b\":[[],{},-1.5e+3,true,null]}»x");
}

static void formats_of_one_opening_tag_are_told_apart(void **state)
{
    static const enum text_call_format formats[] = {TEXT_CALLS_HERMES, TEXT_CALLS_QWEN_CODER,
                                                    TEXT_CALLS_GLM};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        check(formats[i],
              "<tool_call>{\"name\":\"f\"}</tool_call>\n"
              "<tool_call>\n<function=f>\n</function>\n</tool_call>\n"
              "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>b</arg_value>\n</tool_call>",
              "«f {}»«f {}»«f {\"a\":\"b\"}»");
    }
}

static void bare_json_is_a_call_only_as_the_whole_text_and_of_a_declared_function(void **state)
{
    (void)state;
    check(TEXT_CALLS_LLAMA3, "\n{\"type\": \"function\", \"name\": \"f\", \"parameters\": {}}\n",
          "«f {}»");
    check_is_text(TEXT_CALLS_LLAMA3, "{\"name\": \"other\", \"parameters\": {}}");
    check_is_text(TEXT_CALLS_LLAMA3, "{\"name\": \"f\"}");
    check_is_text(TEXT_CALLS_LLAMA3, "{\"name\": \"f\", \"parameters\": {}} is a call");
    check_is_text(TEXT_CALLS_LLAMA3, "A call: {\"name\": \"f\", \"parameters\": {}}");
    check_is_text(TEXT_CALLS_LLAMA3, "{\"name\": \"f\", \"parameters\": }");
    check_is_text(TEXT_CALLS_LLAMA3, "{}");
    check(TEXT_CALLS_LLAMA3,
          "{\"a\": 1}\n<|python_tag|>{\"name\": \"other\", \"parameters\": {\"b\": 2}}",
          "{\"a\": 1}«other {\"b\": 2}»");
    check_is_text(TEXT_CALLS_LLAMA3, "<|python_tag|>print(1)");
}

/* ---- marks */

static void mistral_writes_calls_in_many_forms(void **state)
{
    (void)state;
    check(TEXT_CALLS_MISTRAL, "Ok. [TOOL_CALLS]f{\"a\": 1}[TOOL_CALLS] f [ARGS] {}",
          "Ok.«f {\"a\": 1}»«f {}»");
    check(TEXT_CALLS_MISTRAL, "[TOOL_CALLS]{\"name\": \"f\", \"arguments\": {}}", "«f {}»");
    check(TEXT_CALLS_MISTRAL,
          "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}, \"id\": \"123456789\"}]",
          "«f {} 123456789»");
    check_is_text(TEXT_CALLS_MISTRAL, "[TOOL_CALLS][{\"name\": \"f\"}, {\"nam\": \"f\"}]");
    check_is_text(TEXT_CALLS_MISTRAL, "[TOOL_CALLS][]");
    check(TEXT_CALLS_MISTRAL, "[{\"name\": \"f\", \"arguments\": {}}] ", "«f {}»");
    check_is_text(TEXT_CALLS_MISTRAL, "[{\"name\": \"f\", \"arguments\": {}}, {\"name\": \"g\"}]");
    check_is_text(TEXT_CALLS_MISTRAL, "[{\"name\": \"f\", \"arguments\": {}}] there");
    check_is_text(TEXT_CALLS_MISTRAL, "[1, 2]");
}

static void sections_may_have_lost_their_marks(void **state)
{
    (void)state;
    check(TEXT_CALLS_DEEPSEEK, "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\":1}<｜tool▁call▁end｜>x",
          "«f {\"a\":1}»x");
    check(TEXT_CALLS_DEEPSEEK, "<｜tool▁calls▁begin｜>\n<｜tool▁call▁begin｜>f<｜tool▁sep｜>{}",
          "«f {}»");
    check(TEXT_CALLS_KIMI,
          "<|tool_calls_section_begin|>\n<|tool_call_begin|> get_a:12 "
          "<|tool_call_argument_begin|> {} <|tool_call_end|>\n<|tool_call_begin|>call_9"
          "<|tool_call_argument_begin|>{}<|tool_call_end|> <|tool_calls_section_end|> x",
          "«get_a {} get_a:12»«call_9 {} call_9»x");
}

/* ---- values of XML-like formats */

static void values_become_json_by_their_declared_type(void **state)
{
    static const struct {
        const char *key, *value, *json;
    } cases[] = {
        {"string_a", "1", "\"1\""},
        {"string_a", "null", "\"null\""},
        {"string_a", " a \"b\" ", "\" a \\\"b\\\" \""},
        {"integer_a", " 12 ", "12"},
        {"integer_a", "twelve", "\"twelve\""},
        {"integer_a", "\"12\"", "\"\\\"12\\\"\""},
        {"integer_a", "01", "\"01\""},
        {"number_a", "-1.5e3", "-1.5e3"},
        {"number_a", "null", "null"},
        {"number_a", "None", "null"},
        {"boolean_a", "True", "true"},
        {"boolean_a", "false", "false"},
        {"boolean_a", "1", "\"1\""},
        {"array_a", "[ 1, \"b c\" ]", "[1,\"b c\"]"},
        {"array_a", "[1", "\"[1\""},
        {"object_a", "{ \"b\" : { } }", "{\"b\":{}}"},
        {"object_a", "[]", "\"[]\""},
        {"untyped", "word", "\"word\""},
        {"untyped", "12", "12"},
        {"untyped", "", "\"\""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char plain[256], expected[256];

        snprintf(plain, sizeof(plain),
                 "<tool_call>f<arg_key>%s</arg_key><arg_value>%s</arg_value></tool_call>",
                 cases[i].key, cases[i].value);
        snprintf(expected, sizeof(expected), "«f {\"%s\":%s}»", cases[i].key, cases[i].json);
        check(TEXT_CALLS_GLM, plain, expected);
    }
}

static void one_line_end_at_each_edge_of_a_qwen_value_is_not_part_of_it(void **state)
{
    (void)state;
    check(TEXT_CALLS_QWEN_CODER,
          "<tool_call><function=f><parameter=a>\n\n x\ny \n\n</parameter>"
          "<parameter=b>\r\nz\r\n</parameter><parameter=c>\n</parameter></function></tool_call>",
          "«f {\"a\":\"\\n x\\ny \\n\",\"b\":\"z\",\"c\":\"\"}»");
}

static void qwen_coder_may_forget_the_outer_tag(void **state)
{
    (void)state;
    check(TEXT_CALLS_QWEN_CODER,
          "a\n<function=f>\n<parameter=b>\n</tool_call>\n</parameter>\n</function>\n</tool_call>",
          "a«f {\"b\":\"</tool_call>\"}»");
    check_is_text(TEXT_CALLS_HERMES, "<function=f></function>");
    check_is_text(TEXT_CALLS_QWEN_CODER, "<function=f>not a call</function>");
}

static void glm_calls_without_arguments_are_of_declared_functions(void **state)
{
    (void)state;
    check(TEXT_CALLS_GLM, "<tool_call>get_time\n</tool_call>", "«get_time {}»");
    check_is_text(TEXT_CALLS_GLM, "<tool_call>word</tool_call>");
    check(TEXT_CALLS_GLM, "<tool_call>g\n<arg_key>a</arg_key>\n<arg_value>b</arg_value>\n",
          "«g {\"a\":\"b\"}»");
}

/* ---- Python */

static void literals_of_python_become_json(void **state)
{
    static const struct {
        const char *python, *json;
    } cases[] = {
        {"'a \"b\" \\'c\\''", "\"a \\\"b\\\" 'c'\""},
        {"\"\\n\\t\\\\ \\x41\\u00e9\\U0001F600 \\d\"", "\"\\n\\t\\\\ A\xC3\xA9\xF0\x9F\x98\x80 "
                                                       "\\\\d\""},
        {"-12", "-12"},
        {"1.5e-3", "1.5e-3"},
        {"True", "true"},
        {"false", "false"},
        {"None", "null"},
        {"[]", "[]"},
        {"[1, 'a', [None], ]", "[1,\"a\",[null]]"},
        {"{'a': {\"b\": []}, 'c': 1,}", "{\"a\":{\"b\":[]},\"c\":1}"},
        {"'])}'", "\"])}\""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char plain[256], expected[256];

        snprintf(plain, sizeof(plain), "[f( a = %s )]", cases[i].python);
        snprintf(expected, sizeof(expected), "«f {\"a\":%s}»", cases[i].json);
        check(TEXT_CALLS_PYTHONIC, plain, expected);
    }
}

static void what_json_does_not_have_is_no_call(void **state)
{
    static const char *const cases[] = {
        "[f(1)]",         "[f(a=b)]",        "[f(a=1.)]",       "[f(a=(1, 2))]", "[f(a={1: 2})]",
        "[f(a='b)]",      "[f(a='b' 'c')]",  "[f(a=1 b=2)]",    "[f(a=g())]",    "[f(a=1]",
        "[f(a=1)",        "[f(a=1), other]", "[f(a=1) f()]",    "[other(a=1)]",  "[(a=1)]",
        "[f(a='\\xZZ')]", "[f(a='b\nc')]",   "[f(**{'a': 1})]", "[f(a=[1)]",     "[f(a=1), g(a=1)]",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_is_text(TEXT_CALLS_PYTHONIC, cases[i]);
}

static void pythonic_calls_begin_a_line(void **state)
{
    (void)state;
    check(TEXT_CALLS_PYTHONIC, "I look.\n\n[get_a(b=1), f()]\nThere.",
          "I look.«get_a {\"b\":1}»«f {}»There.");
    check(TEXT_CALLS_PYTHONIC, " [f()]\n[f()]", "«f {}»«f {}»");
    check(TEXT_CALLS_PYTHONIC, "Now <|python_start|>[f()]<|python_end|>", "Now«f {}»");
    check_is_text(TEXT_CALLS_PYTHONIC, "I call [f()]");
}

static void nesting_has_a_limit(void **state)
{
    struct buf plain = {.limit = 0};

    (void)state;
    buf_c(&plain, "[f(a=");
    for (int i = 0; i < 100000; i++)
        buf_char(&plain, '[');
    for (int i = 0; i < 100000; i++)
        buf_char(&plain, ']');
    buf_c(&plain, ")]");
    check_cut(TEXT_CALLS_PYTHONIC, buf_cstr(&plain), buf_cstr(&plain), UNCUT, &by_name);
    check_cut(TEXT_CALLS_MISTRAL, buf_cstr(&plain), buf_cstr(&plain), UNCUT, &by_name);
    buf_fini(&plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_an_object_in_whatever_wrapping),
        cmocka_unit_test(brackets_and_quotes_in_strings_do_not_end_a_value),
        cmocka_unit_test(formats_of_one_opening_tag_are_told_apart),
        cmocka_unit_test(bare_json_is_a_call_only_as_the_whole_text_and_of_a_declared_function),
        cmocka_unit_test(mistral_writes_calls_in_many_forms),
        cmocka_unit_test(sections_may_have_lost_their_marks),
        cmocka_unit_test(values_become_json_by_their_declared_type),
        cmocka_unit_test(one_line_end_at_each_edge_of_a_qwen_value_is_not_part_of_it),
        cmocka_unit_test(qwen_coder_may_forget_the_outer_tag),
        cmocka_unit_test(glm_calls_without_arguments_are_of_declared_functions),
        cmocka_unit_test(literals_of_python_become_json),
        cmocka_unit_test(what_json_does_not_have_is_no_call),
        cmocka_unit_test(pythonic_calls_begin_a_line),
        cmocka_unit_test(nesting_has_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
