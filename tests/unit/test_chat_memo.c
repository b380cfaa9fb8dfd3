/* test_chat_memo.c -- a chunk is known by the one before, or it is not. */
#include "lib/fixture.h"
#include "lib/test.h"
#include "wire/chunk/chat_memo.h"

static const char first[] = "{\"id\":\"c\",\"delta\":{\"content\":\"Hello\"},\"logprobs\":null}";

static struct chat_memo memo_of_first(void)
{
    const struct chat_saying saying = {.what = SAYS_CONTENT,
                                       .text = str_from(strstr(first, "Hello"), strlen("Hello"))};
    struct chat_memo m = {.text_offset = 0};

    chat_memo_keep(&m, str_from_c(first), &saying);
    return m;
}

/* The chunk in a block of its own, so that reading past its end is noticed. */
static bool fits(const struct chat_memo *m, const char *chunk, char **ret_copy,
                 struct chat_saying *ret)
{
    *ret_copy = exact_copy(str_from_c(chunk));
    return chat_memo_fits(m, str_from(*ret_copy, strlen(chunk)), ret);
}

static void another_text_in_the_same_place_fits(void **state)
{
    static const char *const texts[] = {"Hello",
                                        "",
                                        "x",
                                        "\\n \\\" \\u00e9",
                                        "\xC3\xA9\xE2\x82\xAC",
                                        "a text that is longer than eight bytes"};
    struct chat_memo m = memo_of_first();
    struct chat_saying saying;
    char chunk[256], *copy;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        (void)snprintf(chunk, sizeof(chunk),
                       "{\"id\":\"c\",\"delta\":{\"content\":\"%s\"},\"logprobs\":null}", texts[i]);
        assert_true(fits(&m, chunk, &copy, &saying));
        assert_int_equal(saying.what, SAYS_CONTENT);
        assert_str_c(saying.text, texts[i]);
        free(copy);
    }
    chat_memo_fini(&m);
}

static void what_is_no_string_does_not_fit(void **state)
{
    static const char *const texts[] = {"a\"b",        "\\",   "\\q",  "\\u12",
                                        "line\nbreak", "\xFF", "\xC3", "\",\"role\":\"x"};
    struct chat_memo m = memo_of_first();
    struct chat_saying saying;
    char chunk[256], *copy;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        (void)snprintf(chunk, sizeof(chunk),
                       "{\"id\":\"c\",\"delta\":{\"content\":\"%s\"},\"logprobs\":null}", texts[i]);
        assert_false(fits(&m, chunk, &copy, &saying));
        free(copy);
    }
    chat_memo_fini(&m);
}

static void any_other_difference_does_not_fit(void **state)
{
    static const char *const chunks[] = {
        "",
        "{",
        "{\"id\":\"c\",\"delta\":{\"content\":\"\"},\"logprobs\":null",
        "{\"id\":\"d\",\"delta\":{\"content\":\"Hello\"},\"logprobs\":null}",
        "{\"id\":\"c\",\"delta\":{\"content\":\"Hello\"},\"logprobs\":true}",
        "{\"id\":\"c\",\"delta\":{\"content\":\"Hello\"},\"logprobs\":null} ",
        "{\"id\":\"c\",\"delta\":{\"content\":\"Hello\"},\"finish_reason\":null,\"logprobs\":null}",
    };
    struct chat_memo m = memo_of_first(), empty = {.text_offset = 0};
    struct chat_saying saying;
    char *copy;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(chunks); i++) {
        assert_false(fits(&m, chunks[i], &copy, &saying));
        free(copy);
    }
    assert_false(fits(&empty, first, &copy, &saying));
    free(copy);
    chat_memo_fini(&m);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_text_in_the_same_place_fits),
        cmocka_unit_test(what_is_no_string_does_not_fit),
        cmocka_unit_test(any_other_difference_does_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
