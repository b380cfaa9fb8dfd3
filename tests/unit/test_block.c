/* test_block.c -- sixteen bytes at a time give the answer of one at a time. */
#include "base/block.h"
#include "lib/fixture.h"
#include "lib/test.h"

static void a_mark_is_found_in_every_place(void **state)
{
    char bytes[BLOCK_BYTES];

    (void)state;
    memset(bytes, 'a', sizeof(bytes));
    assert_int_equal(block_first(block_load(bytes) == '"'), BLOCK_BYTES);
    for (size_t at = BLOCK_BYTES; at-- > 0;) {
        bytes[at] = '"'; /* the later ones stay: the first is the answer */
        assert_int_equal(block_first(block_load(bytes) == '"'), at);
    }
}

static void less_than_a_space_is_control_or_not_ascii(void **state)
{
    char bytes[BLOCK_BYTES];

    (void)state;
    for (int c = 0; c < 256; c++) {
        memset(bytes, 'a', sizeof(bytes));
        bytes[5] = (char)c;
        assert_int_equal(block_first(block_load(bytes) < ' '),
                         c < ' ' || c >= 0x80 ? 5 : BLOCK_BYTES);
    }
}

static block mark_digits(block b)
{
    return (b >= '0') & (b <= '9');
}

/* Notes the digit; it says how far to go, and 0 stops. */
static const char *see_digit(const char *p, const char *end, void *arg)
{
    char **const seen = arg;

    assert_true(p < end);
    *(*seen)++ = *p;
    return *p == '0' ? NULL : p + (*p - '0');
}

static void a_walk_stops_where_it_is_told_to_and_sees_no_byte_that_it_passed(void **state)
{
    static const struct {
        const char *text, *seen;
        int stops_at; /* -1: at the end */
    } cases[] = {
        {"", "", -1},
        {"abc", "", -1},
        {"1a1", "11", -1},
        {"31a2", "32", -1},
        {"a0b", "0", 1},
        {"aaaaaaaaaaaaaaa2"
         "1aaaaaaaaaaaaaaaa0",
         "20", 33},
        {"aaaaaaaaaaaaaa1"
         "1"
         "1aaaaaaaaaaaaaa1"
         "1",
         "11111", -1},
        {"9aaaaaaaa9aaaaaaaa9aaaaaaaa9aaaaaaaa01", "99990", 36},
        {"aaaaaaaaaaaaaaa9bcde", "9", -1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const size_t n = strlen(cases[i].text);
        char *const text = exact_copy(str_from_c(cases[i].text));
        char seen[64] = {0}, *next = seen;
        const char *const stop = block_walk(text, text + n, mark_digits, see_digit, &next);

        assert_string_equal(seen, cases[i].seen);
        assert_int_equal(stop - text, cases[i].stops_at == -1 ? (int)n : cases[i].stops_at);
        free(text);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mark_is_found_in_every_place),
        cmocka_unit_test(less_than_a_space_is_control_or_not_ascii),
        cmocka_unit_test(a_walk_stops_where_it_is_told_to_and_sees_no_byte_that_it_passed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
