/* trace_context.c -- traceparent and tracestate. */
#include "trace/trace_context.h"

#include "base/num.h"

enum { VERSION_CHARS = 2, AT_TRACE = 3, AT_SPAN = 36, AT_FLAGS = 53, FLAG_SAMPLED = 1 };

/* ---- traceparent */

/* Small letters only: a capital one makes the whole field malformed. */
static bool read_hex(str text, size_t at, size_t n_bytes, unsigned char *out)
{
    for (size_t i = 0; i < n_bytes; i++) {
        const char high_char = text.p[at + 2 * i], low_char = text.p[at + 2 * i + 1];
        const int high = num_hex_digit(high_char), low = num_hex_digit(low_char);

        if (high == -1 || low == -1 || str_lower_char(high_char) != high_char ||
            str_lower_char(low_char) != low_char)
            return false;
        out[i] = (unsigned char)(high * 16 + low);
    }
    return true;
}

static bool is_zero(const unsigned char *bytes, size_t n)
{
    unsigned char all = 0;

    for (size_t i = 0; i < n; i++)
        all |= bytes[i];
    return all == 0;
}

bool trace_context_read(str text, struct trace_context *ret)
{
    struct trace_context c = {.is_sampled = false};
    unsigned char version, flags;

    if (text.len < TRACEPARENT_CHARS || !read_hex(text, 0, 1, &version) || version == 0xff)
        return false;
    if (text.len > TRACEPARENT_CHARS && (version == 0 || text.p[TRACEPARENT_CHARS] != '-'))
        return false;
    if (text.p[VERSION_CHARS] != '-' || text.p[AT_SPAN - 1] != '-' || text.p[AT_FLAGS - 1] != '-')
        return false;
    if (!read_hex(text, AT_TRACE, TRACE_ID_BYTES, c.trace_id) ||
        !read_hex(text, AT_SPAN, SPAN_ID_BYTES, c.span_id) || !read_hex(text, AT_FLAGS, 1, &flags))
        return false;
    if (is_zero(c.trace_id, TRACE_ID_BYTES) || is_zero(c.span_id, SPAN_ID_BYTES))
        return false;
    c.is_sampled = (flags & FLAG_SAMPLED) != 0;
    *ret = c;
    return true;
}

static char *write_hex(char *out, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    return out;
}

void trace_context_write(const struct trace_context *c, char out[TRACEPARENT_CHARS + 1])
{
    char *p = out;

    *p++ = '0';
    *p++ = '0';
    *p++ = '-';
    p = write_hex(p, c->trace_id, TRACE_ID_BYTES);
    *p++ = '-';
    p = write_hex(p, c->span_id, SPAN_ID_BYTES);
    *p++ = '-';
    *p++ = '0';
    *p++ = c->is_sampled ? '1' : '0';
    *p = '\0';
}

/* ---- tracestate */

static bool is_key_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '*' ||
           c == '/';
}

/* vendor, or tenant@vendor */
static bool is_key(str key)
{
    enum { MAX_KEY_CHARS = 256 };
    unsigned n_at = 0;

    if (key.len == 0 || key.len > MAX_KEY_CHARS || key.p[0] == '@' || key.p[key.len - 1] == '@')
        return false;
    for (size_t i = 0; i < key.len; i++) {
        n_at += key.p[i] == '@';
        if (key.p[i] != '@' && !is_key_char(key.p[i]))
            return false;
    }
    return n_at <= 1 &&
           ((key.p[0] >= 'a' && key.p[0] <= 'z') || (key.p[0] >= '0' && key.p[0] <= '9'));
}

static bool is_value(str value)
{
    if (value.len == 0 || value.p[value.len - 1] == ' ')
        return false;
    for (size_t i = 0; i < value.len; i++) {
        if (value.p[i] < ' ' || value.p[i] > '~' || value.p[i] == ',' || value.p[i] == '=')
            return false;
    }
    return true;
}

static bool is_member(str member)
{
    const str key = str_cut(&member, '=');

    return is_key(key) && is_value(member);
}

/* Between commas nothing may stand as well. */
bool trace_state_is_valid(str text)
{
    unsigned n = 0;

    if (text.len > TRACESTATE_MAX_CHARS || !str_is_one_line(text))
        return false;
    while (text.len > 0) {
        const str member = str_trim(str_cut(&text, ','));

        if (member.len == 0)
            continue;
        if (++n > TRACESTATE_MAX_MEMBERS || !is_member(member))
            return false;
    }
    return n > 0;
}

/* ---- new ones */

static void make_id(const struct id_source *source, unsigned char *out, size_t n)
{
    source->fill(source->arg, out, n);
    if (is_zero(out, n))
        out[n - 1] = 1;
}

void trace_id_make(const struct id_source *source, unsigned char out[TRACE_ID_BYTES])
{
    make_id(source, out, TRACE_ID_BYTES);
}

void span_id_make(const struct id_source *source, unsigned char out[SPAN_ID_BYTES])
{
    make_id(source, out, SPAN_ID_BYTES);
}
