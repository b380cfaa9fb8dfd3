/* web_list.c -- a result reads
 *
 *     【0†Title†host】
 *     https://host/path
 *     what the page says, as far as it matters
 *     Date: 2026-01-02
 *
 * Services are strangers as well: all they say is tamed. */
#include "search/web_list.h"

#include "base/url.h"
#include "search/page_char.h"
#include "search/page_lines.h"

enum {
    TITLE_CHARS = 70, /* title, host and brackets fit into one line */
    HOST_CHARS = 36,
    URL_CHARS = 2048,
    SNIPPET_CHARS = 4000,
    DATE_CHARS = 40,
    QUERY_CHARS = 200,
    MAX_TEXT_BYTES = 256 * 1024,
};

/* "host:port" of a URL. */
static str shown_host(str url)
{
    struct url u = url_split(url);

    return str_skip(u.authority, (size_t)(u.host.p - u.authority.p));
}

/* Adds one paragraph; nothing when the text is empty. */
static void add_paragraph(struct page_lines *l, const char *before, str text, size_t max_chars)
{
    struct buf line = {.limit = 0};
    size_t n;

    buf_c(&line, before);
    n = line.len;
    page_tame(text, max_chars, &line);
    if (line.len > n)
        page_lines_add(l, buf_str(&line));
    l->text.failed = l->text.failed || buf_failed(&line);
    buf_fini(&line);
}

static void add_link(struct page_lines *l, size_t number, const struct search_result *r)
{
    struct buf line = {.limit = 0};

    buf_append(&line, STR(PAGE_OPEN));
    buf_uint(&line, number);
    buf_append(&line, STR(PAGE_DAGGER));
    page_tame(r->title.len > 0 ? r->title : r->url, TITLE_CHARS, &line);
    buf_append(&line, STR(PAGE_DAGGER));
    page_tame(shown_host(r->url), HOST_CHARS, &line);
    buf_append(&line, STR(PAGE_CLOSE));
    page_lines_add(l, buf_str(&line));
    l->text.failed = l->text.failed || buf_failed(&line);
    buf_fini(&line);
}

static void add_result(struct page_lines *l, size_t number, const struct search_result *r)
{
    add_link(l, number, r);
    add_paragraph(l, "", r->url, URL_CHARS);
    add_paragraph(l, "", r->snippet, SNIPPET_CHARS);
    add_paragraph(l, "Date: ", r->date, DATE_CHARS);
    page_lines_add(l, STR(""));
}

/* ---- the list */

static str tamed_copy(str text, size_t max_chars, struct arena *a)
{
    struct buf out = {.limit = 0};
    str copy;

    page_tame(text, max_chars, &out);
    copy = buf_failed(&out) ? STR_NONE : arena_dup(a, buf_str(&out));
    buf_fini(&out);
    return copy;
}

static bool keep_result(const struct search_result *r, struct arena *a, struct web_source *source,
                        struct page *page)
{
    struct page_link *link = &page->links[page->n_links++];

    source->url = arena_dup(a, r->url);
    source->title = tamed_copy(r->title.len > 0 ? r->title : r->url, QUERY_CHARS, a);
    link->url = arena_dup(&page->arena, r->url);
    link->text = arena_dup(&page->arena, source->title);
    return !str_is_none(source->url) && !str_is_none(source->title) && !str_is_none(link->url) &&
           !str_is_none(link->text);
}

static bool fill_list(const struct search_results *results, struct arena *a, struct web_list *list,
                      struct page *page)
{
    size_t n = results->n < WEB_MAX_RESULTS ? results->n : WEB_MAX_RESULTS;
    struct web_source *sources = arena_array(a, n + 1, sizeof(*sources));
    size_t *first_lines = arena_array(a, n + 1, sizeof(*first_lines));
    struct page_lines lines = {.max_bytes = MAX_TEXT_BYTES};
    bool is_ok;

    page->links = arena_array(&page->arena, n + 1, sizeof(*page->links));
    is_ok = sources != NULL && first_lines != NULL && page->links != NULL;
    for (size_t i = 0; is_ok && i < n; i++) {
        first_lines[i] = lines.n;
        add_result(&lines, i, &results->v[i]);
        is_ok = keep_result(&results->v[i], a, &sources[i], page);
    }
    if (n == 0)
        page_lines_add(&lines, STR("No results. Other words may find more."));
    *list = (struct web_list){.results = sources, .first_lines = first_lines, .n = n};
    return page_lines_end(&lines, page) && is_ok;
}

static int read_answer(str text, struct page *ret)
{
    struct page_source source = {.url = STR(""),
                                 .content_type = STR("text/plain; charset=utf-8"),
                                 .bytes = text,
                                 .max_text_bytes = MAX_TEXT_BYTES};

    return page_read(&source, ret, NULL);
}

int web_list_make(str query, const struct search_results *results, struct arena *a,
                  struct web_list *ret, struct page *ret_page)
{
    static const char title[] = "Search results for ";
    struct page page = {.n_lines = 0};
    struct buf text = {.limit = 0};
    bool is_ok;

    *ret = (struct web_list){.n = 0};
    if (str_is_none(results->text))
        is_ok = fill_list(results, a, ret, &page);
    else
        is_ok = read_answer(results->text, &page) == 0;
    buf_c(&text, title);
    page_tame(query, QUERY_CHARS, &text);
    page.title = buf_failed(&text) ? STR_NONE : arena_dup(&page.arena, buf_str(&text));
    page.url = STR("");
    buf_fini(&text);
    if (!is_ok || str_is_none(page.title)) {
        page_fini(&page);
        return -1;
    }
    *ret_page = page;
    return 0;
}

const struct web_source *web_list_at(const struct web_list *list, int64_t line)
{
    const struct web_source *found = NULL;

    for (size_t i = 0; i < list->n && line >= 0 && list->first_lines[i] <= (uint64_t)line; i++)
        found = &list->results[i];
    return found;
}
