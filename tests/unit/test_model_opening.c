/* test_model_opening.c -- which texts are taken for Harmony by their first bytes, and which not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/test.h"
#include "wire/chunk/model_opening.h"

/* What is decided of the text, as early as it is, when it comes byte by byte. */
static enum text_match match_of(const char *text)
{
    enum text_match match = TEXT_MAY_MATCH;

    for (size_t n = 1; n <= strlen(text) && match == TEXT_MAY_MATCH; n++)
        match = model_opening_match(str_from(text, n));
    return match;
}

static void check_all(const char *const *texts, size_t n, enum text_match want)
{
    for (size_t i = 0; i < n; i++) {
        if (match_of(texts[i]) != want || model_opening_match(str_from_c(texts[i])) != want)
            fail_msg("%s is %d", texts[i], (int)match_of(texts[i]));
    }
}

static void headers_open_harmony(void **state)
{
    static const char *const texts[] = {
        "<|channel|>analysis<|message|>",
        "<|channel|> final <|message|>",
        "<|channel|>final answer",
        "<|channel|>commentary?<|message|>",
        "<|channel|>commentary to=functions.f",
        "<|channel|>invented<|message|>",
        "<|channel|>invented to=functions.f",
        "<|channel|>to=functions.f",
        "<|channel|><|message|>",
        "<|channel|><|constrain|>json",
        "<|channel|>?\?<|end|>",
        "<|start|>assistant<|channel|>",
        "<|start|>assistant:name",
        "<|start|>assistant to=functions.f",
        "<|start|>functions.f to=assistant",
        "<|start|>user<|message|>",
        " to=functions.f<|channel|>",
        " to=functions.f <|constrain|>json",
        " to=f <|message|>",
    };

    (void)state;
    check_all(texts, COUNT_OF(texts), TEXT_MATCHES);
}

static void texts_about_markers_do_not(void **state)
{
    static const char *const texts[] = {
        "Hi",
        "<p>",
        "<|",
        "<|end|>",
        "<|message|>a",
        "<|channel|> is a token",
        "<|channel|>, a token",
        "<|channel|>\n",
        "<|channel|>finally, it",
        "<|channel|>, <|end|>",
        "<|start|> opens a message",
        "<|start|>user asks",
        "<|start|>assistants ask",
        "<|start|>, <|end|>",
        " to=a <| b",
        " to=<|x|>",
        " to=a to=b",
        " to=bash <|pipe",
        " too",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        bool is_begun = strcmp(texts[i], "<|") == 0;

        check_all(&texts[i], 1, is_begun ? TEXT_MAY_MATCH : TEXT_DIFFERS);
    }
}

static void no_text_is_held_back_for_long(void **state)
{
    static const char *const beginnings[] = {" to=", "<|channel|>", "<|start|>", "<|start|>a"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(beginnings); i++) {
        char text[300];
        size_t n = strlen(beginnings[i]);

        memcpy(text, beginnings[i], n);
        memset(text + n, i % 2 == 0 ? 'a' : ' ', sizeof(text) - n);
        assert_int_equal(model_opening_match(str_from(text, 200)), TEXT_MAY_MATCH);
        assert_int_equal(model_opening_match(str_from(text, 257)), TEXT_DIFFERS);
        memcpy(text + sizeof(text) - strlen("<|message|>"), "<|message|>", strlen("<|message|>"));
        assert_int_equal(model_opening_match(str_from(text, sizeof(text))), TEXT_DIFFERS);
    }
}

static void only_a_whole_marker_is_a_header_cut_short(void **state)
{
    (void)state;
    assert_true(model_opening_is_header(STR("<|channel|>")));
    assert_true(model_opening_is_header(STR("<|channel|>anal")));
    assert_true(model_opening_is_header(STR("<|start|>assist")));
    assert_false(model_opening_is_header(STR("<|chan")));
    assert_false(model_opening_is_header(STR(" to=functions.f")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_open_harmony),
        cmocka_unit_test(texts_about_markers_do_not),
        cmocka_unit_test(no_text_is_held_back_for_long),
        cmocka_unit_test(only_a_whole_marker_is_a_header_cut_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
