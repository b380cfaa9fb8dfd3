/* page_html.c -- tags become breaks, markers and links.
 *
 * Open elements are on a stack, for three questions: which of them does a tag end, what follows
 * from that, and are we inside of something that is not shown. Elements without a meaning of
 * their own are there only where nothing is shown. The stack has an end, and so has each look
 * into it: no page takes longer than its length allows, and what is nested more deeply is shown,
 * only without its effects. */
#include "search/page_html.h"

#include "search/page_char.h"
#include "search/page_element.h"
#include "search/page_entity.h"
#include "search/page_tag.h"
#include "search/page_text.h"
#include "search/page_url.h"

enum {
    MAX_OPEN = 128,
    MAX_IMPLIED = 32, /* how far a start tag looks for what it ends */
    MAX_LISTS = 8,
    MAX_URLS = PAGE_MAX_LINKS + 1024, /* that are looked at, links or not */
    TITLE_CHARS = 200,
    ALT_CHARS = 80,
};

struct open_element {
    const struct page_element *e;
    char name[PAGE_TAG_NAME_BYTES];
};

struct walk {
    struct page *page;
    struct page_tags tags;
    struct page_text text;
    struct buf plain; /* scratch: a text without references */
    str base;
    bool has_base;
    unsigned n_urls;
    bool is_raw_title, is_raw_gone; /* what the next RAW piece is */
    bool is_pre_new;                /* a line end here is none */
    struct open_element open[MAX_OPEN];
    size_t n_open, hidden_at; /* open elements up to the one that hides; 0: none does */
    struct {
        bool is_ordered;
        unsigned n;
    } lists[MAX_LISTS];
    unsigned n_lists;
    bool failed; /* out of memory */
};

/* Decodes a text; the view dies with the next one. */
static str decode_references(struct walk *w, str text)
{
    buf_reset(&w->plain);
    page_entity_decode(text, &w->plain);
    w->failed = w->failed || buf_failed(&w->plain);
    return buf_str(&w->plain);
}

static void break_around(struct walk *w, const struct page_element *e)
{
    if ((e->flags & PAGE_BLANK) != 0)
        page_text_break(&w->text, BREAK_BLANK);
    else if ((e->flags & PAGE_LINE) != 0)
        page_text_break(&w->text,
                        e->group == GROUP_LIST && w->n_lists == 0 ? BREAK_BLANK : BREAK_LINE);
}

/* ---- elements that end */

static void end_effect(struct walk *w, const struct page_element *e)
{
    switch (e->group) {
    case GROUP_A:
        page_text_link_end(&w->text);
        break;
    case GROUP_HEADING:
    case GROUP_ITEM:
        page_text_no_marker(&w->text);
        break;
    case GROUP_LIST:
        w->n_lists--;
        break;
    case GROUP_PRE:
        w->text.is_pre = false;
        break;
    case GROUP_ROW:
    case GROUP_TABLE:
        page_text_row(&w->text);
        break;
    default:
        break;
    }
    break_around(w, e);
}

static void pop_element(struct walk *w)
{
    const struct page_element *e = w->open[--w->n_open].e;

    if (w->hidden_at == 0)
        end_effect(w, e);
    else if (w->n_open < w->hidden_at)
        w->hidden_at = 0;
}

static void pop_down_to(struct walk *w, size_t n)
{
    while (w->n_open > n)
        pop_element(w);
}

static bool is_in_groups(unsigned groups, const struct page_element *e)
{
    return (groups >> e->group & 1) != 0;
}

static void end_implied(struct walk *w, const struct page_element *e)
{
    const struct page_element_ends *ends = page_element_ends(e);
    size_t keep = w->n_open;

    for (size_t i = w->n_open; i > 0 && w->n_open - i < MAX_IMPLIED; i--) {
        const struct page_element *open = w->open[i - 1].e;

        if (is_in_groups(ends->ends, open))
            keep = i - 1;
        else if (is_in_groups(ends->ends_up_to, open))
            break;
    }
    pop_down_to(w, keep);
}

static void on_end(struct walk *w, const struct page_piece *p)
{
    const struct page_element *e = page_element(page_piece_name(p));
    unsigned stop = page_element_ends(e)->closes_up_to;

    for (size_t i = w->n_open; i > 0; i--) {
        const struct open_element *open = &w->open[i - 1];

        if (open->e == e && memcmp(open->name, p->name, sizeof(open->name)) == 0) {
            pop_down_to(w, i - 1);
            return;
        }
        if (is_in_groups(stop, open->e))
            break;
    }
    if (w->hidden_at == 0)
        break_around(w, e);
}

/* ---- elements that begin */

static bool style_hides(str style)
{
    return str_has_nocase(style, STR("display:none")) ||
           str_has_nocase(style, STR("display: none")) ||
           str_has_nocase(style, STR("visibility:hidden")) ||
           str_has_nocase(style, STR("visibility: hidden"));
}

static bool is_hidden(str attributes)
{
    str name, value;

    while (page_tag_next_attribute(&attributes, &name, &value)) {
        if (str_eq_nocase(name, STR("hidden")) ||
            (str_eq_nocase(name, STR("style")) && style_hides(value)) ||
            (str_eq_nocase(name, STR("aria-hidden")) && str_eq_nocase(value, STR("true"))))
            return true;
    }
    return false;
}

static str link_url(struct walk *w, str attributes)
{
    str href = page_tag_attribute(attributes, STR("href"));

    if (str_is_none(href) || w->n_urls == MAX_URLS)
        return STR_NONE;
    w->n_urls++;
    return page_url_resolve(w->base, decode_references(w, href), &w->page->arena);
}

static void on_base(struct walk *w, str attributes)
{
    str url = w->has_base ? STR_NONE : link_url(w, attributes);

    if (str_is_none(url))
        return;
    w->base = url;
    w->has_base = true;
}

static void on_image(struct walk *w, str attributes)
{
    struct buf alt = {.limit = 0};

    page_tame(decode_references(w, page_tag_attribute(attributes, STR("alt"))), ALT_CHARS, &alt);
    if (alt.len > 0) {
        page_text_write(&w->text, STR("[Image: "));
        page_text_write(&w->text, buf_str(&alt));
        page_text_write(&w->text, STR("]"));
    }
    w->failed = w->failed || buf_failed(&alt);
    buf_fini(&alt);
}

static void begin_list(struct walk *w, bool is_ordered)
{
    if (w->n_lists < MAX_LISTS) {
        w->lists[w->n_lists].is_ordered = is_ordered;
        w->lists[w->n_lists].n = 0;
    }
    w->n_lists++;
}

static void begin_item(struct walk *w)
{
    struct buf *marker = &w->text.marker;
    unsigned depth = w->n_lists < MAX_LISTS ? w->n_lists : MAX_LISTS;

    page_text_no_marker(&w->text);
    for (unsigned i = 1; i < depth; i++)
        page_text_marker(&w->text, STR("  "));
    if (depth == 0 || !w->lists[depth - 1].is_ordered) {
        page_text_marker(&w->text, STR("* "));
        return;
    }
    buf_uint(marker, ++w->lists[depth - 1].n);
    page_text_marker(&w->text, STR(". "));
}

static void begin_heading(struct walk *w, const struct page_element *e)
{
    page_text_marker(&w->text, str_from("######", (size_t)(e->name.p[1] - '0')));
    page_text_marker(&w->text, STR(" "));
}

/* Does at the start of an element what end_effect() undoes at its end. */
static void begin_effect(struct walk *w, const struct page_element *e, str attributes)
{
    break_around(w, e);
    switch (e->group) {
    case GROUP_A:
        page_text_link(&w->text, link_url(w, attributes));
        break;
    case GROUP_CELL:
        page_text_cell(&w->text);
        break;
    case GROUP_HEADING:
        begin_heading(w, e);
        break;
    case GROUP_ITEM:
        begin_item(w);
        break;
    case GROUP_LIST:
        begin_list(w, str_eq(e->name, STR("ol")));
        break;
    case GROUP_PRE:
        w->text.is_pre = w->is_pre_new = true;
        break;
    case GROUP_ROW:
        page_text_row(&w->text);
        break;
    default:
        break;
    }
}

static bool is_void(const struct page_element *e)
{
    return (e->flags & PAGE_VOID) != 0 || e->group == GROUP_FRAME;
}

static void on_void(struct walk *w, const struct page_element *e, str attributes)
{
    if (e->group == GROUP_BASE)
        on_base(w, attributes);
    if (w->hidden_at > 0 || (e->group == GROUP_IMG && is_hidden(attributes)))
        return;
    if (e->group == GROUP_IMG)
        on_image(w, attributes);
    else if (e->group == GROUP_BR)
        page_text_break(&w->text, w->text.wanted == BREAK_NONE ? BREAK_LINE : BREAK_BLANK);
    else
        break_around(w, e);
}

/* "/>" is to be taken at its word in XHTML, and where it is usual. */
static bool closes_itself(const struct walk *w, const struct page_piece *p,
                          const struct page_element *e)
{
    return p->is_empty && (w->tags.is_xml || e->name.len == 0 || str_eq(e->name, STR("svg")));
}

static void on_raw_start(struct walk *w, const struct page_piece *p, const struct page_element *e)
{
    page_tags_raw(&w->tags, p);
    w->is_raw_title = e->group == GROUP_TITLE && w->hidden_at == 0;
    w->is_raw_gone = (e->flags & PAGE_GONE) != 0;
}

static void push_element(struct walk *w, const struct page_piece *p, const struct page_element *e)
{
    struct open_element *open = &w->open[w->n_open++];
    bool hides = (e->flags & PAGE_GONE) != 0 || is_hidden(p->attributes);

    open->e = e;
    memcpy(open->name, p->name, sizeof(open->name));
    if (w->hidden_at == 0 && hides)
        w->hidden_at = w->n_open;
    else if (w->hidden_at == 0)
        begin_effect(w, e, p->attributes);
}

static void on_start(struct walk *w, const struct page_piece *p)
{
    const struct page_element *e = page_element(page_piece_name(p));
    bool is_nothing = e->name.len == 0 && w->hidden_at == 0 && !is_hidden(p->attributes);

    if (is_nothing)
        return;
    if (is_void(e) || closes_itself(w, p, e)) {
        on_void(w, e, p->attributes);
        return;
    }
    end_implied(w, e);
    if ((e->flags & PAGE_RAW) != 0)
        on_raw_start(w, p, e);
    if (w->is_raw_gone && (e->flags & PAGE_RAW) != 0)
        return;
    if (w->n_open < MAX_OPEN)
        push_element(w, p, e);
    else if (w->hidden_at == 0)
        break_around(w, e);
}

/* ---- text */

static void set_title(struct walk *w, str text)
{
    struct buf title = {.limit = 0};

    page_tame(text, TITLE_CHARS, &title);
    if (title.len > 0 && w->page->title.len == 0)
        w->page->title = arena_dup(&w->page->arena, buf_str(&title));
    w->failed = w->failed || buf_failed(&title) || str_is_none(w->page->title);
    buf_fini(&title);
}

static void write_text(struct walk *w, str text)
{
    if (w->hidden_at > 0)
        return;
    if (w->is_pre_new && text.len > 0) {
        if (str_starts_with(text, STR("\r")))
            text = str_skip(text, 1);
        if (str_starts_with(text, STR("\n")))
            text = str_skip(text, 1);
    }
    w->is_pre_new = false;
    page_text_write(&w->text, text);
}

static void on_raw(struct walk *w, str text)
{
    if (w->is_raw_title)
        set_title(w, decode_references(w, text));
    else if (!w->is_raw_gone)
        write_text(w, text);
    w->is_raw_title = w->is_raw_gone = false;
}

static void on_piece(struct walk *w, const struct page_piece *p)
{
    switch (p->kind) {
    case PIECE_TEXT:
        if (w->hidden_at == 0)
            write_text(w, decode_references(w, p->text));
        break;
    case PIECE_RAW:
        on_raw(w, p->text);
        break;
    case PIECE_START:
        on_start(w, p);
        break;
    case PIECE_END:
        on_end(w, p);
        break;
    }
}

bool page_html_read(str html, bool is_xml, size_t max_text_bytes, struct page *page)
{
    struct walk w = {.page = page, .tags = {.rest = html, .is_xml = is_xml}, .base = page->url};
    struct page_piece piece;
    bool is_ok;

    page_text_init(&w.text, page, max_text_bytes);
    while (!page_text_is_full(&w.text) && page_tags_next(&w.tags, &piece))
        on_piece(&w, &piece);
    page->is_cut = page->is_cut || w.tags.rest.len > 0;
    is_ok = page_text_end(&w.text) && !w.failed;
    buf_fini(&w.plain);
    return is_ok;
}
