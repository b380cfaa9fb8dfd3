/* search_text.c -- one pass: a tag, an entity or a character at a time.
 *
 * Some services give plain text and some HTML, and none says which. So only tags are taken out
 * that mark the words found or break lines: "a < b" and "vector<int>" stay. What an entity stands
 * for is text, never a tag. */
#include "search/search_text.h"

#include "base/utf8.h"
#include "search/page_entity.h"

enum { MAX_TAG_BYTES = 300 };

static const struct {
    str name;
    bool is_space; /* words before and behind it are apart */
} tags[] = {
    {STR_INIT("strong"), false}, {STR_INIT("b"), false},    {STR_INIT("em"), false},
    {STR_INIT("i"), false},      {STR_INIT("mark"), false}, {STR_INIT("span"), false},
    {STR_INIT("u"), false},      {STR_INIT("code"), false}, {STR_INIT("a"), false},
    {STR_INIT("br"), true},      {STR_INIT("p"), true},     {STR_INIT("div"), true},
    {STR_INIT("li"), true},      {STR_INIT("ul"), true},    {STR_INIT("wbr"), false},
};

static bool is_letter(char c)
{
    char small = str_lower_char(c);

    return small >= 'a' && small <= 'z';
}

/* The length of the tag that s begins with, or 0 when that is none of ours. */
static size_t tag_length(str s, bool *ret_is_space)
{
    size_t start = s.len > 1 && s.p[1] == '/' ? 2 : 1, end = start, close;
    str name;

    while (end < s.len && is_letter(s.p[end]))
        end++;
    name = str_from(s.p + start, end - start);
    close = str_find_char(str_from(s.p, s.len < MAX_TAG_BYTES ? s.len : MAX_TAG_BYTES), '>');
    if (close == s.len || close == MAX_TAG_BYTES || close < end)
        return 0;
    if (close > end && !str_is_space(s.p[end]) && s.p[end] != '/')
        return 0;
    for (size_t i = 0; i < COUNT_OF(tags); i++) {
        if (str_eq_nocase(name, tags[i].name)) {
            *ret_is_space = tags[i].is_space;
            return close + 1;
        }
    }
    return 0;
}

static void append_space(struct buf *out)
{
    if (out->len > 0 && out->p[out->len - 1] != ' ')
        buf_char(out, ' ');
}

static void append_char(str c, struct buf *out)
{
    bool is_hard_space = str_eq(c, STR("\xc2\xa0"));

    if (c.p[0] == ' ' || utf8_is_control(c) || is_hard_space)
        append_space(out);
    else
        buf_append(out, c);
}

/* Appends what s begins with and returns its length. */
static size_t append_next(str s, struct buf *out)
{
    bool is_space = false;
    uint32_t c = 0;
    char bytes[4];
    size_t n = 0;

    if (s.p[0] == '<')
        n = tag_length(s, &is_space);
    if (n > 0) {
        if (is_space)
            append_space(out);
        return n;
    }
    if (s.p[0] == '&')
        n = page_entity_length(s, &c);
    if (n > 0) {
        append_char(str_from(bytes, utf8_encode(c, bytes)), out);
        return n;
    }
    n = utf8_char(s);
    append_char(n == 0 ? STR(UTF8_REPLACEMENT) : str_from(s.p, n), out);
    return n == 0 ? 1 : n;
}

str search_text_plain(str text, size_t limit_bytes, struct arena *a)
{
    struct buf out = {.limit = 0};
    str plain = STR_NONE;

    while (text.len > 0 && out.len <= limit_bytes && !buf_failed(&out))
        text = str_skip(text, append_next(text, &out));
    if (!buf_failed(&out)) {
        plain = str_from(buf_str(&out).p, utf8_cut(buf_str(&out), limit_bytes));
        plain = arena_dup(a, str_trim(plain));
    }
    buf_fini(&out);
    return plain;
}
