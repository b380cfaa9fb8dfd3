/* test_page_html.c -- what a model reads of HTML: exact lines. */
#include "unit/page_fixture.h"

/* ---- blocks, words, marks */

static const struct {
    const char *html, *lines;
} texts[] = {
    {"", ""},
    {"one  two\n\tthree", "one two three"},
    {"<p>one<p>two", "one\n\ntwo"},
    {"<div>one</div><div>two</div>", "one\ntwo"},
    {"one<br>two<br><br>three<br/>four", "one\ntwo\n\nthree\nfour"},
    {"<p></p><div><p> </p></div>x", "x"},
    {"<b>bo</b>ld <i>it</i>", "bold it"},
    {"a<!-- no -->b<!-->c<!--->d<!-- --!>e<? no ?>f<!no>g</ no>h", "abcdefgh"},
    {"a < b <3 <> c", "a < b <3 <> c"},
    {"<h1>One</h1><h3>Three</h3>text", "# One\n\n### Three\n\ntext"},
    {"<h2></h2>text", "text"},
    {"<ul><li>one<li>two</ul>end", "* one\n* two\n\nend"},
    {"<ol><li>one</li><li>two<ul><li>deep</ul></li><li>three</ol>",
     "1. one\n2. two\n  * deep\n3. three"},
    {"<ul><li><p>one</p><p>more</p></li><li></li><li>two</ul>", "* one\n\nmore\n\n* two"},
    {"<dl><dt>word<dd>meaning<dt>other<dd>more</dl>", "word\nmeaning\nother\nmore"},
    {"<pre>\n a\n\n\tb  c\n</pre>d", " a\n\n\tb  c\n\nd"},
    {"<pre>a\r\nb</pre>", "a\nb"},
    {"a<hr>b<blockquote>c</blockquote>d", "a\n\nb\n\nc\n\nd"},
    {"<img src=x alt='A  cat'><img src=y alt=''><img src=z>", "[Image: A cat]"},
    {"a&nbsp;b&amp;c&lt;p&gt;&copy&#8364;&#x41;&#150;&#0;", "a b&c<p>©€A–\xEF\xBF\xBD"},
    {"&nosuch; &amp &ampx &lang=en &#; &#x; & &;", "&nosuch; & &ampx &lang=en &#; &#x; & &;"},
    {"&#99999999999; &#xD800;", "\xEF\xBF\xBD \xEF\xBF\xBD"},
    {"so\xC2\xAD"
     "ft ze\xE2\x80\x8Bro\xEF\xBB\xBF b\x01\x1B[31me\xC2\x9B"
     "l",
     "soft zero b[31mel"},
    {"bad \xFF\xC3 bytes", "bad \xC3\xBF\xC3\x83 bytes"},
};

static void each_text_becomes_exactly_these_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        check_page(texts[i].html, "text/html", texts[i].lines);
}

/* ---- tables */

static const struct {
    const char *html, *lines;
} tables[] = {
    {"<table><tr><th>k<th>v<tr><td>1<td>2</table>", "k | v\n1 | 2"},
    {"<table><tbody><tr><td><p>a</p></td><td><p>b</p><p>c</p></td></tr></tbody></table>d",
     "a | b\n\nc\n\nd"},
    {"<table><tr><td>a<td><td>c<td></tr><tr><td><td>b</table>", "a |  | c\n| b"},
    {"<table><tr><td></td><td> </td></tr></table>x", "x"},
    {"<table><tr><td>a<table><tr><td>b<td>c</table><td>d</table>", "a\n\nb | c\n\nd"},
};

static void each_table_becomes_exactly_these_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        check_page(tables[i].html, "text/html", tables[i].lines);
}

/* ---- what is not shown */

static const char *const hidden[] = {
    "<script>var a = '<p>no</p>'; if (a</b) x</script>",
    "<SCRIPT type=a>no</scripting> no</SCRIPT >",
    "<style>no { }</style>",
    "<noscript><p>no</p></noscript>",
    "<template><div>no</div></template>",
    "<svg><title>no</title><path d='x'/><g>no</g></svg>",
    "<svg/>",
    "<textarea>no</textarea><select><option>no<option>no</select>",
    "<iframe>no</iframe><video>no</video><object>no</object>",
    "<div hidden>no<div>no</div>no</div>",
    "<div HIDDEN=until-found>no</div>",
    "<span style='color: red; display:none'>no <span>no</span> no</span>",
    "<span style=\"visibility: hidden\">no</span>",
    "<x-thing aria-hidden=true><b>no</x-thing>",
    "<a hidden href=/no>no</a>",
    "<h1 hidden>no</h1>",
    "<dialog>no</dialog>",
    "<!doctype html>",
};

static void what_is_hidden_leaves_nothing_behind(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(hidden); i++) {
        char html[200];

        (void)snprintf(html, sizeof(html), "<div>a%sb", hidden[i]);
        check_page(html, "text/html", "ab");
    }
}

static void a_hidden_paragraph_or_item_hides_no_other(void **state)
{
    (void)state;
    check_page("<p hidden>no<p>yes", "text/html", "yes");
    check_page("<p hidden>no<div>yes</div>", "text/html", "yes");
    check_page("<ul><li hidden>no<ul><li>no</ul><li>yes</ul>", "text/html", "* yes");
    check_page("<table><tr hidden><td>no<tr><td>yes</table>", "text/html", "yes");
    check_page("<table><tr><td hidden>no<td>yes</table>", "text/html", "yes");
    check_page("<dl><dt hidden>no<dd>yes</dl>", "text/html", "yes");
    check_page("<div><span hidden>no</div>yes", "text/html", "yes");
}

static void what_is_never_closed_ends_with_the_page(void **state)
{
    (void)state;
    check_page("a<script>no", "text/html", "a");
    check_page("a<!-- no", "text/html", "a");
    check_page("a<div title='no>no", "text/html", "a");
    check_page("a<b", "text/html", "a");
    check_page("a</", "text/html", "a");
    check_page("a<", "text/html", "a<");
}

/* ---- the title */

static void check_title(const char *html, const char *title)
{
    struct page page = page_fixture(str_from_c(html), "text/html");

    assert_str_c(page.title, title);
    page_fini(&page);
}

static void the_first_title_that_says_something_is_the_title(void **state)
{
    (void)state;
    check_title("<title>\n A &amp; B\t C </title>", "A & B C");
    check_title("<title></title><title>a<b></title><title>c</title>", "a<b>");
    check_title("<svg><title>no</title></svg><p>text", "");
    check_title("<title>\xE3\x80\x90"
                "1\xE2\x80\xA0x\xE3\x80\x91</title>",
                "\xE3\x80\x94"
                "1\xE2\x80\xA0x\xE3\x80\x95");
}

/* ---- links */

static const struct {
    const char *href, *url;
} hrefs[] = {
    {"other", "https://example.org/dir/other"},
    {"../up", "https://example.org/up"},
    {"/top?a=1&amp;b=2", "https://example.org/top?a=1&b=2"},
    {"?q", "https://example.org/dir/page?q"},
    {"//cdn.example/x", "https://cdn.example/x"},
    {"HTTP://Other.example/X#frag", "http://Other.example/X"},
    {" \n/a b\t", "https://example.org/a%20b"},
    {"/caf\xC3\xA9", "https://example.org/caf%c3%a9"},
};

static void links_are_numbered_and_absolute(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(hrefs); i++) {
        char html[200];
        struct page page;

        (void)snprintf(html, sizeof(html), "<a href=\"%s\">its <b>text</b> </a>.", hrefs[i].href);
        page = page_fixture(str_from_c(html), "text/html; charset=utf-8");
        assert_int_equal(page.n_links, 1);
        assert_str_c(page.links[0].url, hrefs[i].url);
        assert_str_c(page.links[0].text, "its text");
        assert_str_c(page.lines[0], "【0†its text】 .");
        page_fini(&page);
    }
}

static const char *const no_links[] = {
    "<a href='javascript:alert(1)'>text</a>",
    "<a href=' JaVa\nScript:alert(1)'>text</a>",
    "<a href='&#106;avascript:alert(1)'>text</a>",
    "<a href='mailto:x@example.org'>text</a>",
    "<a href='data:text/html,x'>text</a>",
    "<a href='file:///etc/passwd'>text</a>",
    "<a href='ftp://example.org/'>text</a>",
    "<a href='#here'>text</a>",
    "<a href=''>text</a>",
    "<a name=x>text</a>",
    "<a href='http://'>text</a>",
    "<a href='/x'></a><a href='/y'> </a>text",
};

static void what_leads_nowhere_in_the_web_is_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(no_links); i++) {
        struct page page = page_fixture(str_from_c(no_links[i]), "text/html");

        assert_int_equal(page.n_links, 0);
        assert_int_equal(page.n_lines, 1);
        assert_str_c(page.lines[0], "text");
        page_fini(&page);
    }
}

static void a_base_moves_the_links_behind_it(void **state)
{
    struct page page = page_fixture(
        STR("<base href='//b.example/x/'><base href=/no><a href=1>a</a> <a href=2>b"), "text/html");

    (void)state;
    assert_int_equal(page.n_links, 2);
    assert_str_c(page.links[0].url, "https://b.example/x/1");
    assert_str_c(page.lines[0], "【0†a】 【1†b】");
    page_fini(&page);
}

static void a_link_ends_with_its_line(void **state)
{
    (void)state;
    check_page("<a href=/x><div>Card</div><p>what it is</p></a>", "text/html",
               "【0†Card】\n\nwhat it is");
    check_page("<a href=/x>one<a href=/y>two", "text/html", "【0†one】【1†two】");
    check_page("<a href=/x><img alt=Logo></a>", "text/html", "【0†[Image: Logo]】");
}

static void a_page_cannot_forge_links_or_citations(void **state)
{
    (void)state;
    check_page("【0†fake】 &#x3010;5†L1&#12305; <img alt='【1†x】'>", "text/html; charset=utf-8",
               "〔0†fake〕 〔5†L1〕 [Image: 〔1†x〕]");
}

/* ---- XHTML */

static void xhtml_may_close_a_tag_in_itself(void **state)
{
    (void)state;
    check_page("<?xml version='1.0'?><html><head><title/><script src='x'/></head><body>"
               "<div hidden='hidden'/><p>a<![CDATA[<b> & c]]></p></body></html>",
               "application/xhtml+xml", "a<b> & c");
    check_page("<p>a<![CDATA[no]]>b", "text/html", "ab");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_text_becomes_exactly_these_lines),
        cmocka_unit_test(each_table_becomes_exactly_these_rows),
        cmocka_unit_test(what_is_hidden_leaves_nothing_behind),
        cmocka_unit_test(a_hidden_paragraph_or_item_hides_no_other),
        cmocka_unit_test(what_is_never_closed_ends_with_the_page),
        cmocka_unit_test(the_first_title_that_says_something_is_the_title),
        cmocka_unit_test(links_are_numbered_and_absolute),
        cmocka_unit_test(what_leads_nowhere_in_the_web_is_text),
        cmocka_unit_test(a_base_moves_the_links_behind_it),
        cmocka_unit_test(a_link_ends_with_its_line),
        cmocka_unit_test(a_page_cannot_forge_links_or_citations),
        cmocka_unit_test(xhtml_may_close_a_tag_in_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
