/* test_config_word.c -- words between bars: taken off, found, told. */
#include "config/config_key.h"
#include "lib/test.h"

static void words_are_taken_off_to_the_last_one(void **state)
{
    str rest = STR("a,,bc"), none = STR_NONE;

    (void)state;
    assert_str_c(config_next_word(&rest, ','), "a");
    assert_str_c(config_next_word(&rest, ','), "");
    assert_str_c(config_next_word(&rest, ','), "bc");
    assert_true(str_is_none(config_next_word(&rest, ',')));
    assert_true(str_is_none(config_next_word(&none, ',')));
}

static void a_word_is_found_in_any_case_and_whole(void **state)
{
    static const struct {
        const char *word;
        bool is_there;
        unsigned index;
    } cases[] = {{"off", true, 0},  {"COMMON", true, 1}, {"all", true, 2},
                 {"al", false, 99}, {"", false, 99},     {"off|all", false, 99}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        unsigned index = 99;

        assert_int_equal(config_has_word("off|common|all", str_from_c(cases[i].word), &index),
                         cases[i].is_there);
        assert_int_equal(index, cases[i].index);
    }
    assert_true(config_has_word("off", STR("Off"), NULL));
}

static void words_are_told_as_a_sentence(void **state)
{
    static const struct {
        const char *words, *told;
    } cases[] = {{"a", "a"}, {"a|b", "a or b"}, {"a|b|c|d", "a, b, c or d"}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf out = {0};

        config_write_words(cases[i].words, &out);
        assert_str_c(buf_str(&out), cases[i].told);
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_taken_off_to_the_last_one),
        cmocka_unit_test(a_word_is_found_in_any_case_and_whole),
        cmocka_unit_test(words_are_told_as_a_sentence),
    };

    return cmocka_run_group_tests_name("config words", tests, NULL, NULL);
}
