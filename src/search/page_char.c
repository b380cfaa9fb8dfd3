/* page_char.c -- by the bytes of UTF-8, since that is what there is. */
#include "search/page_char.h"

#include "base/utf8.h"

static const struct {
    str bytes;
    enum page_char_kind kind;
    str becomes;
} special[] = {
    {STR_INIT(PAGE_OPEN), PAGE_CHAR_TEXT, STR_INIT(PAGE_OPEN_TAMED)},
    {STR_INIT(PAGE_CLOSE), PAGE_CHAR_TEXT, STR_INIT(PAGE_CLOSE_TAMED)},
    {STR_INIT("\xC2\xA0"), PAGE_CHAR_SPACE, STR_INIT(" ")},      /* no-break space */
    {STR_INIT("\xC2\x85"), PAGE_CHAR_SPACE, STR_INIT(" ")},      /* next line */
    {STR_INIT("\xE2\x80\xA8"), PAGE_CHAR_SPACE, STR_INIT(" ")},  /* line separator */
    {STR_INIT("\xE2\x80\xA9"), PAGE_CHAR_SPACE, STR_INIT(" ")},  /* paragraph separator */
    {STR_INIT("\xE2\x80\xAF"), PAGE_CHAR_SPACE, STR_INIT(" ")},  /* narrow no-break space */
    {STR_INIT("\xC2\xAD"), PAGE_CHAR_NOTHING, STR_INIT("")},     /* soft hyphen */
    {STR_INIT("\xE2\x80\x8B"), PAGE_CHAR_NOTHING, STR_INIT("")}, /* zero width space */
    {STR_INIT("\xE2\x81\xA0"), PAGE_CHAR_NOTHING, STR_INIT("")}, /* word joiner */
    {STR_INIT("\xEF\xBB\xBF"), PAGE_CHAR_NOTHING, STR_INIT("")}, /* byte order mark */
};

enum { N_SPECIAL = COUNT_OF(special) };

static enum page_char_kind ascii_char(str s, str *ret)
{
    if (*s.p == ' ' || (*s.p >= '\t' && *s.p <= '\r')) {
        *ret = STR(" ");
        return PAGE_CHAR_SPACE;
    }
    return utf8_is_control(s) ? PAGE_CHAR_NOTHING : PAGE_CHAR_TEXT;
}

enum page_char_kind page_char(str s, str *ret, size_t *ret_n)
{
    size_t n = utf8_char(s);

    *ret_n = n == 0 ? 1 : n;
    *ret = n == 0 ? STR(UTF8_REPLACEMENT) : str_from(s.p, n);
    if (n == 1)
        return ascii_char(*ret, ret);
    for (size_t i = 0; i < N_SPECIAL; i++) {
        if (str_eq(*ret, special[i].bytes)) {
            *ret = special[i].becomes;
            return special[i].kind;
        }
    }
    return utf8_is_control(*ret) ? PAGE_CHAR_NOTHING : PAGE_CHAR_TEXT;
}

static bool is_within(str s, const char *first, const char *behind)
{
    return memcmp(s.p, first, 3) >= 0 && memcmp(s.p, behind, 3) < 0;
}

/* Scripts without spaces: Thai to Tibetan; CJK, kana and what goes with them; Yi; compatibility and
 * wide forms; the second plane. Hangul has spaces. */
bool page_is_ideograph(str c)
{
    if (c.len == 4)
        return c.p[0] == '\xF0' && c.p[1] >= '\xA0' && c.p[1] <= '\xAF';
    return c.len == 3 && (is_within(c, "\xE0\xB8\x80", "\xE0\xBC\x80") ||
                          is_within(c, "\xE2\xBA\x80", "\xEA\x93\x90") ||
                          is_within(c, "\xEF\xA4\x80", "\xEF\xAC\x80") ||
                          is_within(c, "\xEF\xBC\x80", "\xEF\xBF\xA0"));
}

size_t page_plain_prefix(str s)
{
    size_t n = 0;

    while (n < s.len && s.p[n] > ' ' && s.p[n] < 0x7F)
        n++;
    return n;
}

void page_tame(str text, size_t max_chars, struct buf *out)
{
    size_t start = out->len, chars = 0, n;
    bool has_space = false;
    str c;

    for (; text.len > 0; text = str_skip(text, n)) {
        enum page_char_kind kind = page_char(text, &c, &n);

        if (kind == PAGE_CHAR_SPACE)
            has_space = out->len > start;
        if (kind != PAGE_CHAR_TEXT)
            continue;
        if (chars + has_space >= max_chars) {
            buf_append(out, STR("..."));
            return;
        }
        if (has_space)
            buf_char(out, ' ');
        buf_append(out, c);
        chars += 1 + has_space;
        has_space = false;
    }
}
