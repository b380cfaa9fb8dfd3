/* test_chat_read.c -- what stands where in a chunk, in the forms of all upstreams. */
#include "lib/test.h"

#include "wire/chunk/chat_read.h"

/* "t:" before a text, "r:" before a thought. */
static void note_text(void *arg, enum delta_kind kind, str escaped)
{
    buf_c(arg, kind == DELTA_TEXT ? "t:" : "r:");
    buf_append(arg, escaped);
    buf_char(arg, ' ');
}

static void check_texts(void (*read)(str raw, chat_on_text *on_text, void *arg), const char *raw,
                        const char *expected)
{
    struct buf texts = {.limit = 0};

    read(str_from_c(raw), note_text, &texts);
    assert_str_c(buf_str(&texts), expected);
    buf_fini(&texts);
}

static void content_is_a_string_or_parts(void **state)
{
    (void)state;
    check_texts(chat_read_content, "\"a\\n\"", "t:a\\n ");
    check_texts(chat_read_content, "null", "");
    check_texts(chat_read_content,
                "[{\"type\":\"text\",\"text\":\"a\"},1,{\"text\":\"b\",\"type\":\"output_text\"},"
                "{\"type\":\"image\",\"text\":\"c\"}]",
                "t:a t:b ");
    check_texts(
        chat_read_content,
        "[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"a\"},{\"text\":"
        "\"b\"}]},{\"type\":\"thinking\",\"thinking\":\"c\"},{\"type\":\"text\",\"text\":"
        "\"d\"}]",
        "r:a r:b r:c t:d ");
}

static void a_reasoning_detail_is_a_text_or_a_summary(void **state)
{
    (void)state;
    check_texts(chat_read_reasoning_details,
                "[{\"summary\":\"a\",\"text\":\"b\"},{\"summary\":\"c\",\"text\":\"\"}]",
                "r:b r:c ");
    check_texts(chat_read_reasoning_details, "\"a\"", "");
}

static struct chat_chunk read_chunk(const char *json, const char *event)
{
    struct buf repaired = {.limit = 0};
    struct chat_chunk c;

    assert_true(chat_read_chunk(str_from_c(json), str_from_c(event), &repaired, &c));
    assert_int_equal(repaired.len, 0);
    return c;
}

static void usage_is_an_object_in_one_of_two_places(void **state)
{
    (void)state;
    assert_str_c(read_chunk("{\"usage\":{\"n\":1},\"x_groq\":{\"usage\":{\"n\":2}}}", "").usage,
                 "{\"n\":1}");
    assert_str_c(read_chunk("{\"usage\":null,\"x_groq\":{\"usage\":{\"n\":2}}}", "").usage,
                 "{\"n\":2}");
    assert_true(str_is_none(read_chunk("{\"usage\":1,\"x_groq\":{\"usage\":2}}", "").usage));
}

static void an_error_says_something_or_is_the_chunk(void **state)
{
    static const char *const nothing[] = {"null", "false", "\"\"", "0", "{}", "[]"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(nothing); i++)
        assert_true(chat_read_is_nothing(str_from_c(nothing[i])));
    assert_true(chat_read_is_nothing(STR_NONE));
    assert_str_c(read_chunk("{\"error\":\"a\"}", "").error, "\"a\"");
    assert_true(str_is_none(read_chunk("{\"error\":{}}", "").error));
    assert_false(read_chunk("{\"error\":{}}", "").is_flat_error);
    assert_true(read_chunk("{\"object\":\"error\"}", "").is_flat_error);
    assert_true(read_chunk("{\"message\":\"a\"}", "error").is_flat_error);
}

static void bytes_that_are_no_utf8_cost_a_character(void **state)
{
    struct buf repaired = {.limit = 0};
    struct chat_chunk c;

    (void)state;
    assert_true(chat_read_chunk(STR("{\"choices\":\"a\xC3\"}"), STR(""), &repaired, &c));
    assert_str_c(c.choices, "\"a\xEF\xBF\xBD\"");
    assert_false(chat_read_chunk(STR("{\"choices\":"), STR(""), &repaired, &c));
    buf_fini(&repaired);
}

static void a_call_has_its_index_in_one_of_two_places(void **state)
{
    struct chat_call_piece piece;
    struct jr j;

    (void)state;
    jr_init(&j, STR("{\"id\":\"a\",\"function\":{\"index\":3,\"name\":\"f\",\"arguments\":{}}}"));
    assert_true(chat_read_call(&j, &piece));
    assert_int_equal(piece.index, 3);
    assert_false(piece.has_index);
    assert_true(chat_call_piece_has_arguments(&piece));
    jr_init(&j, STR("null"));
    assert_false(chat_read_call(&j, &piece));
}

static void a_call_of_the_old_form_is_an_object_without_an_index(void **state)
{
    struct chat_call_piece piece;

    (void)state;
    assert_true(chat_read_old_call(STR("{\"name\":null,\"arguments\":\"{\"}"), &piece));
    assert_int_equal(piece.index, CHAT_OLD_FORM);
    assert_true(chat_call_piece_has_arguments(&piece));
    assert_false(chat_read_old_call(STR("null"), &piece));
}

static void words_say_how_an_answer_ends(void **state)
{
    (void)state;
    assert_int_equal(chat_read_finish(STR("function_call")), FINISH_TOOL_CALLS);
    assert_int_equal(chat_read_finish(STR("model_length")), FINISH_LENGTH);
    assert_int_equal(chat_read_finish(STR("error")), FINISH_NONE);
    assert_int_equal(chat_read_finish(STR("eos")), FINISH_STOP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_is_a_string_or_parts),
        cmocka_unit_test(a_reasoning_detail_is_a_text_or_a_summary),
        cmocka_unit_test(usage_is_an_object_in_one_of_two_places),
        cmocka_unit_test(an_error_says_something_or_is_the_chunk),
        cmocka_unit_test(bytes_that_are_no_utf8_cost_a_character),
        cmocka_unit_test(a_call_has_its_index_in_one_of_two_places),
        cmocka_unit_test(a_call_of_the_old_form_is_an_object_without_an_index),
        cmocka_unit_test(words_say_how_an_answer_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
