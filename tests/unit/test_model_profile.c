/* test_model_profile.c -- what follows from the name of a model, and what an operator's line
 * changes of it. */
#include "lib/test.h"

#include "wire/dialect/model_profile.h"

/* As the keys of the configuration stand, but nothing is off: the family decides. */
static const struct model_words all_auto = {{[MODEL_HARMONY] = STR_INIT("auto"),
                                             [MODEL_HARMONY_CONTENT_TYPE] = STR_INIT("constrain"),
                                             [MODEL_THINK_TAGS] = STR_INIT("auto"),
                                             [MODEL_TEXT_CALLS] = STR_INIT("auto"),
                                             [MODEL_REASONING_FIELD] = STR_INIT("auto"),
                                             [MODEL_REASONING_HISTORY] = STR_INIT("auto"),
                                             [MODEL_CALL_MESSAGES] = STR_INIT("auto")}};

static struct model_profile profile_of(const char *model, const char *const *lines, size_t n)
{
    return model_profile_find(str_from_c(model), STR_NONE, (struct name_list){lines, n}, &all_auto,
                              NULL);
}

/* ---- families */

static void a_name_tells_the_family(void **state)
{
    static const struct {
        const char *model;
        enum chat_reasoning_field field;
        enum chat_reasoning_history history;
        bool single_calls; /* call_messages */
        enum model_think think;
        enum text_call_format calls;
        const char *think_open;
    } cases[] = {
        {"gpt-oss-20b", CHAT_BOTH_REASONING_FIELDS, CHAT_OPEN_REASONING, true, MODEL_THINK_OFF,
         TEXT_CALLS_NONE, "<think>\n"},
        {"DeepSeek-R1-Distill-Llama-8B", CHAT_NO_REASONING, CHAT_ALL_REASONING, false,
         MODEL_THINK_INSIDE, TEXT_CALLS_DEEPSEEK, "<think>\n"},
        {"deepseek-v3.1", CHAT_REASONING_CONTENT, CHAT_OPEN_REASONING, false, MODEL_THINK_ON,
         TEXT_CALLS_DEEPSEEK, "<think>\n"},
        {"DeepSeek-V3.2-Exp", CHAT_REASONING_CONTENT, CHAT_OPEN_REASONING, false, MODEL_THINK_ON,
         TEXT_CALLS_NONE, "<think>\n"},
        {"deepseek-v4-pro", CHAT_REASONING_CONTENT, CHAT_ALL_REASONING, false, MODEL_THINK_ON,
         TEXT_CALLS_NONE, "<think>\n"},
        {"Qwen3-8B", CHAT_REASONING_CONTENT, CHAT_OPEN_REASONING, false, MODEL_THINK_ON,
         TEXT_CALLS_HERMES, "<think>\n"},
        {"Qwen3-30B-A3B-Thinking-2507", CHAT_REASONING_CONTENT, CHAT_OPEN_REASONING, false,
         MODEL_THINK_INSIDE, TEXT_CALLS_HERMES, "<think>\n"},
        {"QwQ-32B", CHAT_REASONING_CONTENT, CHAT_OPEN_REASONING, false, MODEL_THINK_INSIDE,
         TEXT_CALLS_HERMES, "<think>\n"},
        {"Qwen3-Coder-480B-A35B-Instruct", CHAT_REASONING_CONTENT, CHAT_OPEN_REASONING, false,
         MODEL_THINK_ON, TEXT_CALLS_QWEN_CODER, "<think>\n"},
        {"Qwen3.5-122B-A10B", CHAT_REASONING_CONTENT, CHAT_OPEN_REASONING, false,
         MODEL_THINK_INSIDE, TEXT_CALLS_QWEN_CODER, "<think>\n"},
        {"qwen3.5:2b", CHAT_REASONING_CONTENT, CHAT_OPEN_REASONING, false, MODEL_THINK_ON,
         TEXT_CALLS_QWEN_CODER, "<think>\n"},
        {"glm-4.6", CHAT_REASONING_CONTENT, CHAT_OPEN_REASONING, false, MODEL_THINK_ON,
         TEXT_CALLS_GLM, "<think>\n"},
        {"glm-5", CHAT_REASONING_CONTENT, CHAT_ALL_REASONING, false, MODEL_THINK_INSIDE,
         TEXT_CALLS_GLM, "<think>\n"},
        {"kimi-k2-thinking", CHAT_REASONING_CONTENT, CHAT_ALL_REASONING, false, MODEL_THINK_ON,
         TEXT_CALLS_KIMI, "<think>\n"},
        {"Magistral-Small-2509", CHAT_REASONING_IN_TAGS, CHAT_ALL_REASONING, false, MODEL_THINK_ON,
         TEXT_CALLS_MISTRAL, "[THINK]"},
        {"Magistral-Small-2506", CHAT_REASONING_IN_TAGS, CHAT_ALL_REASONING, false, MODEL_THINK_ON,
         TEXT_CALLS_MISTRAL, "<think>\n"},
        {"mistral-small3.2", CHAT_NO_REASONING, CHAT_ALL_REASONING, false, MODEL_THINK_ON,
         TEXT_CALLS_MISTRAL, "[THINK]"},
        {"MiniMax-M2", CHAT_REASONING_CONTENT, CHAT_ALL_REASONING, false, MODEL_THINK_INSIDE,
         TEXT_CALLS_NONE, "<think>\n"},
        {"Hermes-3-Llama-3.1-8B", CHAT_REASONING_CONTENT, CHAT_ALL_REASONING, false, MODEL_THINK_ON,
         TEXT_CALLS_HERMES, "<think>\n"},
        {"Llama-3.3-70B-Instruct", CHAT_REASONING_CONTENT, CHAT_ALL_REASONING, true, MODEL_THINK_ON,
         TEXT_CALLS_LLAMA3, "<think>\n"},
        {"Llama-4-Scout-17B-16E-Instruct", CHAT_REASONING_CONTENT, CHAT_ALL_REASONING, false,
         MODEL_THINK_ON, TEXT_CALLS_PYTHONIC, "<think>\n"},
        {"my-own-model", CHAT_REASONING_CONTENT, CHAT_ALL_REASONING, false, MODEL_THINK_ON,
         TEXT_CALLS_NONE, "<think>\n"},
        {"", CHAT_REASONING_CONTENT, CHAT_ALL_REASONING, false, MODEL_THINK_ON, TEXT_CALLS_NONE,
         "<think>\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct model_profile p = profile_of(cases[i].model, NULL, 0);

        if (p.reasoning_field != cases[i].field || p.reasoning_history != cases[i].history ||
            (p.call_messages == CHAT_CALLS_SINGLE) != cases[i].single_calls ||
            p.think != cases[i].think || p.text_calls != cases[i].calls ||
            !str_eq(p.think_open, str_from_c(cases[i].think_open)))
            fail_msg("%s is taken for another", cases[i].model);
        assert_int_equal(p.harmony, HARMONY_MODE_AUTO);
        assert_false(p.bare_content_type);
    }
}

static void a_name_may_have_something_in_front(void **state)
{
    static const struct {
        const char *model;
        bool is_gpt_oss;
    } cases[] = {
        {"gpt-oss:20b", true},
        {"GPT-OSS-120B", true},
        {"openai/gpt-oss-20b", true},
        {"/srv/models/gpt-oss-20b.gguf", true},
        {"hf.co/unsloth/gpt-oss-20b-GGUF:Q4_K_M", true},
        {"openai_gpt-oss-20b-MXFP4.gguf", true},
        {"gpt-os", false},
        {"not-gpt-oss", false},
        {"gpt-4o", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if ((profile_of(cases[i].model, NULL, 0).call_messages == CHAT_CALLS_SINGLE) !=
            cases[i].is_gpt_oss)
            fail_msg("%s", cases[i].model);
    }
}

static void the_first_row_counts_whatever_part_it_fits(void **state)
{
    static const char *const models[] = {"deepseek-r1_qwen3-8b", "qwen3-8b_deepseek-r1",
                                         "qwen3/x/deepseek-r1_y"};

    (void)state;
    for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++)
        assert_int_equal(profile_of(models[i], NULL, 0).text_calls, TEXT_CALLS_DEEPSEEK);
}

static size_t count_char(str text, char c)
{
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++)
        n += text.p[i] == c;
    return n;
}

/* All that a table says has to be a word of a setting, and each setting be named once. */
static void check_words(str text)
{
    struct model_words words = {{{NULL, 0}}};
    size_t n = 0;
    int value;

    model_words_add(text, &words);
    for (int s = 0; s < MODEL_SETTINGS; s++) {
        if (str_is_none(words.of[s]))
            continue;
        n++;
        assert_true(model_setting_value((enum model_setting)s, words.of[s], &value));
        assert_false(str_eq(words.of[s], STR("auto")));
    }
    assert_int_equal(n, count_char(text, '='));
}

static void every_table_uses_words_there_are(void **state)
{
    static const char *const rows[] = {
#define THINK_LINES
#define THINK_MARKS
#define FAMILY(patterns, think, calls, field, history, messages, tags, source)                     \
    "think_tags=" think " text_calls=" calls " reasoning_field=" field                             \
    " reasoning_history=" history " " messages,
#include "wire/dialect/model_family.def"
#define TELLTALE(has, lacks, words, source) words,
#include "wire/dialect/model_template.def"
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        check_words(str_from_c(rows[i]));
}

/* ---- lines */

static void a_line_fits_by_its_pattern(void **state)
{
    static const struct {
        const char *pattern, *model;
        bool fits;
    } cases[] = {
        {"a", "a", true},           {"a", "A", true},         {"a", "ab", false},
        {"a", "ba", false},         {"a", "x/a", true},       {"a", "x_a", false},
        {"a/b", "x/a/b", true},     {"*", "", true},          {"*", "x/y", true},
        {"a*", "abc", true},        {"a*", "x/abc", true},    {"a*", "xabc", false},
        {"*c", "abc", true},        {"*c", "abcd", false},    {"a*b*c", "a1b2b3c", true},
        {"a*b*c", "a1b2c3", false}, {"a**c", "ac", true},     {"a*a", "a", false},
        {"*ab", "aab", true},       {"*aab*", "aaaab", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char line[64];
        const char *lines[] = {line};

        (void)snprintf(line, sizeof(line), "%s call_messages=single", cases[i].pattern);
        if ((profile_of(cases[i].model, lines, 1).call_messages == CHAT_CALLS_SINGLE) !=
            cases[i].fits)
            fail_msg("%s and %s", cases[i].pattern, cases[i].model);
    }
}

static void the_first_that_says_something_counts(void **state)
{
    static const char *const lines[] = {
        "other reasoning_field=none",
        "gpt-oss* reasoning_field=reasoning  harmony=chat",
        "gpt-oss-20b reasoning_field=think text_calls=kimi think_tags=AUTO",
        "* reasoning_field=none text_calls=glm harmony_content_type=bare",
    };
    struct model_words defaults = all_auto;
    struct model_profile p;

    (void)state;
    defaults.of[MODEL_THINK_TAGS] = STR("inside");
    defaults.of[MODEL_REASONING_HISTORY] = STR("all");
    p = model_profile_find(STR("gpt-oss-20b"), STR_NONE, (struct name_list){lines, 4}, &defaults,
                           NULL);
    assert_int_equal(p.reasoning_field, CHAT_REASONING);
    assert_int_equal(p.harmony, HARMONY_MODE_CHAT);
    assert_int_equal(p.text_calls, TEXT_CALLS_KIMI);
    assert_int_equal(p.think, MODEL_THINK_OFF); /* a line's auto is the family's word */
    assert_int_equal(p.reasoning_history, CHAT_ALL_REASONING);
    assert_int_equal(p.call_messages, CHAT_CALLS_SINGLE);
    assert_true(p.bare_content_type);
    p = model_profile_find(STR("gpt-4"), STR_NONE, (struct name_list){lines, 4}, &defaults, NULL);
    assert_int_equal(p.reasoning_field, CHAT_NO_REASONING);
    assert_int_equal(p.harmony, HARMONY_MODE_AUTO);
    assert_int_equal(p.text_calls, TEXT_CALLS_GLM);
    assert_int_equal(p.think, MODEL_THINK_INSIDE);
}

static void who_writes_harmony_is_of_its_family(void **state)
{
    static const char *const chat[] = {"mine harmony=harmony-chat"};
    static const char *const completions[] = {"mine harmony=harmony-completions"};

    (void)state;
    assert_int_equal(profile_of("mine", NULL, 0).reasoning_history, CHAT_ALL_REASONING);
    assert_int_equal(profile_of("mine", chat, 1).reasoning_history, CHAT_OPEN_REASONING);
    assert_int_equal(profile_of("mine", completions, 1).reasoning_history, CHAT_OPEN_REASONING);
}

/* Of a megabyte with as many beginnings, all patterns would be tried behind each. */
static void a_name_without_end_is_nobodys(void **state)
{
    enum { LENGTH = 1 << 20 };
    static char name[LENGTH];
    static const char *const lines[] = {"qwen3* call_messages=single"};
    struct model_profile p;

    (void)state;
    for (size_t i = 0; i < LENGTH; i++)
        name[i] = "qwen3/"[i % 6];
    p = model_profile_find(str_from(name, LENGTH), STR_NONE, (struct name_list){lines, 1},
                           &all_auto, NULL);
    assert_int_equal(p.text_calls, TEXT_CALLS_NONE);
    assert_int_equal(p.call_messages, CHAT_CALLS_MERGED);
    p = model_profile_find(STR_NONE, STR_NONE, (struct name_list){lines, 1}, &all_auto, NULL);
    assert_int_equal(p.text_calls, TEXT_CALLS_NONE);
    p = model_profile_find(str_from(name, 1020), STR_NONE, (struct name_list){lines, 1}, &all_auto,
                           NULL);
    assert_int_equal(p.text_calls, TEXT_CALLS_HERMES);
    assert_int_equal(p.call_messages, CHAT_CALLS_SINGLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_tells_the_family),
        cmocka_unit_test(a_name_may_have_something_in_front),
        cmocka_unit_test(the_first_row_counts_whatever_part_it_fits),
        cmocka_unit_test(every_table_uses_words_there_are),
        cmocka_unit_test(a_line_fits_by_its_pattern),
        cmocka_unit_test(the_first_that_says_something_counts),
        cmocka_unit_test(who_writes_harmony_is_of_its_family),
        cmocka_unit_test(a_name_without_end_is_nobodys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
