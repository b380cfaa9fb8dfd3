/* test_page_fault.c -- pages and lists of results, with each allocation failing in turn.
 *
 * What is made is all there, or it is said that something is missing. */
#include "base/arena.h"
#include "base/buf.h"
#include "lib/failing_malloc.h"
#include "lib/test.h"
#include "search/web_list.h"
#include "search/web_view.h"

/* Returns whether it succeeded, with what it made in out. */
typedef bool run_fn(struct buf *out);

static bool show(struct page *page, struct buf *out)
{
    const struct web_view view = {.page = page, .max_bytes = 1000};

    web_view_write(&view, out);
    web_find_write(&view, STR("two"), out);
    page_fini(page);
    return !buf_failed(out);
}

static bool read_page(str type, str bytes, struct buf *out)
{
    struct page_source source = {
        .url = STR("https://example.org/"), .content_type = type, .bytes = bytes};
    struct page page;

    return page_read(&source, &page, NULL) == 0 && show(&page, out);
}

static bool read_html(struct buf *out)
{
    return read_page(STR("text/html"),
                     STR("<title>A &amp; B</title><h1>one</h1><ol><li><p>two</ol>caf\xE9 &copy;"
                         "<img alt=three><pre>\n a\n</pre><table><tr><td>x<td>y</table>"),
                     out);
}

static bool read_one_line(struct buf *out)
{
    return read_page(STR_NONE, STR("<html>text"), out);
}

static bool read_text(struct buf *out)
{
    return read_page(STR("text/plain; charset=windows-1251"), STR("one\n two\n\xCF"), out);
}

static bool make_list(struct buf *out)
{
    struct search_result results[] = {
        {STR("One"), STR("https://one.example/"), STR("says"), STR("2026")},
        {STR(""), STR("https://two.example/"), STR("two"), STR("")}};
    const struct search_results two = {.v = results, .n = 2, .text = STR_NONE};
    struct arena arena = {.limit = 0};
    struct web_list list;
    struct page page;
    bool ok = web_list_make(STR("query"), &two, &arena, &list, &page) == 0 && show(&page, out);

    if (ok)
        buf_append(out, web_list_at(&list, 5)->title);
    arena_fini(&arena);
    return ok && !buf_failed(out);
}

static void check(run_fn *run)
{
    struct buf whole = {.limit = 0}, out = {.limit = 0};
    bool ok = false;

    assert_true(run(&whole));
    for (long n = 0; !ok; n++) {
        buf_fini(&out);
        failing_malloc_begin(n, FAILS_ONCE);
        ok = run(&out);
        (void)failing_malloc_end();
        if (ok)
            assert_str_eq(buf_str(&out), buf_str(&whole));
    }
    buf_fini(&whole);
    buf_fini(&out);
}

static void whatever_is_missing_is_said(void **state)
{
    static run_fn *const runs[] = {read_html, read_one_line, read_text, make_list};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(runs); i++)
        check(runs[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_is_missing_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
