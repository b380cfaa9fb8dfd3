/* page_text.c -- all that is written goes through begin_text(), which does what was put off. */
#include "search/page_text.h"

#include "search/page_char.h"

enum {
    MAX_BARS = 64,
    LINK_BREAK_CHARS = 70, /* a link's text as long as this may end between two words */
};

void page_text_init(struct page_text *t, struct page *page, size_t max_bytes)
{
    *t = (struct page_text){.page = page, .link = STR_NONE, .lines = {.max_bytes = max_bytes}};
}

/* ---- links */

static struct page_link *new_link(struct page_text *t)
{
    struct page *page = t->page;

    if (page->n_links == t->cap_links) {
        size_t cap = t->cap_links == 0 ? 16 : t->cap_links * 2;
        struct page_link *links = arena_array(&page->arena, cap, sizeof(*links));

        if (links == NULL)
            return NULL;
        if (page->n_links > 0)
            memcpy(links, page->links, page->n_links * sizeof(*links));
        page->links = links;
        t->cap_links = cap;
    }
    return &page->links[page->n_links++];
}

static void open_link(struct page_text *t)
{
    struct page_link *link = new_link(t);

    if (link == NULL) {
        t->failed = true;
        t->link = STR_NONE;
        return;
    }
    *link = (struct page_link){.url = t->link, .text = STR("")};
    buf_append(&t->line, STR(PAGE_OPEN));
    buf_uint(&t->line, t->page->n_links - 1);
    buf_append(&t->line, STR(PAGE_DAGGER));
    t->is_link_open = true;
    t->link_at = t->line.len;
    t->link_chars = 0;
}

static void close_link(struct page_text *t)
{
    if (t->is_link_open && !buf_failed(&t->line)) {
        struct page_link *link = &t->page->links[t->page->n_links - 1];

        link->text = arena_dup(&t->page->arena, str_skip(buf_str(&t->line), t->link_at));
        t->failed = t->failed || str_is_none(link->text);
        buf_append(&t->line, STR(PAGE_CLOSE));
    }
    t->is_link_open = false;
}

void page_text_link(struct page_text *t, str url)
{
    page_text_link_end(t);
    t->link = t->page->n_links < PAGE_MAX_LINKS ? url : STR_NONE;
}

void page_text_link_end(struct page_text *t)
{
    close_link(t);
    t->link = STR_NONE;
}

/* ---- what was put off */

/* A link ends with its line. */
static void end_line(struct page_text *t)
{
    if (t->is_link_open)
        page_text_link_end(t);
    page_lines_add(&t->lines, buf_str(&t->line));
    t->failed = t->failed || buf_failed(&t->line);
    buf_reset(&t->line);
    t->wants_space = false;
}

static void do_break(struct page_text *t)
{
    if (t->wanted != BREAK_NONE && t->line.len > 0)
        end_line(t);
    if (t->wanted == BREAK_BLANK)
        page_lines_add(&t->lines, STR(""));
    t->wanted = BREAK_NONE;
}

static void write_bars(struct page_text *t)
{
    for (; t->bars > 0; t->bars--)
        buf_append(&t->line, t->line.len == 0 ? STR("| ") : STR(" | "));
    t->wants_space = false;
}

static void begin_line(struct page_text *t)
{
    if (t->wanted != BREAK_NONE)
        do_break(t);
    if (t->bars > 0)
        write_bars(t);
    if (t->marker.len > 0) {
        buf_append(&t->line, buf_str(&t->marker));
        buf_reset(&t->marker);
        t->wants_space = false;
    }
}

static void begin_text(struct page_text *t)
{
    begin_line(t);
    if (t->wants_space && t->is_link_open && t->link_chars >= LINK_BREAK_CHARS)
        page_text_link_end(t);
    if (t->wants_space && t->line.len > 0) {
        buf_char(&t->line, ' ');
        t->link_chars++;
    }
    t->wants_space = false;
    if (!str_is_none(t->link) && !t->is_link_open)
        open_link(t);
}

/* ---- text */

/* Writes n_chars characters without white space; ASCII when they are more than one. */
static void put_chars(struct page_text *t, str s, size_t n_chars)
{
    begin_text(t);
    if (t->is_link_open && t->link_chars + n_chars > PAGE_LINK_CHARS) {
        size_t n =
            n_chars == 1 || t->link_chars >= PAGE_LINK_CHARS ? 0 : PAGE_LINK_CHARS - t->link_chars;

        buf_append(&t->line, str_from(s.p, n));
        page_text_link_end(t);
        s = str_skip(s, n);
    }
    buf_append(&t->line, s);
    t->link_chars += n_chars;
}

static void put_space(struct page_text *t, char c)
{
    if (!t->is_pre) {
        t->wants_space = true;
    } else if (c == '\n') {
        do_break(t);
        end_line(t);
    } else if (c != '\r') {
        begin_line(t);
        if (t->is_link_open && t->link_chars++ >= PAGE_LINK_CHARS)
            page_text_link_end(t);
        buf_char(&t->line, c == '\t' ? '\t' : ' ');
    }
}

void page_text_write(struct page_text *t, str text)
{
    while (text.len > 0 && !page_text_is_full(t)) {
        size_t n = page_plain_prefix(text);
        enum page_char_kind kind = PAGE_CHAR_TEXT;
        str c = str_from(text.p, n);

        if (n > 0)
            put_chars(t, c, n);
        else if ((kind = page_char(text, &c, &n)) == PAGE_CHAR_TEXT)
            put_chars(t, c, 1);
        else if (kind == PAGE_CHAR_SPACE)
            put_space(t, *text.p);
        text = str_skip(text, n);
    }
}

/* In a cell that has no text yet a break would only tear the row. */
void page_text_break(struct page_text *t, enum page_break wanted)
{
    if (t->bars == 0 && wanted > t->wanted)
        t->wanted = wanted;
}

void page_text_marker(struct page_text *t, str marker)
{
    buf_append(&t->marker, marker);
    t->failed = t->failed || buf_failed(&t->marker);
}

void page_text_no_marker(struct page_text *t)
{
    buf_reset(&t->marker);
}

void page_text_row(struct page_text *t)
{
    t->bars = 0;
    t->row_has_cell = false;
    page_text_break(t, BREAK_LINE);
    do_break(t); /* now: a cell would take it back */
}

void page_text_cell(struct page_text *t)
{
    if (t->row_has_cell && t->bars < MAX_BARS) {
        t->bars++;
        t->wanted = BREAK_NONE;
    }
    t->row_has_cell = true;
}

/* ---- the end */

bool page_text_is_full(const struct page_text *t)
{
    size_t max = t->lines.max_bytes;

    return t->failed || t->lines.is_cut || (max > 0 && t->lines.text.len + t->line.len > max);
}

bool page_text_end(struct page_text *t)
{
    bool is_ok;

    if (t->line.len > 0 || buf_failed(&t->line))
        end_line(t);
    is_ok = page_lines_end(&t->lines, t->page) && !t->failed;
    buf_fini(&t->line);
    buf_fini(&t->marker);
    return is_ok;
}
