/* test_context_size.c -- what errors about long requests say of their tokens. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "wire/dialect/context_size.h"
#include "wire/dialect/upstream_error.h"

/* As the servers say it; where each is from is told in context_size.def. */
static const struct {
    const char *message;
    struct err_tokens tokens; /* limit, prompt, answer */
} texts[] = {
    {"This model's maximum context length is 2048 tokens. However, you requested 14000 tokens "
     "(13000 in the messages, 1000 in the completion). Please reduce the length of the messages "
     "or completion.",
     {2048, 13000, 1000}},
    {"This model's maximum context length is 8192 tokens. However, your messages resulted in 10001 "
     "tokens (9900 in the messages, 101 in the functions). Please reduce the length of the "
     "messages or functions.",
     {8192, 10001, 0}},
    {"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 "
     "tokens.",
     {272000, 300000, 0}},
    {"This model's maximum context length is 2048 tokens. However, your request has 13000 input "
     "tokens. Please reduce the length of the input messages.",
     {2048, 13000, 0}},
    {"'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context "
     "length is 2048 tokens and your request has 1500 input tokens (1000 > 2048 - 1500).",
     {2048, 1500, 1000}},
    {"This model's maximum context length is 2048 tokens. However, you requested 500 output tokens "
     "and your prompt contains at least 1549 input tokens, for a total of at least 2049 tokens.",
     {2048, 0, 500}},
    {"This model's maximum context length is 2048 tokens. However, you requested 9000 tokens.",
     {2048, 9000, 0}},
    {"Input prompt (2664 tokens) is too long and exceeds limit of 2048", {2048, 2664, 0}},
    {"request (20011 tokens) exceeds the available context size (4096 tokens), try increasing it",
     {4096, 20011, 0}},
    {"The input (13000 tokens) is longer than the model's context length (2048 tokens).",
     {2048, 13000, 0}},
    {"Requested token count exceeds the model's maximum context length of 2048 tokens. You "
     "requested a total of 14000 tokens: 13000 tokens from the input messages and 1000 tokens for "
     "the completion.",
     {2048, 13000, 1000}},
    {"Trying to keep the first 13000 tokens when context the overflows. However, the model is "
     "loaded with context length of only 2048 tokens, which is not enough.",
     {2048, 13000, 0}},
    {"Requested tokens (3000) exceed context window of 2048", {2048, 3000, 0}},
    {"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1400 "
     "`inputs` tokens and 1000 `max_new_tokens`",
     {2048, 1400, 1000}},
    {"Please reduce the length of the messages or completion. Current length is 10000 while limit "
     "is 8192",
     {8192, 10000, 0}},
    {"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum "
     "context length",
     {32768, 40000, 0}},
    {"prompt is too long: 210000 tokens > 200000 maximum", {200000, 210000, 0}},
    {"This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 "
     "tokens (30000 of text input, 10000 in the output).",
     {32768, 30000, 10000}},
    /* no numbers, or such that explain nothing */
    {"Your input exceeds the context window of this model.", {0}},
    {"the request exceeds the available context size. try increasing the context size", {0}},
    {"This model's maximum context length is 0 tokens.", {0}},
    {"This model's maximum context length is 8000 tokens, your messages resulted in 7000 tokens.",
     {0}},
    {"maximum context length is 99999999999999999999 tokens", {0}},
    {"maximum context length is ", {0}},
    {"", {0}},
};

static void check(struct err_tokens got, struct err_tokens wanted, const char *what)
{
    if (got.limit != wanted.limit || got.prompt != wanted.prompt || got.answer != wanted.answer)
        fail_msg("%s: limit %lld, prompt %lld, answer %lld", what, (long long)got.limit,
                 (long long)got.prompt, (long long)got.answer);
}

static void numbers_are_found_by_the_words_around_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        str text = str_from_c(texts[i].message);
        char *exact = exact_copy(text);

        check(context_size_read(str_from(exact, text.len)), texts[i].tokens, texts[i].message);
        free(exact);
    }
}

static void every_beginning_of_a_text_can_be_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        str text = str_from_c(texts[i].message);

        for (size_t n = 0; n < text.len; n++) {
            char *exact = exact_copy(str_from(text.p, n));

            (void)context_size_read(str_from(exact, n));
            free(exact);
        }
    }
}

static void numbers_that_were_sent_as_such_count_more_than_a_text(void **state)
{
    struct err e;

    (void)state;
    upstream_error_from_answer(
        400, 0,
        STR("{\"error\":{\"code\":400,\"message\":\"the request exceeds the available context "
            "size\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":14000,"
            "\"n_ctx\":2048}}"),
        &e);
    check(e.tokens, (struct err_tokens){2048, 14000, 0}, "llama.cpp");
    upstream_error_from_value(
        STR("{\"message\":\"maximum context length is 5 tokens\",\"n_prompt_tokens\":7,"
            "\"n_ctx\":6}"),
        &e);
    check(e.tokens, (struct err_tokens){6, 7, 0}, "both");
    upstream_error_from_value(
        STR("{\"message\":\"context length\",\"n_prompt_tokens\":\"7\",\"n_ctx\":-1}"), &e);
    check(e.tokens, (struct err_tokens){0}, "no numbers");
    upstream_error_from_text(STR("maximum context length is 5 tokens"), &e);
    check(e.tokens, (struct err_tokens){5, 0, 0}, "only a text");
    err_set(&e, ERR_INTERNAL, "x");
    check(e.tokens, (struct err_tokens){0}, "another error");
}

static void both_numbers_are_told_in_one_form(void **state)
{
    struct err e;

    (void)state;
    upstream_error_from_answer(
        400, 9,
        STR("{\"error\":{\"message\":\"request (14000 tokens) exceeds the available context size "
            "(2048 tokens), try increasing it\"}}"),
        &e);
    assert_string_equal(
        e.msg, "This model's maximum context length is 2048 tokens, but the request has 14000.");
    assert_int_equal(e.code, ERR_CONTEXT_LENGTH);
    assert_int_equal(e.retry_after_s, 9);
    check(e.tokens, (struct err_tokens){2048, 14000, 0}, "ours");
    check(context_size_read(str_from_c(e.msg)), e.tokens, "that of another gateway");
    /* the answer that was asked for counts */
    upstream_error_from_text(
        STR("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens "
            "(8000 in the messages, 1000 in the completion)."),
        &e);
    assert_string_equal(
        e.msg, "This model's maximum context length is 8192 tokens, but the request has 9000.");
    check(e.tokens, (struct err_tokens){8192, 8000, 1000}, "with an answer");
    upstream_error_from_text(STR("maximum context length is 5 tokens, get a larger model"), &e);
    assert_string_equal(e.msg, "maximum context length is 5 tokens, get a larger model");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_found_by_the_words_around_them),
        cmocka_unit_test(every_beginning_of_a_text_can_be_read),
        cmocka_unit_test(numbers_that_were_sent_as_such_count_more_than_a_text),
        cmocka_unit_test(both_numbers_are_told_in_one_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
