/* test_id.c -- ids of responses, items and calls. */
#include "lib/test.h"

#include "lib/fixture.h"

static void an_id_is_its_prefix_and_letters_and_digits(void **state)
{
    struct test_ids ids;
    struct id id;

    (void)state;
    test_ids_reset(&ids);
    for (int i = 0; i < 1000; i++) {
        id = id_make(&ids.source, "resp_", ID_RANDOM_CHARS);
        assert_int_equal(id.len, 5 + ID_RANDOM_CHARS);
        assert_int_equal(strlen(id.text), id.len);
        assert_true(str_starts_with(id_str(&id), STR("resp_")));
        for (size_t k = 5; k < id.len; k++)
            assert_true(strchr("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
                               id.text[k]) != NULL);
    }
}

static void the_longest_id_fits(void **state)
{
    struct test_ids ids;
    struct id id;

    (void)state;
    test_ids_reset(&ids);
    id = id_make(&ids.source, "sixteen_letters_", 32);
    assert_true(id.len <= ID_BYTES);
    assert_int_equal(strlen(id.text), id.len);
}

/* All 62 characters occur about equally often: no bias towards some. */
static void every_character_is_as_likely_as_any_other(void **state)
{
    unsigned seen[256] = {0};
    struct test_ids ids;

    (void)state;
    test_ids_reset(&ids);
    for (int i = 0; i < 6200; i++) {
        struct id id = id_make(&ids.source, "", 32);

        for (size_t k = 0; k < id.len; k++)
            seen[(unsigned char)id.text[k]]++;
    }
    for (const char *c = "09azAZ5mM"; *c != '\0'; c++)
        assert_in_range(seen[(unsigned char)*c], 2900, 3500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_is_its_prefix_and_letters_and_digits),
        cmocka_unit_test(the_longest_id_fits),
        cmocka_unit_test(every_character_is_as_likely_as_any_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
