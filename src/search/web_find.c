/* web_find.c -- the lines are joined to one text, without the brackets of links and with small
 * letters, and that is searched. Making letters small changes no length, so a place in one is the
 * same place in the other. */
#include <stdlib.h>

#include "base/utf8.h"
#include "search/page_char.h"
#include "search/web_view.h"

enum { MAX_SHOWN = 20, CONTEXT_CHARS = 60, PATTERN_CHARS = 200 };

struct searched {
    struct buf text, folded;
    size_t *starts; /* where each line begins in the text */
};

/* ---- small letters */

/* Folds letters of Latin-1, Greek and Cyrillic, whose small letters take as many bytes. */
static uint32_t fold_pair(uint32_t c)
{
    if ((c >= 0xC0 && c <= 0xDE && c != 0xD7) || (c >= 0x391 && c <= 0x3A9) ||
        (c >= 0x410 && c <= 0x42F))
        return c + 0x20;
    return c >= 0x400 && c <= 0x40F ? c + 0x50 : c;
}

static void fold_letters(char *p, size_t n)
{
    str_lower(p, n);
    for (size_t i = 0; i + 1 < n; i++) {
        unsigned char first = (unsigned char)p[i], second = (unsigned char)p[i + 1];

        if (first >= 0xC3 && first <= 0xD0)
            (void)utf8_encode(fold_pair((first & 0x1FU) << 6 | (second & 0x3FU)), p + i);
    }
}

static void fold_into(str text, struct buf *out)
{
    size_t n = out->len;

    buf_append(out, text);
    if (!buf_failed(out) && out->len > n)
        fold_letters(out->p + n, out->len - n);
}

/* ---- the text */

/* Appends a line without "【3†" and "】", white space once. */
static void append_line(str line, struct buf *out)
{
    while (line.len > 0) {
        size_t n = utf8_char(line);
        str c = str_from(line.p, n);

        if (str_eq(c, STR(PAGE_OPEN)))
            n = str_find(line, STR(PAGE_DAGGER)) + sizeof(PAGE_DAGGER) - 1;
        else if (str_eq(c, STR(PAGE_CLOSE)))
            ;
        else if (c.p[0] != ' ' && c.p[0] != '\t')
            buf_append(out, c);
        else if (out->len > 0 && out->p[out->len - 1] != ' ')
            buf_char(out, ' ');
        line = str_skip(line, n);
    }
    if (out->len > 0 && out->p[out->len - 1] != ' ')
        buf_char(out, ' ');
}

static bool searched_init(struct searched *s, const struct page *page)
{
    *s = (struct searched){.starts = calloc(page->n_lines + 1, sizeof(*s->starts))};
    for (size_t i = 0; s->starts != NULL && i < page->n_lines; i++) {
        s->starts[i] = s->text.len;
        append_line(page->lines[i], &s->text);
    }
    fold_into(buf_str(&s->text), &s->folded);
    return s->starts != NULL && !buf_failed(&s->text) && !buf_failed(&s->folded);
}

static void searched_fini(struct searched *s)
{
    buf_fini(&s->text);
    buf_fini(&s->folded);
    free(s->starts);
}

/* ---- matches */

/* The line that holds this place: the last that begins before or there. */
static size_t line_at(const struct searched *s, size_t n_lines, size_t at)
{
    size_t low = 0, high = n_lines;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (s->starts[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

static size_t step_back(str text, size_t at, unsigned n_chars)
{
    for (; at > 0 && n_chars > 0; n_chars--) {
        do
            at--;
        while (at > 0 && is_continuation(text.p[at]));
    }
    return at;
}

static size_t step_forth(str text, size_t at, unsigned n_chars)
{
    for (; at < text.len && n_chars > 0; n_chars--) {
        do
            at++;
        while (at < text.len && is_continuation(text.p[at]));
    }
    return at;
}

static void write_match(const struct searched *s, size_t n_lines, size_t at, size_t n,
                        struct buf *out)
{
    str text = buf_str(&s->text);
    size_t from = step_back(text, at, CONTEXT_CHARS), to = step_forth(text, at + n, CONTEXT_CHARS);

    buf_append(out, STR("\nL"));
    buf_uint(out, line_at(s, n_lines, at));
    buf_append(out, from > 0 ? STR(": ...") : STR(": "));
    buf_append(out, str_trim(str_from(text.p + from, to - from)));
    buf_append(out, to < text.len ? STR("...") : STR(""));
}

/* Appends the first matches to out; returns how many there are. */
static size_t write_matches(const struct searched *s, size_t n_lines, str folded_pattern,
                            struct buf *out)
{
    str rest = buf_str(&s->folded);
    size_t n = 0, found = str_find(rest, folded_pattern);

    for (; found < rest.len; n++, found = str_find(rest, folded_pattern)) {
        rest = str_skip(rest, found);
        if (n < MAX_SHOWN)
            write_match(s, n_lines, s->folded.len - rest.len, folded_pattern.len, out);
        rest = str_skip(rest, folded_pattern.len);
    }
    return n;
}

static void write_count(size_t n, str pattern, struct buf *out)
{
    buf_append(out, STR("**"));
    if (n == 0) {
        buf_append(out, STR("not found: "));
        buf_append(out, pattern);
    } else {
        buf_uint(out, n);
        buf_append(out, n == 1 ? STR(" match for ") : STR(" matches for "));
        buf_append(out, pattern);
    }
    if (n > MAX_SHOWN) {
        buf_append(out, STR(", the first "));
        buf_uint(out, MAX_SHOWN);
    }
    buf_append(out, STR("**\n"));
}

void web_find_write(const struct web_view *v, str pattern, struct buf *out)
{
    struct searched s;
    struct buf tamed = {.limit = 0}, folded = {.limit = 0}, matches = {.limit = 0};
    size_t n = 0;

    page_tame(pattern, PATTERN_CHARS, &tamed);
    fold_into(buf_str(&tamed), &folded);
    out->failed = !searched_init(&s, v->page) || out->failed;
    if (folded.len > 0 && s.text.len > 0)
        n = write_matches(&s, v->page->n_lines, buf_str(&folded), &matches);
    web_head_write(v, out);
    write_count(n, buf_str(&tamed), out);
    buf_append(out, buf_str(&matches));
    out->failed = out->failed || buf_failed(&tamed) || buf_failed(&folded) || buf_failed(&matches);
    searched_fini(&s);
    buf_fini(&tamed);
    buf_fini(&folded);
    buf_fini(&matches);
}
