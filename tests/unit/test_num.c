/* test_num.c -- numbers with units. */
#include "lib/test.h"

#include "base/num.h"

typedef bool parse_function(str s, uint64_t *ret);

static const struct {
    parse_function *parse;
    const char *text;
    bool ok;
    uint64_t value;
} cases[] = {
    {num_uint, "0", true, 0},
    {num_uint, "007", true, 7},
    {num_uint, "18446744073709551615", true, UINT64_MAX},
    {num_uint, "18446744073709551616", false, 0},
    {num_uint, "", false, 0},
    {num_uint, "-1", false, 0},
    {num_uint, "+1", false, 0},
    {num_uint, " 1", false, 0},
    {num_uint, "1x", false, 0},
    {num_duration_ms, "1000ms", true, 1000},
    {num_duration_ms, "15s", true, 15000},
    {num_duration_ms, "2m", true, 120000},
    {num_duration_ms, "1h", true, 3600000},
    {num_duration_ms, "15", true, 15000},
    {num_duration_ms, "15.0", true, 15000},
    {num_duration_ms, "0", true, 0},
    {num_duration_ms, "15 parsecs", false, 0},
    {num_duration_ms, "s", false, 0},
    {num_duration_ms, "", false, 0},
    {num_duration_ms, "-1s", false, 0},
    {num_duration_ms, "18446744073709551615h", false, 0},
    {num_size_bytes, "32MiB", true, 32 << 20},
    {num_size_bytes, "64KiB", true, 64 << 10},
    {num_size_bytes, "1GiB", true, 1 << 30},
    {num_size_bytes, "10MB", true, 10000000},
    {num_size_bytes, "512B", true, 512},
    {num_size_bytes, "512", true, 512},
    {num_size_bytes, "MiB", false, 0},
    {num_size_bytes, "1 MiB", false, 0},
    {num_size_bytes, "18446744073709551615KiB", false, 0},
};

static void numbers_are_read_with_their_units(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint64_t value = 0;
        bool ok = cases[i].parse(str_from_c(cases[i].text), &value);

        if (ok != cases[i].ok || value != cases[i].value)
            fail_msg("\"%s\" gave %s %ju", cases[i].text, ok ? "true" : "false", (uintmax_t)value);
    }
}

static void only_hexadecimal_digits_have_a_value(void **state)
{
    const char digits[] = "0123456789abcdefABCDEF";

    (void)state;
    for (int i = 0; i < 256; i++) {
        const char c = (char)i, *found = c == '\0' ? NULL : strchr(digits, c);
        int value = found == NULL ? -1 : (int)(found - digits);

        if (value > 15)
            value -= 6; /* of the upper case */
        assert_int_equal(num_hex_digit(c), value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_with_their_units),
        cmocka_unit_test(only_hexadecimal_digits_have_a_value),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
