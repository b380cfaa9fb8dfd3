/* page_tag.c -- each byte is passed once by page_tags_next(), and once for each attribute that is
 * asked for. */
#include "search/page_tag.h"

static bool is_space(char c)
{
    return str_is_space(c) || c == '\f';
}

static bool is_letter(char c)
{
    c = str_lower_char(c);
    return c >= 'a' && c <= 'z';
}

/* ---- attributes */

static bool ends_name(char c)
{
    return is_space(c) || c == '/' || c == '>';
}

/* A value, quoted or not; STR_NONE when a quote is not closed. */
static str take_value(str *s)
{
    char quote = s->len > 0 ? *s->p : '\0';
    size_t n = 0;
    str value;

    if (quote == '"' || quote == '\'') {
        *s = str_skip(*s, 1);
        n = str_find_char(*s, quote);
        value = n == s->len ? STR_NONE : str_from(s->p, n);
        *s = str_skip(*s, n + 1);
        return value;
    }
    while (n < s->len && !is_space(s->p[n]) && s->p[n] != '>')
        n++;
    value = str_from(s->p, n);
    *s = str_skip(*s, n);
    return value;
}

static void skip_spaces(str *s)
{
    size_t n = 0;

    while (n < s->len && is_space(s->p[n]))
        n++;
    *s = str_skip(*s, n);
}

/* An empty name comes of a "/" alone. */
bool page_tag_next_attribute(str *s, str *ret_name, str *ret_value)
{
    size_t n;

    skip_spaces(s);
    if (s->len == 0 || *s->p == '>')
        return false;
    n = *s->p == '=' ? 1 : 0; /* a name may begin with one */
    while (n < s->len && !ends_name(s->p[n]) && s->p[n] != '=')
        n++;
    *ret_name = str_from(s->p, n);
    *ret_value = STR("");
    *s = str_skip(*s, n);
    if (n == 0) {
        *s = str_skip(*s, 1); /* the "/" */
        return true;
    }
    skip_spaces(s);
    if (s->len > 0 && *s->p == '=') {
        *s = str_skip(*s, 1);
        skip_spaces(s);
        *ret_value = take_value(s);
    }
    return true;
}

str page_tag_attribute(str attributes, str name)
{
    str found, value;

    while (page_tag_next_attribute(&attributes, &found, &value)) {
        if (str_eq_nocase(found, name))
            return value;
    }
    return STR_NONE;
}

/* ---- tags */

static void set_name(struct page_piece *p, str name)
{
    p->name_len = 0;
    if (name.len >= sizeof(p->name))
        return;
    memcpy(p->name, name.p, name.len);
    p->name[name.len] = '\0';
    p->name_len = (unsigned char)name.len;
    str_lower(p->name, name.len);
}

/* t->rest begins behind "<" or "</", with a letter. A tag that is never closed is not there, and
 * nothing comes after it. */
static bool take_tag(struct page_tags *t, struct page_piece *ret)
{
    size_t n = 0;
    str rest, name, value;

    while (n < t->rest.len && !ends_name(t->rest.p[n]))
        n++;
    set_name(ret, str_from(t->rest.p, n));
    rest = str_skip(t->rest, n);
    ret->attributes = rest;
    while (page_tag_next_attribute(&rest, &name, &value))
        continue;
    ret->attributes.len -= rest.len;
    ret->is_empty = str_ends_with(ret->attributes, STR("/"));
    t->rest = str_skip(rest, 1);
    return rest.len > 0;
}

/* The text in front of the end tag of the raw element, or all that is left. */
static str take_raw(struct page_tags *t)
{
    str name = str_from_c(t->raw), rest = t->rest, text;

    while (rest.len > 0) {
        rest = str_skip(rest, str_find(rest, STR("</")));
        if (rest.len > name.len + 2 && ends_name(rest.p[name.len + 2]) &&
            str_eq_nocase(str_from(rest.p + 2, name.len), name))
            break;
        rest = str_skip(rest, 2);
    }
    text = str_from(t->rest.p, t->rest.len - rest.len);
    t->rest = rest;
    t->raw[0] = '\0';
    return text;
}

/* Skips what begins here, up to and with end. */
static void skip_past(struct page_tags *t, str end)
{
    t->rest = str_skip(t->rest, str_find(t->rest, end) + end.len);
}

/* Skips a comment behind "<!--"; a browser takes "<!-->" for a whole one, and "--!>" for an end. */
static void skip_comment(struct page_tags *t)
{
    t->rest = str_skip(t->rest, 2); /* from "--" on, which may belong to the end */
    for (;;) {
        t->rest = str_skip(t->rest, str_find(t->rest, STR("--")));
        if (t->rest.len == 0 || str_starts_with(t->rest, STR("-->")) ||
            str_starts_with(t->rest, STR("--!>")))
            break;
        t->rest = str_skip(t->rest, 1);
    }
    skip_past(t, STR(">"));
}

/* Takes "<!", "<?", or "</" and something that is no name. True when it is text. */
static bool take_other(struct page_tags *t, struct page_piece *ret)
{
    size_t n;

    if (str_starts_with(t->rest, STR("<!--"))) {
        skip_comment(t);
        return false;
    }
    if (!t->is_xml || !str_starts_with(t->rest, STR("<![CDATA["))) {
        skip_past(t, STR(">"));
        return false;
    }
    t->rest = str_skip(t->rest, 9);
    n = str_find(t->rest, STR("]]>"));
    *ret = (struct page_piece){.kind = PIECE_RAW, .text = str_from(t->rest.p, n)};
    t->rest = str_skip(t->rest, n + 3);
    return true;
}

/* A "<" that begins nothing is text: all up to the next one. */
static void take_text(struct page_tags *t, struct page_piece *ret)
{
    size_t n = 1 + str_find_char(str_skip(t->rest, 1), '<');

    *ret = (struct page_piece){.kind = PIECE_TEXT, .text = str_from(t->rest.p, n)};
    t->rest = str_skip(t->rest, n);
}

bool page_tags_next(struct page_tags *t, struct page_piece *ret)
{
    while (t->rest.len > 0) {
        char second = t->rest.len > 1 ? t->rest.p[1] : '\0';
        bool is_end = second == '/';

        if (t->raw[0] != '\0') {
            *ret = (struct page_piece){.kind = PIECE_RAW, .text = take_raw(t)};
            return true;
        }
        if (*t->rest.p == '<' && (second == '!' || second == '?' || is_end)) {
            if (is_end && t->rest.len > 2 && is_letter(t->rest.p[2])) {
                t->rest = str_skip(t->rest, 2);
                *ret = (struct page_piece){.kind = PIECE_END};
                return take_tag(t, ret);
            }
            if (take_other(t, ret))
                return true;
        } else if (*t->rest.p == '<' && is_letter(second)) {
            t->rest = str_skip(t->rest, 1);
            *ret = (struct page_piece){.kind = PIECE_START};
            return take_tag(t, ret);
        } else {
            take_text(t, ret);
            return true;
        }
    }
    return false;
}

void page_tags_raw(struct page_tags *t, const struct page_piece *start)
{
    memcpy(t->raw, start->name, sizeof(t->raw));
}
