/* test_utf8_pieces.c -- bytes in any cutting become valid text. */
#include "lib/test.h"

#include "base/utf8.h"
#include "lib/fixture.h"
#include "text/utf8_pieces.h"

#define R "\xEF\xBF\xBD"

static const struct {
    const char *bytes, *text;
} cases[] = {
    {"", ""},
    {"plain and longer than a block of sixteen", "plain and longer than a block of sixteen"},
    {"sixteen bytes and \xC3\xA9", "sixteen bytes and \xC3\xA9"},
    {"\xE2\x82\xAC\xF0\x9F\x98\x80", "\xE2\x82\xAC\xF0\x9F\x98\x80"},
    {" \xF0\x9F \xF0\x9Fworked", " " R " " R "worked"},
    {"\xF0\x9F\x98", R},
    {"\xF0\x9F\x98\xE2\x82", R R},
    {"\xE2\xE2\x82\xAC", R "\xE2\x82\xAC"},
    {"\x80\xBF\xFF", R R R},
    {"\xC0\xAF\xC1", R R R},
    {"\xE0\x80\x80", R R R},       /* overlong: no character begins with the first two */
    {"\xED\xA0\x80", R R R},       /* a surrogate */
    {"\xF4\x90\x80\x80", R R R R}, /* above U+10FFFF */
    {"\xF4\x8F\xBF\xBE\xF5", "\xF4\x8F\xBF\xBE" R},
};

struct made {
    struct utf8_pieces pieces;
    struct buf out;
};

static void add(void *arg, str piece)
{
    struct made *m = arg;

    utf8_pieces_add(&m->pieces, piece, &m->out);
    assert_true(utf8_is_valid(buf_str(&m->out)));
}

static void check(str bytes, str text, struct cutting cutting)
{
    struct made m = {.out = {.limit = 0}};

    feed_pieces(bytes, cutting, add, &m);
    utf8_pieces_end(&m.pieces, &m.out);
    assert_str_eq(buf_str(&m.out), text);
    buf_fini(&m.out);
}

static void invalid_parts_are_replaced_one_by_one_in_any_cutting(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        str bytes = str_from_c(cases[i].bytes), text = str_from_c(cases[i].text);

        check(bytes, text, UNCUT);
        check(bytes, text, BYTE_BY_BYTE);
        for (size_t at = 1; at < bytes.len; at++)
            check(bytes, text, CUT_AT(at));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_parts_are_replaced_one_by_one_in_any_cutting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
