/* page_lines.c -- a line is filled until a character does not fit, then ended at the last good
 * place that was passed. Each character is looked at twice at most. */
#include "search/page_lines.h"

#include "base/utf8.h"
#include "search/page_char.h"

struct fill {
    size_t end, next; /* the last good place: the line ends at end, the next begins at next */
    size_t link_at;   /* where the link begins that we are in */
    bool is_in_link, is_link_over; /* its last bracket was passed, which belongs to it */
    bool has_text, is_after_ideograph;
};

static void end_here(struct fill *f, size_t end, size_t next)
{
    f->end = end;
    f->next = next;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void pass_ascii(struct fill *f, char c, size_t at)
{
    if (is_blank(c)) {
        if (f->has_text && !f->is_in_link)
            end_here(f, at, at + 1);
        return;
    }
    if (f->is_after_ideograph && !f->is_in_link)
        end_here(f, at, at);
    f->has_text = true;
}

/* A line may end on both sides of an ideograph, but not beside the brackets of a link, though
 * they are from the same block of Unicode. */
static void pass_wide(struct fill *f, str c, size_t at)
{
    bool opens = str_eq(c, STR(PAGE_OPEN)), closes = str_eq(c, STR(PAGE_CLOSE));
    bool is_ideograph = !opens && !closes && page_is_ideograph(c);

    if (opens)
        f->link_at = at;
    f->is_in_link = f->is_in_link || opens;
    if (f->has_text && !f->is_in_link && (is_ideograph || f->is_after_ideograph))
        end_here(f, at, at);
    f->is_after_ideograph = is_ideograph;
    f->is_link_over = closes;
    f->has_text = true;
}

/* Passes the character at this place; returns its length. */
static size_t pass_char(struct fill *f, str rest, size_t at)
{
    size_t n = 1;

    if (f->is_link_over)
        f->is_in_link = f->is_link_over = false;
    if ((unsigned char)rest.p[at] < 0x80) {
        pass_ascii(f, rest.p[at], at);
        f->is_after_ideograph = false;
    } else {
        n = utf8_char(str_skip(rest, at));
        pass_wide(f, str_from(rest.p + at, n), at);
    }
    return n;
}

/* The length of the paragraph's next line; the one behind that begins at *ret_next. */
static size_t line_length(str rest, size_t *ret_next)
{
    struct fill f = {.end = 0};
    size_t at = 0;

    if (rest.len <= PAGE_LINE_CHARS)
        at = rest.len;
    for (unsigned chars = 0; at < rest.len; chars++) {
        size_t n = pass_char(&f, rest, at);

        if (chars == PAGE_LINE_CHARS)
            break;
        at += n;
    }
    if (at == rest.len)
        end_here(&f, at, at);
    else if (f.end == 0 && f.is_in_link && f.link_at > 0)
        end_here(&f, f.link_at, f.link_at);
    else if (f.end == 0) /* one word fills it */
        end_here(&f, at, at);
    *ret_next = f.next;
    return f.end;
}

static void add_line(struct page_lines *l, str line)
{
    while (line.len > 0 && is_blank(line.p[line.len - 1]))
        line.len--;
    if (line.len == 0 && (l->n == 0 || l->is_blank))
        return;
    if (l->max_bytes > 0 && l->text.len + line.len > l->max_bytes) {
        l->is_cut = true;
        return;
    }
    buf_append(&l->text, line);
    buf_char(&l->text, '\n');
    l->is_blank = line.len == 0;
    l->n++;
}

void page_lines_add(struct page_lines *l, str paragraph)
{
    do {
        size_t next, n = line_length(paragraph, &next);

        if (l->is_cut)
            return;
        add_line(l, str_from(paragraph.p, n));
        paragraph = str_skip(paragraph, next);
    } while (paragraph.len > 0);
}

bool page_lines_end(struct page_lines *l, struct page *page)
{
    size_t n = l->n - (l->is_blank ? 1 : 0);
    str text = arena_dup(&page->arena, buf_str(&l->text));
    str *lines = arena_array(&page->arena, n + 1, sizeof(*lines));
    bool is_ok = !buf_failed(&l->text) && !str_is_none(text) && lines != NULL;

    buf_fini(&l->text);
    if (!is_ok)
        return false;
    for (size_t i = 0; i < n; i++) {
        lines[i] = str_from(text.p, str_find_char(text, '\n'));
        text = str_skip(text, lines[i].len + 1);
    }
    page->lines = lines;
    page->n_lines = n;
    page->is_cut = page->is_cut || l->is_cut;
    return true;
}
