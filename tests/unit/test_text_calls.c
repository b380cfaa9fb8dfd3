/* test_text_calls.c -- calls in text: the vectors, and the rules that all formats share. */
#include "unit/text_calls_fixture.h"

#include <jansson.h>

/* ---- vectors */

static const struct {
    const char *name;
    enum text_call_format format;
} formats[] = {
    {"hermes", TEXT_CALLS_HERMES},
    {"qwen3_coder", TEXT_CALLS_QWEN_CODER},
    {"glm45", TEXT_CALLS_GLM},
    {"llama3_json", TEXT_CALLS_LLAMA3},
    {"mistral_json", TEXT_CALLS_MISTRAL},
    {"mistral_args", TEXT_CALLS_MISTRAL},
    {"deepseek_v3", TEXT_CALLS_DEEPSEEK},
    {"deepseek_v31", TEXT_CALLS_DEEPSEEK},
    {"kimi_k2", TEXT_CALLS_KIMI},
    {"pythonic", TEXT_CALLS_PYTHONIC},
};

static enum text_call_format format_of(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        if (strcmp(formats[i].name, name) == 0)
            return formats[i].format;
    }
    fail_msg("format %s", name);
    return TEXT_CALLS_NONE;
}

static json_t *vector; /* the one at hand */

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text == NULL ? "" : text;
}

static bool is_called(void *arg, str name)
{
    json_t *calls = json_object_get(vector, "calls"), *call;
    size_t i;

    (void)arg;
    json_array_foreach(calls, i, call)
    {
        if (str_eq(name, str_from_c(text_of(call, "name"))))
            return true;
    }
    return false;
}

static str type_in_vector(void *arg, str function, str parameter)
{
    json_t *types = json_object_get(vector, "parameters");

    (void)arg;
    (void)function;
    return str_from_c(json_string_value(json_object_getn(types, parameter.p, parameter.len)));
}

static void check_vector(void)
{
    static const struct text_calls_handler handler = {write_text, write_call, is_called,
                                                      type_in_vector};
    json_t *calls = json_object_get(vector, "calls"), *call;
    struct transcript expected = {.said = {.limit = 0}};
    size_t i;

    buf_c(&expected.said, text_of(vector, "content"));
    json_array_foreach(calls, i, call)
    {
        struct text_call c = {str_from_c(text_of(call, "name")),
                              str_from_c(text_of(call, "arguments")),
                              str_from_c(text_of(call, "id"))};

        write_call(&expected, &c);
    }
    check_with(format_of(text_of(vector, "format")), text_of(vector, "input"),
               buf_cstr(&expected.said), &handler);
    buf_fini(&expected.said);
}

static void vectors_hold_in_any_cutting(void **state)
{
    json_t *all = json_load_file(fixture_path("harmony/text_formats.json"), 0, NULL);
    json_t *vectors = json_object_get(all, "tool_calls");
    size_t i;

    (void)state;
    assert_int_equal(json_array_size(vectors), 19);
    json_array_foreach(vectors, i, vector) check_vector();
    json_decref(all);
}

/* ---- rules of all formats */

static void without_a_format_everything_is_text(void **state)
{
    (void)state;
    check_is_text(TEXT_CALLS_NONE, " <tool_call>{\"name\":\"f\"}</tool_call> ");
}

static void white_space_next_to_a_call_is_dropped_and_no_other(void **state)
{
    (void)state;
    check(TEXT_CALLS_HERMES, " a \n<tool_call>{\"name\":\"f\"}</tool_call>\n\n b \n",
          " a«f {}»b \n");
    check(TEXT_CALLS_HERMES, " \n<tool_call>\n{\"name\":\"f\"}\n</tool_call>\n", "«f {}»");
    check(TEXT_CALLS_HERMES,
          "<tool_call>{\"name\":\"f\"}</tool_call> and \n<tool_call>{\"name\":\"g\"}</tool_call>",
          "«f {}»and«g {}»");
    check_is_text(TEXT_CALLS_HERMES, " a \n <tool_call> \n b \n");
}

static void a_broken_call_is_text_and_the_next_one_a_call(void **state)
{
    (void)state;
    check(TEXT_CALLS_HERMES,
          "a <tool_call>{\"name\": \"g\", <tool_call>{\"name\":\"f\"}</tool_call> b",
          "a <tool_call>{\"name\": \"g\",«f {}»b");
    check(TEXT_CALLS_HERMES,
          "<tool_call>{\"no\":1}</tool_call>\n<tool_call>{\"name\":\"f\"}</tool_call>",
          "<tool_call>{\"no\":1}</tool_call>«f {}»");
    check(TEXT_CALLS_KIMI,
          "<|tool_calls_section_begin|> <|tool_call_begin|>f:0<|tool_call_begin|>g:1"
          "<|tool_call_argument_begin|>{}<|tool_call_end|>",
          "<|tool_calls_section_begin|> <|tool_call_begin|>f:0«g {} g:1»");
}

static void a_call_that_never_ends_is_text(void **state)
{
    static const struct {
        enum text_call_format format;
        const char *plain;
    } cases[] = {
        {TEXT_CALLS_HERMES, "a <tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"b"},
        {TEXT_CALLS_HERMES, " <tool_c"},
        {TEXT_CALLS_HERMES, "<tool_call>\n "},
        {TEXT_CALLS_QWEN_CODER, "<tool_call><function=f><parameter=a>b</param "},
        {TEXT_CALLS_QWEN_CODER, "<tool_call><function=f><parameter=a>b</parameter> "},
        {TEXT_CALLS_GLM, "<tool_call>f\n<arg_key>a</arg_key><arg_value>b"},
        {TEXT_CALLS_LLAMA3, "<|python_tag|>{\"name\": \"f\""},
        {TEXT_CALLS_LLAMA3, " {\"name\": \"f\", \"parameters\": {} "},
        {TEXT_CALLS_MISTRAL, "[TOOL_CALLS]f[CALL_ID]x[ARG"},
        {TEXT_CALLS_DEEPSEEK, "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁se"},
        {TEXT_CALLS_KIMI, "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"a\":"},
        {TEXT_CALLS_PYTHONIC, "[f(a=\"b\", "},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_is_text(cases[i].format, cases[i].plain);
}

static void marks_in_an_answer_about_them_are_text(void **state)
{
    (void)state;
    check_is_text(TEXT_CALLS_HERMES, "Put it in <tool_call> and </tool_call>.");
    check_is_text(TEXT_CALLS_HERMES, "As in <tool_call>word</tool_call>.");
    check_is_text(TEXT_CALLS_HERMES, "a < b << <tool <tool_calls> c");
    check_is_text(TEXT_CALLS_DEEPSEEK, "<｜tool▁calls▁begin｜> begins <｜tool▁ calls");
    check_is_text(TEXT_CALLS_MISTRAL, "[TOOL_CALLS] [1] [TOOL");
    check_is_text(TEXT_CALLS_PYTHONIC, "[1] and [x](y) and\n[a link](z) [f(a=1)]");
}

/* ---- what comes when */

static void only_what_may_be_a_call_is_held_back(void **state)
{
    struct transcript t = {.said = {.limit = 0}};

    (void)state;
    text_calls_init(&t.calls, TEXT_CALLS_HERMES, &by_name, &t);
    feed_transcript(&t, STR("a < b \n<tool_"));
    assert_string_equal(buf_cstr(&t.said), "a < b");
    feed_transcript(&t, STR("box> {"));
    assert_string_equal(buf_cstr(&t.said), "a < b \n<tool_box> {");
    feed_transcript(&t, STR("<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":[1]}"));
    assert_string_equal(buf_cstr(&t.said), "a < b \n<tool_box> {");
    feed_transcript(&t, STR("}"));
    assert_string_equal(buf_cstr(&t.said), "a < b \n<tool_box> {«f {\"a\":[1]}»");
    feed_transcript(&t, STR("</tool_call>c"));
    assert_string_equal(buf_cstr(&t.said), "a < b \n<tool_box> {«f {\"a\":[1]}»c");
    text_calls_fini(&t.calls);
    buf_fini(&t.said);
}

/* What stands there after begun, and after the rest of it. */
static void check_goes_on(enum text_call_format format, const char *begun, const char *rest)
{
    struct transcript t = {.said = {.limit = 0}};

    text_calls_init(&t.calls, format, &by_name, &t);
    feed_transcript(&t, str_from_c(begun));
    assert_string_equal(buf_cstr(&t.said), "");
    feed_transcript(&t, str_from_c(rest));
    assert_true(str_starts_with(buf_str(&t.said), str_from_c(begun)));
    assert_true(str_ends_with(buf_str(&t.said), str_from_c(rest)));
    text_calls_fini(&t.calls);
    buf_fini(&t.said);
}

/* An answer in JSON goes on at once when it cannot be a call any more. */
static void json_that_is_no_call_is_told_by_its_beginning(void **state)
{
    (void)state;
    check_goes_on(TEXT_CALLS_LLAMA3, "{\"answer", "\":");
    check_goes_on(TEXT_CALLS_MISTRAL, "[{\"answer", "\":");
    check_goes_on(TEXT_CALLS_MISTRAL, "[ ", "1");
    check_goes_on(TEXT_CALLS_MISTRAL, "[[", "\"a");
    check_goes_on(TEXT_CALLS_PYTHONIC, "[other", "(");
}

/* Each would take hours if a byte were looked at again with every one that follows. */
static void megabytes_of_almost_calls_take_one_look(void **state)
{
    static const struct {
        enum text_call_format format;
        const char *first, *then;
    } cases[] = {
        {TEXT_CALLS_HERMES, "", "<"},
        {TEXT_CALLS_HERMES, "", "<tool_call>"},
        {TEXT_CALLS_HERMES, "", "<tool_call>{"},
        {TEXT_CALLS_HERMES, "", "<tool_call>{\"name\":\"f\"}"},
        {TEXT_CALLS_HERMES, "<tool_call>", " "},
        {TEXT_CALLS_HERMES, "<tool_call>{\"", "a\\\""},
        {TEXT_CALLS_HERMES, "<tool_call>{\"a\":", "[{\"b\":"},
        {TEXT_CALLS_QWEN_CODER, "<tool_call><function=f><parameter=a>", "</paramete"},
        {TEXT_CALLS_QWEN_CODER, "", "<tool_call><function=f><parameter=a>"},
        {TEXT_CALLS_GLM, "", "<tool_call>f\n"},
        {TEXT_CALLS_LLAMA3, "", " "},
        {TEXT_CALLS_LLAMA3, "{\"name\":\"", "{"},
        {TEXT_CALLS_MISTRAL, "", "[TOOL_CALLS]["},
        {TEXT_CALLS_DEEPSEEK, "", "<｜tool▁calls▁begin"},
        {TEXT_CALLS_PYTHONIC, "[f(a=", "["},
        {TEXT_CALLS_PYTHONIC, "", "\n[f(a="},
        {TEXT_CALLS_PYTHONIC, "[f(", " "},
    };
    enum { BYTES = 1 << 20 };

    (void)state;
    for (size_t i = 0; i < 2 * COUNT_OF(cases); i++) {
        struct buf plain = {.limit = 0}, said;

        buf_c(&plain, cases[i / 2].first);
        while (plain.len < BYTES)
            buf_c(&plain, cases[i / 2].then);
        said = read_text(cases[i / 2].format, buf_str(&plain), i % 2 == 0 ? UNCUT : BYTE_BY_BYTE,
                         &by_name);
        assert_true(said.len <= plain.len);
        buf_fini(&said);
        buf_fini(&plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_hold_in_any_cutting),
        cmocka_unit_test(without_a_format_everything_is_text),
        cmocka_unit_test(white_space_next_to_a_call_is_dropped_and_no_other),
        cmocka_unit_test(a_broken_call_is_text_and_the_next_one_a_call),
        cmocka_unit_test(a_call_that_never_ends_is_text),
        cmocka_unit_test(marks_in_an_answer_about_them_are_text),
        cmocka_unit_test(only_what_may_be_a_call_is_held_back),
        cmocka_unit_test(json_that_is_no_call_is_told_by_its_beginning),
        cmocka_unit_test(megabytes_of_almost_calls_take_one_look),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
