/* utf8.c -- checks by the table of RFC 3629, section 4. */
#include "base/utf8.h"

#include "base/block.h"

static bool is_tail(unsigned char c)
{
    return (c & 0xC0) == 0x80;
}

/* Second byte in the range that keeps out overlong forms, surrogates and > U+10FFFF. */
static bool second_ok(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xE0:
        return second >= 0xA0 && second <= 0xBF;
    case 0xED:
        return second >= 0x80 && second <= 0x9F;
    case 0xF0:
        return second >= 0x90 && second <= 0xBF;
    case 0xF4:
        return second >= 0x80 && second <= 0x8F;
    default:
        return is_tail(second);
    }
}

size_t utf8_char(str s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t n;

    if (s.len == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xC2 || p[0] > 0xF4)
        return 0;
    n = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    if (s.len < n || !second_ok(p[0], p[1]))
        return 0;
    for (size_t i = 2; i < n; i++) {
        if (!is_tail(p[i]))
            return 0;
    }
    return n;
}

bool utf8_is_control(str s)
{
    const unsigned char *p = (const unsigned char *)s.p;

    if (s.len == 0)
        return false;
    return p[0] < 0x20 || p[0] == 0x7F || (p[0] == 0xC2 && s.len > 1 && p[1] < 0xA0);
}

uint32_t utf8_code_point(str s)
{
    static const unsigned char first_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    size_t n = utf8_char(s);
    uint32_t c = (unsigned char)s.p[0] & first_bits[n];

    for (size_t i = 1; i < n; i++)
        c = c << 6 | ((unsigned char)s.p[i] & 0x3F);
    return c;
}

bool utf8_is_layout(str s)
{
    uint32_t c = utf8_char(s) < 2 ? 0 : utf8_code_point(s);

    return c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
           (c >= 0x2066 && c <= 0x2069);
}

size_t utf8_encode(uint32_t c, char out[4])
{
    if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        c = 0xFFFD;
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3F));
        out[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (char)(0x80 | (c >> 6 & 0x3F));
    out[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

size_t utf8_valid_prefix(str s)
{
    size_t at = 0;

    while (at < s.len) {
        size_t n;

        if (s.len - at >= BLOCK_BYTES) {
            n = block_first(block_load(s.p + at) < 0);
            at += n;
            if (n == BLOCK_BYTES)
                continue;
        }
        n = utf8_char(str_skip(s, at));
        if (n == 0)
            break;
        at += n;
    }
    return at;
}

size_t utf8_cut(str s, size_t limit)
{
    size_t n = s.len < limit ? s.len : limit;
    size_t start = n;

    while (start > 0 && n - start < 3 && is_tail((unsigned char)s.p[start - 1]))
        start--;
    if (start == 0)
        return n;
    start--; /* the first byte of the last character */
    return utf8_char(str_from(s.p + start, n - start)) == n - start ? n : start;
}

size_t utf8_count(str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++)
        n += !is_tail((unsigned char)s.p[i]);
    return n;
}

void utf8_repair(str s, struct buf *out)
{
    for (size_t n; (n = utf8_valid_prefix(s)) < s.len; s = str_skip(s, n + 1)) {
        buf_append(out, str_from(s.p, n));
        buf_append(out, STR(UTF8_REPLACEMENT));
    }
    buf_append(out, s);
}
