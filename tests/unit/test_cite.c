/* test_cite.c -- markers that cite a page, in any cutting, and the links that replace them. */
#include "lib/test.h"

#include "json/json_read.h"
#include "lib/cite_run.h"
#include "text/cite.h"

#define OPEN   "\xE3\x80\x90"
#define CLOSE  "\xE3\x80\x91"
#define DAGGER "\xE2\x80\xA0"

static const struct {
    const char *text, *found; /* escaped; in the form of cite_run.h */
} cases[] = {
    {"a " OPEN "3" DAGGER "L5-L9" CLOSE ".", "a {3 5 9}."},
    {OPEN "0" DAGGER "L5" CLOSE, "{0 5 5}"},
    {OPEN "3" DAGGER "source" CLOSE, "{3 -1 -1}"},
    {OPEN "123456789" CLOSE, "{123456789 -1 -1}"},
    {OPEN "3" DAGGER "L5-9" CLOSE, "{3 5 9}"},
    {OPEN "3" DAGGER "L5\xE2\x80\x93L9" CLOSE, "{3 5 9}"},
    {OPEN "1" DAGGER "L0-L123456789" CLOSE OPEN "2" CLOSE, "{1 0 123456789}{2 -1 -1}"},
    {"\\u30103\\u2020L5-L9\\u3011\\n", "{3 5 9}\\n"},
    {"\\u3010"
     "3" DAGGER "L5\\u2013L9" CLOSE,
     "{3 5 9}"},
    /* what is none */
    {"", ""},
    {"\\\\u30103\\u3011", "\\\\u30103\\u3011"}, /* the backslash itself is escaped */
    {OPEN CLOSE, OPEN CLOSE},
    {OPEN "a" CLOSE, OPEN "a" CLOSE},
    {OPEN " 3" CLOSE, OPEN " 3" CLOSE},
    {OPEN "-3" CLOSE, OPEN "-3" CLOSE},
    {OPEN "1234567890" CLOSE, OPEN "1234567890" CLOSE},
    {OPEN "3:0" DAGGER "source" CLOSE, OPEN "3:0" DAGGER "source" CLOSE},
    {OPEN "3" DAGGER CLOSE, OPEN "3" DAGGER CLOSE},
    {OPEN "3" DAGGER "5" CLOSE, OPEN "3" DAGGER "5" CLOSE},
    {OPEN "3" DAGGER "L" CLOSE, OPEN "3" DAGGER "L" CLOSE},
    {OPEN "3" DAGGER "L5-" CLOSE, OPEN "3" DAGGER "L5-" CLOSE},
    {OPEN "3" DAGGER "L5-LL9" CLOSE, OPEN "3" DAGGER "L5-LL9" CLOSE},
    {OPEN "3" DAGGER "sources" CLOSE, OPEN "3" DAGGER "sources" CLOSE},
    {OPEN "3" DAGGER "L1234567890" CLOSE, OPEN "3" DAGGER "L1234567890" CLOSE},
    {OPEN "3" DAGGER "L5-L", OPEN "3" DAGGER "L5-L"}, /* it ends too early */
    {"\xE3\x81\x82\xE3\x80\x81", "\xE3\x81\x82\xE3\x80\x81"},
    /* one right behind what might have been one */
    {OPEN OPEN "3" CLOSE, OPEN "{3 -1 -1}"},
    {OPEN "3" OPEN "4" DAGGER "L1" CLOSE, OPEN "3{4 1 1}"},
    {OPEN "3" DAGGER "L5\\n" OPEN "4" CLOSE, OPEN "3" DAGGER "L5\\n{4 -1 -1}"},
};

static void check_case(size_t i, struct cutting cutting)
{
    struct cite_run run;

    cite_run(str_from_c(cases[i].text), cutting, &run);
    if (!str_eq(buf_str(&run.text), str_from_c(cases[i].found)))
        fail_msg("%s, first piece of %zu: %s", cases[i].text, cutting.first, buf_cstr(&run.text));
    assert_true(run.most_held <= CITE_MAX_BYTES);
    cite_run_fini(&run);
}

static void markers_are_found_in_any_cutting(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check_case(i, UNCUT);
        check_case(i, BYTE_BY_BYTE);
        for (size_t at = 1; at < strlen(cases[i].text); at++)
            check_case(i, CUT_AT(at));
    }
}

static void a_marker_begins_where_it_is_said_to(void **state)
{
    const str text = STR("a " OPEN "3" CLOSE OPEN "4");
    struct cite_found f = cite_find(text);

    (void)state;
    assert_int_equal(f.state, CITE_WHOLE);
    assert_int_equal(f.at, 2);
    assert_int_equal(f.end, 9);
    f = cite_find(str_skip(text, f.end));
    assert_int_equal(f.state, CITE_OPEN);
    assert_int_equal(f.at, 0);
    assert_int_equal(f.end, 4);
    f = cite_find(STR("abc"));
    assert_int_equal(f.state, CITE_NONE);
    assert_int_equal(f.at, 3);
}

/* ---- links */

static void links_are_safe_in_markdown(void **state)
{
    static const struct {
        const char *url, *link;
    } links[] = {
        {"https://example.com/a?b=1#c", "([example.com](https://example.com/a?b=1#c))"},
        {"http://WWW.Example.com", "([Example.com](http://WWW.Example.com))"},
        {"https://user:pw@www.example.com:8443/",
         "([example.com](https://user:pw@www.example.com:8443/))"},
        {"https://en.wikipedia.org/wiki/C_(language)",
         "([en.wikipedia.org](https://en.wikipedia.org/wiki/C_%28language%29))"},
        {"https://a.org/x y\"<z>\\\n%20", "([a.org](https://a.org/x%20y%22%3cz%3e%5c%0a%20))"},
        {"https://b\xC3\xBC"
         "cher.example/\xC3\xBC",
         "([b\xC3\xBC"
         "cher.example](https://b%c3%bccher.example/%c3%bc))"},
        {"https://good.example\\@evil.example/",
         "([source](https://good.example%5c@evil.example/))"},
        {"https://good.example@x@evil.example/",
         "([source](https://good.example@x@evil.example/))"},
        {"https://[::1]:80/", "([source](https://[::1]:80/))"},
        {"https://a](evil)/", "([source](https://a]%28evil%29/))"},
        {"https://www./", "([www.](https://www./))"},
        {"https://", "([source](https://))"},
        {"mailto:a@b", "([source](mailto:a@b))"},
        {"", "([source]())"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(links); i++) {
        struct buf out = {.limit = 0};

        cite_write_link(str_from_c(links[i].url), &out);
        assert_str_c(buf_str(&out), links[i].link);
        assert_true(jr_is_string_content(buf_str(&out)));
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markers_are_found_in_any_cutting),
        cmocka_unit_test(a_marker_begins_where_it_is_said_to),
        cmocka_unit_test(links_are_safe_in_markdown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
