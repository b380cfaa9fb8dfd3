/* cite.c -- a matcher for one marker, tried wherever one may begin.
 *
 *     marker = 【 number ( † ( "source" | lines ) )? 】
 *     lines  = "L" number ( ( "-" | "–" ) "L"? number )?
 *
 * Numbers have at most nine digits, so a marker has at most 53 bytes, and what
 * has to be held back because it may become one is bounded by that. */
#include "text/cite.h"

#include "base/url.h"
#include "json/json_text.h"

enum { MAX_DIGITS = 9 };

/* MORE: all of the text fits, but it ends too early. */
enum match { NO, MORE, YES };

/* A character in both its forms. */
struct character {
    str utf8, escape;
};

static const struct character opening = {STR_INIT("\xE3\x80\x90"), STR_INIT("\\u3010")};
static const struct character closing = {STR_INIT("\xE3\x80\x91"), STR_INIT("\\u3011")};
static const struct character dagger = {STR_INIT("\xE2\x80\xA0"), STR_INIT("\\u2020")};
static const struct character en_dash = {STR_INIT("\xE2\x80\x93"), STR_INIT("\\u2013")};

/* ---- what a marker is made of; each takes what fits off *s */

static enum match match_word(str *s, str wanted)
{
    if (str_starts_with(*s, wanted)) {
        *s = str_skip(*s, wanted.len);
        return YES;
    }
    return str_starts_with(wanted, *s) ? MORE : NO;
}

static enum match match_character(str *s, const struct character *c)
{
    enum match m = match_word(s, c->utf8);

    return m == NO ? match_word(s, c->escape) : m;
}

static enum match match_number(str *s, int64_t *ret)
{
    int64_t value = 0;
    size_t n = 0;

    while (n < s->len && s->p[n] >= '0' && s->p[n] <= '9' && n <= MAX_DIGITS)
        value = value * 10 + (s->p[n++] - '0');
    if (n == s->len && n <= MAX_DIGITS)
        return MORE;
    if (n == 0 || n > MAX_DIGITS)
        return NO;
    *s = str_skip(*s, n);
    *ret = value;
    return YES;
}

static enum match match_dash(str *s)
{
    enum match m = match_word(s, STR("-"));

    return m == NO ? match_character(s, &en_dash) : m;
}

static enum match match_line(str *s, bool needs_letter, int64_t *ret)
{
    enum match m = match_word(s, STR("L"));

    if (m == MORE || (m == NO && needs_letter))
        return m;
    return match_number(s, ret);
}

static enum match match_lines(str *s, struct cite_marker *ret)
{
    enum match m = match_line(s, true, &ret->first_line);

    if (m != YES)
        return m;
    ret->last_line = ret->first_line;
    m = match_dash(s);
    if (m == YES)
        return match_line(s, false, &ret->last_line);
    return m == MORE ? MORE : YES;
}

/* Matches what stands between the dagger and the end of a marker. */
static enum match match_place(str *s, struct cite_marker *ret)
{
    enum match m = match_word(s, STR("source"));

    return m == NO ? match_lines(s, ret) : m;
}

static enum match match_marker(str *s, struct cite_marker *ret)
{
    int64_t cursor = 0;
    enum match m = match_character(s, &opening);

    *ret = (struct cite_marker){.first_line = -1, .last_line = -1};
    if (m == YES)
        m = match_number(s, &cursor);
    ret->cursor = (unsigned)cursor;
    if (m != YES)
        return m;
    m = match_character(s, &closing);
    if (m == NO && (m = match_character(s, &dagger)) == YES) {
        m = match_place(s, ret);
        if (m == YES)
            m = match_character(s, &closing);
    }
    return m;
}

/* ---- in a text */

static size_t to_next_start(str s)
{
    size_t n = 0;

    while (n < s.len && s.p[n] != opening.utf8.p[0] && s.p[n] != '\\')
        n++;
    return n;
}

struct cite_found cite_find(str escaped)
{
    size_t at = to_next_start(escaped);

    while (at < escaped.len) {
        str rest = str_skip(escaped, at);
        struct cite_found f = {.state = CITE_WHOLE, .at = at};
        enum match m = match_marker(&rest, &f.marker);

        if (m == MORE)
            return (struct cite_found){.state = CITE_OPEN, .at = at, .end = escaped.len};
        f.end = escaped.len - rest.len;
        if (m == YES)
            return f;
        at += escaped.p[at] == '\\' ? 2 : 1; /* a backslash escapes what follows */
        at += to_next_start(str_skip(escaped, at));
    }
    return (struct cite_found){.state = CITE_NONE, .at = escaped.len, .end = escaped.len};
}

/* ---- links */

static bool is_in_set(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

static size_t find_in_set(str s, const char *set)
{
    size_t n = 0;

    while (n < s.len && !is_in_set(s.p[n], set))
        n++;
    return n;
}

/* Host of a URL without "www.": what a link is called. "" when it is not fit for that. */
static str link_host(str url)
{
    struct url u = url_split(url);
    str host;

    if (!url_host_is_clear(&u))
        return STR("");
    host = str_starts_with_nocase(u.host, STR("www.")) && u.host.len > 4 ? str_skip(u.host, 4)
                                                                         : u.host;
    return find_in_set(host, " ()[]<>*`\"\t\r\n") < host.len ? STR("") : host;
}

static void write_url(str url, struct buf *out)
{
    for (size_t i = 0; i < url.len; i++) {
        unsigned char c = (unsigned char)url.p[i];

        if (c > ' ' && c < 0x7F && !is_in_set((char)c, "()<>\"\\`")) {
            buf_char(out, (char)c);
        } else {
            buf_char(out, '%');
            buf_hex(out, &c, 1);
        }
    }
}

void cite_write_link(str url, struct buf *out)
{
    str host = link_host(url);

    buf_append(out, STR("(["));
    json_text_escape(host.len == 0 ? STR("source") : host, out);
    buf_append(out, STR("]("));
    write_url(url, out);
    buf_append(out, STR("))"));
}
