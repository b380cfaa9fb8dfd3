/* test_utf8.c -- Unicode in bytes. */
#include "lib/test.h"

#include "base/utf8.h"
#include "lib/fixture.h"

static const struct {
    str bytes;
    size_t length; /* of the character at the start; 0: malformed */
} characters[] = {
    {STR_INIT("a"), 1},
    {STR_INIT("\0"), 1},
    {STR_INIT("\x7F"), 1},
    {STR_INIT("\xC2\x80"), 2},
    {STR_INIT("\xDF\xBF"), 2},
    {STR_INIT("\xE0\xA0\x80"), 3},
    {STR_INIT("\xED\x9F\xBF"), 3},
    {STR_INIT("\xEE\x80\x80"), 3},
    {STR_INIT("\xEF\xBF\xBF"), 3},
    {STR_INIT("\xF0\x90\x80\x80"), 4},
    {STR_INIT("\xF4\x8F\xBF\xBF"), 4},
    {STR_INIT(""), 0},
    {STR_INIT("\x80"), 0},
    {STR_INIT("\xC0\x80"), 0}, /* overlong */
    {STR_INIT("\xC1\xBF"), 0},
    {STR_INIT("\xE0\x9F\xBF"), 0},
    {STR_INIT("\xF0\x8F\xBF\xBF"), 0},
    {STR_INIT("\xED\xA0\x80"), 0},     /* a surrogate */
    {STR_INIT("\xF4\x90\x80\x80"), 0}, /* above U+10FFFF */
    {STR_INIT("\xF5\x80\x80\x80"), 0},
    {STR_INIT("\xFF"), 0},
    {STR_INIT("\xC2"), 0}, /* cut short */
    {STR_INIT("\xE2\x82"), 0},
    {STR_INIT("\xF0\x9F\x98"), 0},
    {STR_INIT("\xC2\x41"), 0},
};

static void characters_are_told_from_malformed_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(characters); i++) {
        char *exact = exact_copy(characters[i].bytes);
        str s = str_from(exact, characters[i].bytes.len);

        assert_int_equal(utf8_char(s), characters[i].length);
        if (s.len > 0)
            assert_int_equal(utf8_is_valid(s), characters[i].length > 0);
        free(exact);
    }
}

static void every_code_point_is_written_so_that_it_reads_back(void **state)
{
    char out[4];

    (void)state;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        size_t n = utf8_encode(c, out);

        assert_int_equal(utf8_char(str_from(out, n)), n);
        if (c >= 0xD800 && c <= 0xDFFF)
            assert_str_c(str_from(out, n), "\xEF\xBF\xBD");
    }
    assert_str_c(str_from(out, utf8_encode(0x110000, out)), "\xEF\xBF\xBD");
    assert_str_c(str_from(out, utf8_encode(0x1F600, out)), "\xF0\x9F\x98\x80");
}

static void a_cut_never_ends_inside_a_character(void **state)
{
    str s = STR("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
    const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};

    (void)state;
    for (size_t limit = 0; limit < COUNT_OF(expected); limit++)
        assert_int_equal(utf8_cut(s, limit), expected[limit]);
    assert_int_equal(utf8_count(s), 4);
    assert_int_equal(utf8_count(STR("")), 0);
}

static const struct {
    str broken, repaired;
} repairs[] = {
    {STR_INIT("plain"), STR_INIT("plain")},
    {STR_INIT("a\xFF"), STR_INIT("a\xEF\xBF\xBD")},
    {STR_INIT("\xC3\xA9\x80z"), STR_INIT("\xC3\xA9\xEF\xBF\xBDz")},
    {STR_INIT(""), STR_INIT("")},
    {STR_INIT("longer than a block\xC3 of bytes\xFF\xFE"),
     STR_INIT("longer than a block\xEF\xBF\xBD of bytes\xEF\xBF\xBD\xEF\xBF\xBD")},
};

static void malformed_bytes_are_replaced_and_nothing_else(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(repairs); i++) {
        struct buf out = {.limit = 0};

        utf8_repair(repairs[i].broken, &out);
        assert_str_eq(buf_str(&out), repairs[i].repaired);
        buf_fini(&out);
    }
}

static void any_bytes_are_valid_once_repaired(void **state)
{
    struct chance chance = {.state = 1};

    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct buf bytes = {.limit = 0}, out = {.limit = 0};

        for (uint32_t n = chance_below(&chance, 12); n > 0; n--)
            buf_char(&bytes, (char)chance_below(&chance, 256));
        utf8_repair(buf_str(&bytes), &out);
        assert_true(utf8_is_valid(buf_str(&out)));
        if (utf8_is_valid(buf_str(&bytes)))
            assert_str_eq(buf_str(&out), buf_str(&bytes));
        buf_fini(&bytes);
        buf_fini(&out);
    }
}

static void the_valid_prefix_ends_at_the_first_byte_that_is_not(void **state)
{
    char text[40];

    (void)state;
    for (size_t at = 0; at < sizeof(text); at++) {
        memset(text, 'a', sizeof(text));
        assert_int_equal(utf8_valid_prefix(str_from(text, sizeof(text))), sizeof(text));
        text[at] = '\xE2';
        assert_int_equal(utf8_valid_prefix(str_from(text, sizeof(text))), at);
    }
}

static void a_code_point_is_what_was_encoded(void **state)
{
    static const uint32_t points[] = {0, 'a', 0x7F, 0x80, 0x7FF, 0x800, 0xFFFD, 0x10000, 0x10FFFF};
    char bytes[4];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(points); i++)
        assert_int_equal(utf8_code_point(str_from(bytes, utf8_encode(points[i], bytes))),
                         points[i]);
}

static void layout_is_what_breaks_lines_or_turns_them_round(void **state)
{
    static const uint32_t first_last[][2] = {
        {0x061C, 0x061C}, {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}};
    char bytes[4];

    (void)state;
    for (uint32_t c = 0; c < 0x11000; c++) {
        bool is_layout = false;

        for (size_t i = 0; i < COUNT_OF(first_last); i++)
            is_layout |= c >= first_last[i][0] && c <= first_last[i][1];
        assert_int_equal(utf8_is_layout(str_from(bytes, utf8_encode(c, bytes))), is_layout);
    }
    assert_false(utf8_is_layout(STR("")));
    assert_false(utf8_is_layout(STR("\xe2\x80")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_are_told_from_malformed_bytes),
        cmocka_unit_test(every_code_point_is_written_so_that_it_reads_back),
        cmocka_unit_test(a_cut_never_ends_inside_a_character),
        cmocka_unit_test(malformed_bytes_are_replaced_and_nothing_else),
        cmocka_unit_test(any_bytes_are_valid_once_repaired),
        cmocka_unit_test(the_valid_prefix_ends_at_the_first_byte_that_is_not),
        cmocka_unit_test(a_code_point_is_what_was_encoded),
        cmocka_unit_test(layout_is_what_breaks_lines_or_turns_them_round),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
