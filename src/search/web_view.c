/* web_view.c -- a page from one line to another. */
#include "search/web_view.h"

#include "search/page_char.h"

enum { NUMBER_BYTES = 10 }; /* of a line: "L123456: " and its end */

void web_head_write(const struct web_view *v, struct buf *out)
{
    const struct page *page = v->page;

    buf_char(out, '[');
    buf_uint(out, v->cursor);
    buf_char(out, ']');
    if (page->title.len > 0) {
        buf_char(out, ' ');
        buf_append(out, page->title);
    }
    if (page->url.len > 0) {
        buf_append(out, STR(" ("));
        page_tame(page->url, URL_MAX_BYTES, out);
        buf_char(out, ')');
    }
    buf_char(out, '\n');
}

/* The line behind the last one that fits. */
static size_t end_of_view(const struct web_view *v)
{
    const struct page *page = v->page;
    size_t end = v->first_line, bytes = 0;

    while (end < page->n_lines && (v->n_lines == 0 || end - v->first_line < v->n_lines)) {
        bytes += page->lines[end].len + NUMBER_BYTES;
        if (end > v->first_line && bytes > v->max_bytes)
            break;
        end++;
    }
    return end;
}

static void write_lines(const struct web_view *v, size_t end, struct buf *out)
{
    for (size_t i = v->first_line; i < end; i++) {
        buf_append(out, STR("\nL"));
        buf_uint(out, i);
        buf_append(out, STR(": "));
        buf_append(out, v->page->lines[i]);
    }
}

/* A hint for models of other families, which have not learnt how to go on. */
static void write_rest(const struct web_view *v, size_t end, struct buf *out)
{
    if (end < v->page->n_lines) {
        buf_append(out, STR("\n\n(There is more: open_page with cursor "));
        buf_uint(out, v->cursor);
        buf_append(out, STR(" and loc "));
        buf_uint(out, end);
        buf_append(out, STR(".)"));
    } else if (v->page->is_cut) {
        buf_append(out, STR("\n\n(The page is longer than what could be read of it.)"));
    }
}

void web_view_write(const struct web_view *v, struct buf *out)
{
    size_t end = end_of_view(v);

    web_head_write(v, out);
    if (v->page->n_lines == 0) {
        buf_append(out, STR("**there is no text on this page**"));
        return;
    }
    buf_append(out, STR("**viewing lines ["));
    buf_uint(out, v->first_line);
    buf_append(out, STR(" - "));
    buf_uint(out, end - 1);
    buf_append(out, STR("] of "));
    buf_uint(out, v->page->n_lines - 1); /* the number of the last, as models have learnt it */
    buf_append(out, STR("**\n"));
    write_lines(v, end, out);
    write_rest(v, end, out);
}
