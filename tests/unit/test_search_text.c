/* test_search_text.c -- titles and snippets as services write them, as plain text. */
#include "search/search_text.h"

#include "base/utf8.h"
#include "lib/fixture.h"
#include "lib/test.h"

static struct arena arena;

static int teardown(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static str plain(str text, size_t limit)
{
    char *copy = exact_copy(text);
    str result = search_text_plain(str_from(copy, text.len), limit, &arena);

    free(copy);
    assert_false(str_is_none(result));
    assert_true(utf8_is_valid(result));
    return result;
}

static void check(const char *text, const char *expected)
{
    assert_str_c(plain(str_from_c(text), 1000), expected);
}

static void tags_of_emphasis_and_layout_go(void **state)
{
    (void)state;
    check("the <strong>gateway</strong> of <em>two</em> APIs", "the gateway of two APIs");
    check("one<br>two<br/>three<BR />four", "one two three four");
    check("<p>one</p><p class=\"x\">two</p>", "one two");
    check("<a href='https://x.example/?a>b'>", "b'>");
    check("un<b>believ</b>able", "unbelievable");
}

static void what_is_no_such_tag_stays(void **state)
{
    static const char *const texts[] = {
        "a < b and b > a", "vector<int> v", "<stdio.h>", "<",   "<b",
        "x <strong",       "<bold>",        "< b>",      "</>", "1<2",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        check(texts[i], texts[i]);
}

static void entities_are_read_once(void **state)
{
    (void)state;
    check("R&amp;D &lt;b&gt; &quot;x&quot; &#39;y&#x27; &apos;z&apos;", "R&D <b> \"x\" 'y' 'z'");
    check("caf&eacute; &hellip; 5&nbsp;km", "caf\xc3\xa9 \xe2\x80\xa6 5 km");
    check("&amp;amp; &amp;lt;", "&amp; &lt;");
    check("&#128512;", "\xf0\x9f\x98\x80");
    check("AT&T; &unknown; & &; &#; &#x; &#zz; &#99999999;",
          "AT&T; &unknown; & &; &#; &#x; &#zz; \xef\xbf\xbd");
    check("a&#0;b&#7;c&#x9b;d&#xd800;", "a\xef\xbf\xbd"
                                        "b c\xe2\x80\xba"
                                        "d\xef\xbf\xbd");
}

static void control_characters_and_runs_of_space_are_one_space(void **state)
{
    (void)state;
    check("  a \t\r\n\n b\x1b[31m \xc2\x9b c \x7f", "a b [31m c");
    check("\n\t ", "");
    assert_str_c(plain(STR("a\0b"), 10), "a b");
}

static void malformed_utf8_is_replaced(void **state)
{
    (void)state;
    check("a\xff\xc3", "a\xef\xbf\xbd\xef\xbf\xbd");
    check("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

static void the_limit_cuts_between_characters(void **state)
{
    (void)state;
    assert_str_c(plain(STR("abcdef"), 3), "abc");
    assert_str_c(plain(STR("ab\xe2\x82\xac"), 4), "ab");
    assert_str_c(plain(STR("ab cd"), 3), "ab");
    assert_str_c(plain(STR("abc"), 3), "abc");
}

static void no_memory_is_told(void **state)
{
    struct arena small;

    (void)state;
    arena_init(&small, 8);
    assert_true(str_is_none(search_text_plain(STR("far too long for it"), 100, &small)));
    arena_fini(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(tags_of_emphasis_and_layout_go, teardown),
        cmocka_unit_test_teardown(what_is_no_such_tag_stays, teardown),
        cmocka_unit_test_teardown(entities_are_read_once, teardown),
        cmocka_unit_test_teardown(control_characters_and_runs_of_space_are_one_space, teardown),
        cmocka_unit_test_teardown(malformed_utf8_is_replaced, teardown),
        cmocka_unit_test_teardown(the_limit_cuts_between_characters, teardown),
        cmocka_unit_test_teardown(no_memory_is_told, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
