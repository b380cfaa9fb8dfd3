/* json_text.c -- escapes of JSON strings, and splicing pieces of one string. */
#include "json/json_text.h"

#include "base/block.h"
#include "base/utf8.h"

static bool is_high(uint32_t c)
{
    return c >= 0xD800 && c <= 0xDBFF;
}

static bool is_low(uint32_t c)
{
    return c >= 0xDC00 && c <= 0xDFFF;
}

static uint16_t read_hex4(const char *p)
{
    uint16_t n = 0;

    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;

        n = (uint16_t)(n << 4 | digit);
    }
    return n;
}

/* s starts with a \u escape. */
static bool is_unicode_escape(str s)
{
    return s.len >= 6 && s.p[0] == '\\' && s.p[1] == 'u';
}

static char short_escape_value(char c)
{
    switch (c) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return c; /* quote, backslash, slash */
    }
}

/* Takes the next byte or escape off s; returns the bytes it stands for. */
static size_t take_char(str *s, char out[4])
{
    uint32_t c;

    if (s->p[0] != '\\') {
        out[0] = s->p[0];
        *s = str_skip(*s, 1);
        return 1;
    }
    if (s->p[1] != 'u') {
        out[0] = short_escape_value(s->p[1]);
        *s = str_skip(*s, 2);
        return 1;
    }
    c = read_hex4(s->p + 2);
    *s = str_skip(*s, 6);
    if (is_high(c) && is_unicode_escape(*s) && is_low(read_hex4(s->p + 2))) {
        c = 0x10000 + ((c - 0xD800) << 10) + (read_hex4(s->p + 2) - 0xDC00U);
        *s = str_skip(*s, 6);
    }
    return utf8_encode(c, out);
}

void json_text_decode(str escaped, struct buf *out)
{
    char c[4];

    while (escaped.len > 0) {
        size_t plain = str_find_char(escaped, '\\');

        buf_append(out, str_from(escaped.p, plain));
        escaped = str_skip(escaped, plain);
        if (escaped.len > 0) {
            size_t n = take_char(&escaped, c);

            buf_append(out, str_from(c, n));
        }
    }
}

str json_text_dup(struct arena *a, str escaped)
{
    struct buf out = {0};
    char *p;

    if (str_is_none(escaped) || !json_text_has_escape(escaped))
        return escaped;
    p = arena_alloc(a, escaped.len);
    if (p == NULL)
        return STR_NONE;
    out = (struct buf){.p = p, .cap = escaped.len}; /* decoding never makes it longer */
    json_text_decode(escaped, &out);
    return buf_str(&out);
}

str json_text_copy(struct arena *a, str escaped)
{
    str plain = json_text_dup(a, escaped);

    return !str_is_none(plain) && plain.p == escaped.p ? arena_dup(a, plain) : plain;
}

/* Length of U+0085, U+2028 or U+2029 at the start of s, with its escape; else 0. */
static size_t line_breaker(str s, const char **ret_escape)
{
    if (s.len >= 2 && memcmp(s.p, "\xC2\x85", 2) == 0) {
        *ret_escape = "\\u0085";
        return 2;
    }
    if (s.len >= 3 && memcmp(s.p, "\xE2\x80", 2) == 0) {
        if (s.p[2] == '\xA8' || s.p[2] == '\xA9') {
            *ret_escape = s.p[2] == '\xA8' ? "\\u2028" : "\\u2029";
            return 3;
        }
    }
    return 0;
}

static void escape_control(unsigned char c, struct buf *out)
{
    static const char hex[] = "0123456789abcdef";
    static const char shorts[32] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    char text[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

    if (shorts[c] != '\0') {
        text[1] = shorts[c];
        buf_append(out, str_from(text, 2));
        return;
    }
    buf_append(out, str_from(text, 6));
}

void json_text_escape(str text, struct buf *out)
{
    while (text.len > 0) {
        unsigned char c = (unsigned char)text.p[0];
        const char *escape;
        size_t n = 1;

        if (c < 0x20) {
            escape_control(c, out);
        } else if (c == '"' || c == '\\') {
            buf_char(out, '\\');
            buf_char(out, (char)c);
        } else if (c < 0x80) {
            while (n < text.len && text.p[n] >= 0x20 && text.p[n] != '"' && text.p[n] != '\\')
                n++;
            buf_append(out, str_from(text.p, n));
        } else if ((n = line_breaker(text, &escape)) > 0) {
            buf_c(out, escape);
        } else {
            n = utf8_char(text);
            buf_append(out, n == 0 ? STR(UTF8_REPLACEMENT) : str_from(text.p, n));
            n += n == 0;
        }
        text = str_skip(text, n);
    }
}

/* ---- splicing */

static void append_escape(uint16_t c, struct buf *out)
{
    static const char hex[] = "0123456789abcdef";
    char text[6] = {'\\', 'u', hex[c >> 12], hex[c >> 8 & 15], hex[c >> 4 & 15], hex[c & 15]};

    buf_append(out, str_from(text, 6));
}

static void drop_held(struct json_splice *s, struct buf *out)
{
    if (s->high != 0)
        buf_append(out, STR("\\ufffd"));
    s->high = 0;
}

static void splice_unit(struct json_splice *s, uint16_t c, struct buf *out)
{
    if (is_low(c) && s->high != 0) {
        append_escape(s->high, out);
        append_escape(c, out);
        s->high = 0;
        return;
    }
    drop_held(s, out);
    if (is_high(c))
        s->high = c;
    else
        append_escape(is_low(c) ? 0xFFFD : c, out);
}

static inline block mark_suspect(block b)
{
    return (b == '\\') | (b == (signed char)'\xC2') | (b == (signed char)'\xE2');
}

/* Stops at a \u escape or a line breaker. */
static inline const char *see_suspect(const char *p, const char *end, void *arg)
{
    const str rest = str_from(p, (size_t)(end - p));
    const char *escape;

    (void)arg;
    if (*p == '\\')
        return is_unicode_escape(rest) ? NULL : p + 2;
    return line_breaker(rest, &escape) > 0 ? NULL : p + 1;
}

/* Bytes that can be copied as they are: up to a \u escape or a line breaker. */
static size_t harmless_length(str s)
{
    if (s.len == 0)
        return 0; /* arithmetic on NULL is undefined */
    return (size_t)(block_walk(s.p, s.p + s.len, mark_suspect, see_suspect, NULL) - s.p);
}

/* Copies the \u escape or line breaker at the start of *rest, and moves behind it. */
static void splice_special(struct json_splice *s, str *rest, struct buf *out)
{
    const char *escape = "";

    if (is_unicode_escape(*rest)) {
        splice_unit(s, read_hex4(rest->p + 2), out);
        *rest = str_skip(*rest, 6);
        return;
    }
    drop_held(s, out);
    *rest = str_skip(*rest, line_breaker(*rest, &escape));
    buf_c(out, escape);
}

size_t json_text_splice(struct json_splice *s, str escaped, struct buf *out)
{
    size_t before = out->len;

    while (escaped.len > 0) {
        size_t n = harmless_length(escaped);

        if (n > 0) {
            drop_held(s, out);
            buf_append(out, str_from(escaped.p, n));
            escaped = str_skip(escaped, n);
        } else {
            splice_special(s, &escaped, out);
        }
    }
    return out->len - before;
}

bool json_text_splices_as_is(const struct json_splice *s, str escaped)
{
    return s->high == 0 && harmless_length(escaped) == escaped.len;
}

size_t json_text_splice_end(struct json_splice *s, struct buf *out)
{
    size_t before = out->len;

    drop_held(s, out);
    return out->len - before;
}

/* ---- questions */

bool json_text_has_escape(str escaped)
{
    return str_find_char(escaped, '\\') < escaped.len;
}

/* An escape is longer than what it stands for. */
bool json_text_eq(str escaped, str text)
{
    char c[4];

    if (escaped.len <= text.len || !json_text_has_escape(escaped))
        return str_eq(escaped, text) && !json_text_has_escape(text);
    while (escaped.len > 0) {
        size_t n = take_char(&escaped, c);

        if (!str_starts_with(text, str_from(c, n)))
            return false;
        text = str_skip(text, n);
    }
    return text.len == 0;
}

size_t json_text_count(str escaped)
{
    size_t count = 0;
    char c[4];

    while (escaped.len > 0) {
        size_t n = take_char(&escaped, c);

        count += utf8_count(str_from(c, n));
    }
    return count;
}
