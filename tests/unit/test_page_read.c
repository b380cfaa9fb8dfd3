/* test_page_read.c -- what a page is, in which charset, and how its lines are cut. */
#include "unit/page_fixture.h"

#include "base/utf8.h"
#include "search/page_element.h"

/* ---- what it is */

static void plain_text_stays_as_it_is(void **state)
{
    (void)state;
    check_page("one\n  two <b>\r\n\n\tthree\n", "text/plain", "one\n  two <b>\n\n\tthree");
    check_page("{\n  \"a\": \"&amp;\"\n}", "application/json; charset=utf-8",
               "{\n  \"a\": \"&amp;\"\n}");
    check_page("<rss>\n<a href='/x'>", "application/rss+xml", "<rss>\n<a href='/x'>");
    check_page("see 【0†fake】", "text/markdown; charset=utf-8", "see 〔0†fake〕");
}

static void a_page_without_a_type_is_what_it_looks_like(void **state)
{
    (void)state;
    check_page("\xEF\xBB\xBF\n<!DOCTYPE HTML><p>a", NULL, "a");
    check_page("<html><p>a", "", "a");
    check_page("<?xml version='1.0'?><html><p>a<br/>b</p></html>", NULL, "a\nb");
    check_page("a <b>", NULL, "a <b>");
}

static void check_refused(str bytes, const char *type, const char *word)
{
    struct page page;
    struct err e;

    assert_int_equal(page_fixture_try(bytes, type, 1000, &page, &e), -1);
    assert_non_null(strstr(e.msg, word));
}

static void what_is_no_text_is_refused(void **state)
{
    (void)state;
    check_refused(STR("%PDF-1.7"), "application/pdf", "(application/pdf)");
    check_refused(STR("x"), "Image/PNG; q=1", "(Image/PNG)");
    check_refused(STR("x"), "a\n\x1B/b", "(a /b)");
    check_refused(STR("\x7F"
                      "ELF\0\0"),
                  NULL, "(unknown type)");
    check_refused(STR("a\0b"), "text/plain", "(text/plain)");
    check_refused(STR("a\0b"), "text/html", "(text/html)");
}

/* ---- charsets */

static const struct {
    const char *type, *bytes, *text;
} charsets[] = {
    {"text/plain", "caf\xC3\xA9", "café"},
    {"text/plain", "caf\xE9 \x80 \x93q\x94", "café € “q”"},
    {"text/plain; charset=\"UTF-8\"", "caf\xE9!", "caf\xEF\xBF\xBD!"},
    {"text/plain;charset=ISO-8859-1", "caf\xC3\xA9", "cafÃ©"},
    {"text/plain; charset=windows-1251", "\xCF\xF0\xE8\xE2\xE5\xF2", "Привет"},
    {"text/plain; charset=shift_jis", "\x93\xFA\x96\x7B", "日本"},
    {"text/plain; charset=gb2312", "\xC4\xE3\xBA\xC3", "你好"},
    {"text/plain; charset=euc-kr", "\xC7\xD1", "한"},
    {"text/plain; charset=big5", "\xA7\x41", "你"},
    {"text/plain; charset=no-such-charset", "caf\xC3\xA9", "café"},
    {"text/plain; charset=no-such-charset", "caf\xE9", "café"},
    {"text/plain; charset=UTF-7", "a+AGE-", "a+AGE-"},
    {"text/plain; charset=windows-1251",
     "\xEF\xBB\xBF"
     "caf\xC3\xA9",
     "café"},
    {"text/html", "<meta charset=windows-1251>\xCF", "П"},
    {"text/html", "<META http-equiv=content-type content='text/html; CHARSET = koi8-r'>\xF0", "П"},
    {"text/html", "<!-- <meta charset=koi8-r> --><meta charset='windows-1251'>\xCF", "П"},
    {"text/html; charset=utf-8", "<meta charset=windows-1251>é", "é"},
    {"text/html", "<meta charset=nonsense>\xE9", "é"},
    {"text/html", "<meta charset=utf-16>é", "é"},
    {"text/plain; charset=shift_jis", "a\x93", "a\xEF\xBF\xBD"},
    {"text/plain; charset=euc-jp", "z\xFF\xFEz", "z\xEF\xBF\xBD\xEF\xBF\xBDz"},
};

static void each_page_is_read_in_its_charset(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(charsets); i++)
        check_page(charsets[i].bytes, charsets[i].type, charsets[i].text);
}

static void utf_16_is_known_by_its_mark_or_its_name(void **state)
{
    static const struct {
        const char *type;
        str bytes;
    } pages[] = {
        {"text/plain", STR_INIT("\xFF\xFE"
                                "h\0i\0")},
        {"text/plain", STR_INIT("\xFE\xFF\0h\0i")},
        {"text/plain; charset=utf-16le", STR_INIT("h\0i\0")},
        {"text/plain; charset=utf-16be", STR_INIT("\0h\0i")},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(pages); i++) {
        struct page page = page_fixture(pages[i].bytes, pages[i].type);

        assert_str_c(page.lines[0], "hi");
        page_fini(&page);
    }
}

/* The part of a character at the end is no reason to think that the page is not UTF-8. */
static void a_page_that_was_cut_in_a_character_is_still_utf_8(void **state)
{
    static const str whole = STR_INIT("é €\xF0\x9F\x98\x80");

    (void)state;
    for (size_t n = 0; n <= whole.len; n++) {
        struct page_source source = {.url = STR("https://example.org/"),
                                     .content_type = STR("text/plain"),
                                     .bytes = str_from(whole.p, n),
                                     .is_cut = true};
        struct page page;

        assert_int_equal(page_read(&source, &page, NULL), 0);
        assert_true(page.is_cut);
        if (page.n_lines > 0)
            assert_true(str_starts_with(whole, page.lines[0]));
        page_fini(&page);
    }
}

/* ---- lines */

static void check_lengths(const struct page *page)
{
    for (size_t i = 0; i < page->n_lines; i++) {
        assert_true(utf8_is_valid(page->lines[i]));
        assert_true(utf8_count(page->lines[i]) <= PAGE_LINE_CHARS);
    }
}

/* n times the text, read as that type. */
static struct page repeated(const char *text, size_t n, const char *type)
{
    struct buf all = {.limit = 0};
    struct page page;

    for (size_t i = 0; i < n; i++)
        buf_c(&all, text);
    page = page_fixture(buf_str(&all), type);
    buf_fini(&all);
    check_lengths(&page);
    return page;
}

static void lines_end_between_words(void **state)
{
    struct page page = repeated("word ", 100, "text/html");

    (void)state;
    assert_int_equal(page.n_lines, 5);
    for (size_t i = 0; i + 1 < page.n_lines; i++) {
        assert_int_equal(page.lines[i].len, 119); /* 24 words */
        assert_true(str_ends_with(page.lines[i], STR(" word")));
    }
    page_fini(&page);
}

static void a_word_that_fills_a_line_is_not_cut(void **state)
{
    char text[PAGE_LINE_CHARS + 4];
    struct page page;

    (void)state;
    memset(text, 'x', sizeof(text));
    memcpy(text + PAGE_LINE_CHARS, " y", 3);
    page = page_fixture(str_from_c(text), "text/plain");
    assert_int_equal(page.n_lines, 2);
    assert_int_equal(page.lines[0].len, PAGE_LINE_CHARS);
    assert_str_c(page.lines[1], "y");
    page_fini(&page);
}

static void what_has_no_spaces_is_cut_between_characters(void **state)
{
    struct page page = repeated("x", 250, "text/plain");

    (void)state;
    assert_int_equal(page.n_lines, 3);
    page_fini(&page);
    page = repeated("日", 250, "text/plain; charset=utf-8");
    assert_int_equal(page.n_lines, 3);
    assert_int_equal(utf8_count(page.lines[0]), PAGE_LINE_CHARS);
    page_fini(&page);
}

static void a_link_is_never_torn(void **state)
{
    (void)state;
    for (size_t before = 0; before < 130; before++) {
        struct buf html = {.limit = 0};
        struct page page;

        for (size_t i = 0; i < before; i++)
            buf_char(&html, i % 7 == 6 && before % 2 == 0 ? ' ' : 'x');
        buf_c(&html, "<a href=/x>the text of a link that has some words</a>, text");
        page = page_fixture(buf_str(&html), "text/html");
        check_lengths(&page);
        assert_int_equal(page.n_links, 1);
        for (size_t i = 0; i < page.n_lines; i++)
            assert_true((str_find(page.lines[i], STR("【")) < page.lines[i].len) ==
                        (str_find(page.lines[i], STR("】")) < page.lines[i].len));
        page_fini(&page);
        buf_fini(&html);
    }
}

static void a_long_link_becomes_a_link_and_text(void **state)
{
    (void)state;
    check_page("<a href=/x>a link whose text has far more words than are of any use for a link, as "
               "those of whole teasers have</a>",
               "text/html",
               "【0†a link whose text has far more words than are of any use for a link, as】 "
               "those of whole teasers have");
}

/* ---- limits */

static void text_beyond_the_limit_is_left_out(void **state)
{
    struct page page;
    struct err e;

    (void)state;
    assert_int_equal(page_fixture_try(STR("<p>one<p>two<p>three"), "text/html", 9, &page, &e), 0);
    assert_true(page.is_cut);
    assert_int_equal(page.n_lines, 3);
    assert_str_c(page.lines[2], "two");
    page_fini(&page);
    assert_int_equal(page_fixture_try(STR("one\ntwo\nthree"), "text/plain", 9, &page, &e), 0);
    assert_true(page.is_cut);
    assert_int_equal(page.n_lines, 2);
    page_fini(&page);
    assert_int_equal(page_fixture_try(STR("one\ntwo"), "text/plain", 8, &page, &e), 0);
    assert_false(page.is_cut);
    page_fini(&page);
}

static void the_number_of_links_has_a_limit(void **state)
{
    struct page page = repeated("<a href=/x>y</a> ", 5000, "text/html");

    (void)state;
    assert_int_equal(page.n_links, 4096);
    assert_true(str_ends_with(page.lines[page.n_lines - 1], STR("y y y")));
    page_fini(&page);
}

/* Each of these takes a parser minutes or its stack that looks back at what came before. */
static const char *const floods[] = {
    "<div>",
    "<b>",
    "</b>",
    "<ul><li>",
    "<table><tr><td>",
    "<a href=/x>",
    "<span hidden>",
    "<p hidden>x",
    "<!--",
    "<![CDATA[",
    "<script>",
    "<a b",
    " a=b",
    "&",
    "&a",
    "&#",
    "<",
    "</",
    "<!",
    "<base href=/>",
    "<b x='",
    "<pre>\n",
    "<svg>",
    "<td>x",
    "【1†x】",
};

static void no_repeated_text_is_too_much(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(floods); i++) {
        struct page page = repeated(floods[i], (1 << 20) / strlen(floods[i]), "text/html");

        page_fini(&page);
    }
}

static void tags_that_nothing_matches_cost_no_more(void **state)
{
    static const char *const pairs[][2] = {
        {"<b>", "</i>"}, {"<div>", "</span>"}, {"<div>", "</li>"}, {"<a ", "a1 "}, {"<p>", "<b>"}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        struct buf html = {.limit = 0};
        struct page page;

        while (html.len < 1 << 19)
            buf_c(&html, pairs[i][0]);
        while (html.len < 1 << 20)
            buf_c(&html, pairs[i][1]);
        page = page_fixture(buf_str(&html), "text/html");
        page_fini(&page);
        buf_fini(&html);
    }
}

/* ---- the table */

static void every_element_is_found_by_its_name(void **state)
{
    static const char *const names[] = {
#define ELEMENT(name, group, flags) name,
#include "search/page_element.def"
#undef ELEMENT
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_str_c(page_element(str_from_c(names[i]))->name, names[i]);
    assert_str_c(page_element(STR("b"))->name, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_stays_as_it_is),
        cmocka_unit_test(a_page_without_a_type_is_what_it_looks_like),
        cmocka_unit_test(what_is_no_text_is_refused),
        cmocka_unit_test(each_page_is_read_in_its_charset),
        cmocka_unit_test(utf_16_is_known_by_its_mark_or_its_name),
        cmocka_unit_test(a_page_that_was_cut_in_a_character_is_still_utf_8),
        cmocka_unit_test(lines_end_between_words),
        cmocka_unit_test(a_word_that_fills_a_line_is_not_cut),
        cmocka_unit_test(what_has_no_spaces_is_cut_between_characters),
        cmocka_unit_test(a_link_is_never_torn),
        cmocka_unit_test(a_long_link_becomes_a_link_and_text),
        cmocka_unit_test(text_beyond_the_limit_is_left_out),
        cmocka_unit_test(the_number_of_links_has_a_limit),
        cmocka_unit_test(no_repeated_text_is_too_much),
        cmocka_unit_test(tags_that_nothing_matches_cost_no_more),
        cmocka_unit_test(every_element_is_found_by_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
