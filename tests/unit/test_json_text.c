/* test_json_text.c -- escapes, and splicing pieces of one string. */
#include "lib/test.h"

#include "base/utf8.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "lib/fixture.h"

static const struct {
    const char *escaped;
    str text;
} decodings[] = {
    {"plain", STR_INIT("plain")},
    {"", STR_INIT("")},
    {"\\\"\\\\\\/\\b\\f\\n\\r\\t", STR_INIT("\"\\/\b\f\n\r\t")},
    {"\\u0000\\u0041\\u00e9\\u20AC", STR_INIT("\0A\xC3\xA9\xE2\x82\xAC")},
    {"\\ud83d\\ude00", STR_INIT("\xF0\x9F\x98\x80")},
    {"\\uD83D", STR_INIT("\xEF\xBF\xBD")}, /* lone halves */
    {"a\\ude00b", STR_INIT("a\xEF\xBF\xBD"
                           "b")},
    {"\\ud83d\\ud83d\\ude00", STR_INIT("\xEF\xBF\xBD\xF0\x9F\x98\x80")},
    {"\\ud83dx", STR_INIT("\xEF\xBF\xBDx")},
    {"\\ud83d\\n", STR_INIT("\xEF\xBF\xBD\n")},
};

static void escapes_are_decoded(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(decodings); i++) {
        struct buf out = {.limit = 0};
        struct arena a = {.limit = 0};
        str escaped = str_from_c(decodings[i].escaped);

        json_text_decode(escaped, &out);
        assert_str_eq(buf_str(&out), decodings[i].text);
        assert_str_eq(json_text_dup(&a, escaped), decodings[i].text);
        assert_true(json_text_eq(escaped, decodings[i].text));
        assert_false(json_text_eq(escaped, STR("something else")));
        assert_int_equal(json_text_count(escaped), utf8_count(decodings[i].text));
        buf_fini(&out);
        arena_fini(&a);
    }
}

static void an_escape_is_not_the_text_that_looks_like_it(void **state)
{
    (void)state;
    assert_false(json_text_eq(STR("\\n"), STR("\\n")));
    assert_false(json_text_eq(STR("\\n"), STR("\\nn")));
    assert_true(json_text_eq(STR("\\\\n"), STR("\\n")));
}

static void only_a_text_with_escapes_is_copied(void **state)
{
    struct arena a = {.limit = 0};
    str plain = STR("plain");

    (void)state;
    assert_ptr_equal(json_text_dup(&a, plain).p, plain.p);
    assert_true(str_is_none(json_text_dup(&a, STR_NONE)));
    arena_init(&a, 1);
    assert_true(str_is_none(json_text_dup(&a, STR("a\\nb\\nc\\nd\\ne\\nf\\ng"))));
    arena_fini(&a);
}

static const struct {
    str text;
    const char *escaped;
} escapings[] = {
    {STR_INIT("plain \x7F"), "plain \x7F"},
    {STR_INIT("\"\\/"), "\\\"\\\\/"},
    {STR_INIT("\0\x01\b\t\n\f\r\x1F"), "\\u0000\\u0001\\b\\t\\n\\f\\r\\u001f"},
    {STR_INIT("\xC3\xA9\xF0\x9F\x98\x80"), "\xC3\xA9\xF0\x9F\x98\x80"},
    {STR_INIT("\xC2\x85\xE2\x80\xA8\xE2\x80\xA9"), "\\u0085\\u2028\\u2029"},
    {STR_INIT("\xC2\x86\xE2\x80\xA7\xE2\x80\xAA"), "\xC2\x86\xE2\x80\xA7\xE2\x80\xAA"},
    {STR_INIT("a\xFFz"), "a\xEF\xBF\xBDz"},
    {STR_INIT("\xE2\x80"), NULL}, /* some U+FFFD; how many is open */
};

static void text_is_escaped_so_that_it_fits_on_a_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(escapings); i++) {
        struct buf out = {.limit = 0};
        char *exact = exact_copy(escapings[i].text);

        json_text_escape(str_from(exact, escapings[i].text.len), &out);
        if (escapings[i].escaped != NULL)
            assert_str_c(buf_str(&out), escapings[i].escaped);
        assert_true(utf8_is_valid(buf_str(&out)));
        free(exact);
        buf_fini(&out);
    }
}

/* ---- splicing */

/* Texts in pieces and what stands in the outgoing string in the end. */
static const struct {
    const char *pieces[4];
    const char *joined;
} splices[] = {
    {{"a", "b\\n", "c"}, "ab\\nc"},
    {{"\\ud83d", "\\ude00"}, "\\ud83d\\ude00"},
    {{"x\\ud83d", "\\ude00y"}, "x\\ud83d\\ude00y"},
    {{"\\ud83d"}, "\\ufffd"},
    {{"\\ud83d", "x"}, "\\ufffdx"},
    {{"\\ud83d", "\\ud83d", "\\ude00"}, "\\ufffd\\ud83d\\ude00"},
    {{"\\ude00", "\\ud83d"}, "\\ufffd\\ufffd"},
    {{"\xE2\x80\xA8", "\xC2\x85\xE2\x80\xA9"}, "\\u2028\\u0085\\u2029"},
    {{"\\ud83d", "\xE2\x80\xA8"}, "\\ufffd\\u2028"},
    {{"\xC3\xA9\xE2\x82\xAC"}, "\xC3\xA9\xE2\x82\xAC"},
};

static void pieces_join_to_one_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(splices); i++) {
        struct json_splice s = {0};
        struct buf out = {.limit = 0};
        size_t n = 0;

        for (size_t k = 0; k < 4 && splices[i].pieces[k] != NULL; k++)
            n += json_text_splice(&s, str_from_c(splices[i].pieces[k]), &out);
        n += json_text_splice_end(&s, &out);
        assert_int_equal(n, out.len);
        assert_str_c(buf_str(&out), splices[i].joined);
        buf_fini(&out);
    }
}

static bool is_half_pair_at_end(str out)
{
    return out.len >= 6 && out.p[out.len - 6] == '\\' &&
           strncmp(out.p + out.len - 5, "ud8", 3) == 0;
}

/* May an escaped text be cut here? Not inside an escape or a character. */
static bool is_cut(str text, size_t at)
{
    for (size_t i = 0; i < at;) {
        size_t n = text.p[i] != '\\' ? utf8_char(str_skip(text, i)) : text.p[i + 1] == 'u' ? 6 : 2;

        if (i + n > at)
            return false;
        i += n;
    }
    return true;
}

/* Cut into three anywhere: what is out after each piece is complete, and in the
 * end it is what the text gives in one piece. */
static void a_text_may_be_cut_anywhere(void **state)
{
    static const char text[] = "\\ud83d\\ude00a\xE2\x80\xA8\\\\\\ud83d\xC2\x85\\u2028\\ude00"
                               "\xF0\x9F\x98\x80\\ud83d";
    str all = str_from_c(text);
    struct buf whole = {.limit = 0};
    struct json_splice s = {0};

    (void)state;
    json_text_splice(&s, all, &whole);
    json_text_splice_end(&s, &whole);
    for (size_t i = 0; i <= all.len; i++) {
        for (size_t k = i; k <= all.len && is_cut(all, i); k++) {
            str pieces[3] = {{text, i}, {text + i, k - i}, {text + k, all.len - k}};
            struct buf out = {.limit = 0};

            for (size_t p = 0; p < 3 && is_cut(all, k); p++) {
                char *exact = exact_copy(pieces[p]);

                json_text_splice(&s, str_from(exact, pieces[p].len), &out);
                assert_false(is_half_pair_at_end(buf_str(&out)));
                free(exact);
            }
            json_text_splice_end(&s, &out);
            if (is_cut(all, k))
                assert_str_eq(buf_str(&out), buf_str(&whole));
            buf_fini(&out);
        }
    }
    buf_fini(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes_are_decoded),
        cmocka_unit_test(an_escape_is_not_the_text_that_looks_like_it),
        cmocka_unit_test(only_a_text_with_escapes_is_copied),
        cmocka_unit_test(text_is_escaped_so_that_it_fits_on_a_line),
        cmocka_unit_test(pieces_join_to_one_text),
        cmocka_unit_test(a_text_may_be_cut_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
