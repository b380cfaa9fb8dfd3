/* test_model_template.c -- what the text of a chat template tells. The pieces are as they stand in the
 * templates that model_template.def names; tests/templates renders whole ones. */
#include "lib/test.h"

#include <stdlib.h>

#include "wire/dialect/model_template.h"

static const struct model_words all_auto = {{[MODEL_HARMONY] = STR_INIT("auto"),
                                             [MODEL_HARMONY_CONTENT_TYPE] = STR_INIT("constrain"),
                                             [MODEL_THINK_TAGS] = STR_INIT("auto"),
                                             [MODEL_TEXT_CALLS] = STR_INIT("auto"),
                                             [MODEL_REASONING_FIELD] = STR_INIT("auto"),
                                             [MODEL_REASONING_HISTORY] = STR_INIT("auto"),
                                             [MODEL_CALL_MESSAGES] = STR_INIT("auto"),
                                             [MODEL_CALL_IDS] = STR_INIT("auto"),
                                             [MODEL_INSTRUCTIONS_ROLE] = STR_INIT("auto"),
                                             [MODEL_LATE_SYSTEM_ROLE] = STR_INIT("auto"),
                                             [MODEL_ROLE_ORDER] = STR_INIT("auto"),
                                             [MODEL_TOOL_DESCRIPTIONS] = STR_INIT("auto")}};

static struct model_profile learnt_profile(const char *model, const char *text)
{
    struct model_words learnt;

    (void)model_template_words(str_from_c(text), &learnt);
    return model_profile_find(str_from_c(model), STR_NONE, (struct name_list){NULL, 0}, &all_auto,
                              &learnt);
}

static void a_refusal_in_a_template_tells_what_it_wants(void **state)
{
    struct model_profile p;

    (void)state;
    p = learnt_profile(
        "default",
        "{%- if message.role == \"tool\" %}{{- raise_exception(\"After the optional system message, "
        "conversation roles must alternate user/assistant/user/assistant/...\") }}"
        "{{- raise_exception(\"Tool call IDs should be alphanumeric strings with length 9!\") }}");
    assert_true(p.role_order == CHAT_ALTERNATE && p.late_system_as_user && p.short_call_ids);
    assert_int_equal(p.call_messages, CHAT_CALLS_MERGED);
    assert_int_equal(p.system_role, CHAT_SYSTEM_ROLE);

    p = learnt_profile("default", "{% if messages[0]['role'] == 'system' %}"
                                  "{{ raise_exception('System role not supported') }}{% endif %}"
                                  "{{ raise_exception('Conversation roles must alternate "
                                  "user/assistant/user/assistant/...') }}");
    assert_true(p.role_order == CHAT_ALTERNATE && !p.short_call_ids);
    assert_int_equal(p.system_role, CHAT_USER_ROLE);
    assert_int_equal(p.call_messages, CHAT_CALLS_TEXT);
    assert_int_equal(p.text_calls, TEXT_CALLS_HERMES);

    p = learnt_profile("default", "{%- if not message.tool_calls|length == 1 %}{{- raise_exception("
                                  "\"This model only supports single tool-calls at once!\") }}");
    assert_false(p.role_order != CHAT_ANY_ORDER || p.late_system_as_user || p.short_call_ids);
    assert_int_equal(p.call_messages, CHAT_CALLS_SINGLE);
}

static void a_template_counts_more_than_a_name(void **state)
{
    static const char *const lines[] = {"llama* call_messages=merged"};
    struct model_words learnt, keys = all_auto;
    struct model_profile p;

    (void)state;
    assert_true(
        model_template_words(STR("only supports single tool-calls at once message.tool"), &learnt));
    p = model_profile_find(STR("qwen3-8b"), STR_NONE, (struct name_list){NULL, 0}, &all_auto,
                           &learnt);
    assert_int_equal(p.call_messages, CHAT_CALLS_SINGLE);
    assert_int_equal(p.text_calls, TEXT_CALLS_HERMES); /* of which the template says nothing */
    p = model_profile_find(STR("llama"), STR_NONE, (struct name_list){lines, 1}, &all_auto,
                           &learnt);
    assert_int_equal(p.call_messages, CHAT_CALLS_MERGED);
    keys.of[MODEL_CALL_MESSAGES] = STR("text");
    p = model_profile_find(STR("qwen3-8b"), STR_NONE, (struct name_list){NULL, 0}, &keys, &learnt);
    assert_int_equal(p.call_messages, CHAT_CALLS_TEXT);
}

static void what_says_nothing_decides_nothing(void **state)
{
    static const char *const texts[] = {
        "",
        "{{ 1 }}",
        ("{% for message in messages %}{{ message.role + message.content }}"
         "{% if message.tool_calls %}{% endif %}{% endfor %}"),
    };
    struct model_words words;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        assert_false(model_template_words(str_from_c(texts[i]), &words));
        for (int s = 0; s < MODEL_SETTINGS; s++)
            assert_true(str_is_none(words.of[s]));
    }
    assert_false(model_template_words(STR_NONE, &words));
}

static void a_text_that_is_too_long_is_not_read(void **state)
{
    static const str telltale = STR_INIT("onversation roles must alternate tool");
    char *text = malloc(MODEL_TEMPLATE_MAX_BYTES + 1);
    struct model_words words;

    (void)state;
    memset(text, ' ', MODEL_TEMPLATE_MAX_BYTES + 1);
    memcpy(text + MODEL_TEMPLATE_MAX_BYTES - telltale.len, telltale.p, telltale.len);
    assert_true(model_template_words(str_from(text, MODEL_TEMPLATE_MAX_BYTES), &words));
    assert_true(str_eq(words.of[MODEL_ROLE_ORDER], STR("alternate")));
    assert_false(model_template_words(str_from(text, MODEL_TEMPLATE_MAX_BYTES + 1), &words));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_in_a_template_tells_what_it_wants),
        cmocka_unit_test(a_template_counts_more_than_a_name),
        cmocka_unit_test(what_says_nothing_decides_nothing),
        cmocka_unit_test(a_text_that_is_too_long_is_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
