/* page_read.c -- what came over the network becomes a page. */
#include "search/page.h"

#include "search/page_char.h"
#include "search/page_charset.h"
#include "search/page_html.h"
#include "search/page_text.h"

enum form { FORM_NONE, FORM_HTML, FORM_XHTML, FORM_TEXT };

static const struct {
    str type;
    enum form form;
} forms[] = {
    {STR_INIT("text/html"), FORM_HTML},
    {STR_INIT("application/xhtml+xml"), FORM_XHTML},
    {STR_INIT("application/json"), FORM_TEXT},
    {STR_INIT("application/xml"), FORM_TEXT},
    {STR_INIT("application/javascript"), FORM_TEXT},
    {STR_INIT("application/x-ndjson"), FORM_TEXT},
    {STR_INIT("application/yaml"), FORM_TEXT},
    {STR_INIT("application/toml"), FORM_TEXT},
};

enum { SNIFF_BYTES = 512, SHOWN_TYPE_CHARS = 60 };

/* ---- what it is */

/* Without a type, markup at the start is HTML (a comment or a declaration may come first). */
static enum form sniff_form(str bytes)
{
    str start = str_from(bytes.p, bytes.len < SNIFF_BYTES ? bytes.len : SNIFF_BYTES);
    str text =
        str_trim_start(str_starts_with(start, STR("\xEF\xBB\xBF")) ? str_skip(start, 3) : start);

    if (str_starts_with_nocase(text, STR("<?xml")))
        return str_has_nocase(start, STR("<html")) ? FORM_XHTML : FORM_TEXT;
    return str_starts_with_nocase(text, STR("<!doctype html")) ||
                   str_starts_with_nocase(text, STR("<!--")) ||
                   str_has_nocase(start, STR("<html")) || str_has_nocase(start, STR("<body")) ||
                   str_has_nocase(start, STR("<title"))
               ? FORM_HTML
               : FORM_TEXT;
}

/* The type without its parameters. */
static str plain_type(str content_type)
{
    return str_trim(str_from(content_type.p, str_find_char(content_type, ';')));
}

static enum form form_of(const struct page_source *s)
{
    str type = plain_type(s->content_type);

    if (type.len == 0)
        return sniff_form(s->bytes);
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        if (str_eq_nocase(type, forms[i].type))
            return forms[i].form;
    }
    if (str_starts_with_nocase(type, STR("text/")) || str_ends_with(type, STR("+json")) ||
        str_ends_with(type, STR("+xml")))
        return FORM_TEXT;
    return FORM_NONE;
}

/* Bytes that are no text have a NUL soon. */
static bool is_binary(str text)
{
    size_t n = text.len < SNIFF_BYTES ? text.len : SNIFF_BYTES;

    return str_find_char(str_from(text.p, n), '\0') < n;
}

/* ---- reading */

/* The bytes without the part of a character at the end of a page that was cut: it would be proof
 * against UTF-8. */
static str whole_characters(const struct page_source *s)
{
    str bytes = s->bytes;

    for (int i = 0; s->is_cut && i < 4 && bytes.len > 0; i++) {
        unsigned char last = (unsigned char)bytes.p[bytes.len - 1];

        if (last < 0x80)
            break;
        bytes.len--;
        if (last >= 0xC0)
            break;
    }
    return bytes;
}

static bool read_text(str text, size_t max_text_bytes, struct page *page)
{
    struct page_text t;

    page_text_init(&t, page, max_text_bytes);
    t.is_pre = true;
    page_text_write(&t, text);
    page->is_cut = page->is_cut || page_text_is_full(&t);
    return page_text_end(&t);
}

static bool read_form(enum form form, str text, size_t max_text_bytes, struct page *page)
{
    if (form == FORM_TEXT)
        return read_text(text, max_text_bytes, page);
    return page_html_read(text, form == FORM_XHTML, max_text_bytes, page);
}

static void refuse_type(const struct page_source *s, struct err *reterr)
{
    struct buf type = {.limit = 0};

    page_tame(plain_type(s->content_type), SHOWN_TYPE_CHARS, &type);
    err_set(reterr, ERR_BAD_REQUEST,
            "what is there cannot be shown as text (%s): only HTML, plain text and JSON can",
            type.len > 0 ? buf_cstr(&type) : "unknown type");
    buf_fini(&type);
}

int page_read(const struct page_source *source, struct page *ret, struct err *reterr)
{
    struct page page = {.is_cut = source->is_cut, .title = STR("")};
    struct buf text = {.limit = 0};
    enum form form = form_of(source);
    bool is_ok;

    if (form != FORM_NONE)
        page_charset_decode(whole_characters(source), source->content_type, &text);
    if (form == FORM_NONE || is_binary(buf_str(&text))) {
        buf_fini(&text);
        refuse_type(source, reterr);
        return -1;
    }
    page.url = arena_dup(&page.arena, source->url);
    is_ok = !buf_failed(&text) && !str_is_none(page.url) &&
            read_form(form, buf_str(&text), source->max_text_bytes, &page) &&
            !str_is_none(page.title);
    buf_fini(&text);
    if (!is_ok) {
        page_fini(&page);
        return err_set_no_memory(reterr);
    }
    *ret = page;
    return 0;
}

void page_fini(struct page *page)
{
    arena_fini(&page->arena);
    *page = (struct page){.n_lines = 0};
}
