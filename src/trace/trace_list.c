/* trace_list.c -- key=value, and so on. */
#include "trace/trace_list.h"

#include "base/num.h"
#include "base/utf8.h"

/* STR_NONE when it is malformed, or out of memory. */
static str decode_text(struct arena *a, str text)
{
    char *out = arena_alloc(a, text.len + 1);
    size_t n = 0;

    for (size_t i = 0; out != NULL && i < text.len; i++) {
        char c = text.p[i];

        if (c == '%') {
            const int high = i + 2 < text.len ? num_hex_digit(text.p[i + 1]) : -1;
            const int low = i + 2 < text.len ? num_hex_digit(text.p[i + 2]) : -1;

            if (high == -1 || low == -1)
                return STR_NONE;
            c = (char)(unsigned char)(high * 16 + low);
            i += 2;
        }
        out[n++] = c;
    }
    return out == NULL ? STR_NONE : str_from(out, n);
}

static bool has_control(str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.p[i] < ' ' || text.p[i] == 127)
            return true;
    }
    return false;
}

const char *trace_list_read(str text, struct arena *a, struct trace_pair pairs[TRACE_LIST_MAX],
                            size_t *ret_n)
{
    size_t n = 0;

    while (text.len > 0) {
        const str element = str_trim(str_cut(&text, ','));
        const size_t equals = str_find_char(element, '=');
        struct trace_pair p;

        if (element.len == 0)
            continue;
        if (equals == element.len)
            return "has an element without a =: it is written as KEY=VALUE,KEY=VALUE";
        p.key = decode_text(a, str_trim(str_from(element.p, equals)));
        p.value = decode_text(a, str_trim(str_skip(element, equals + 1)));
        if (str_is_none(p.key) || str_is_none(p.value))
            return "has a % without two hexadecimal digits behind it: write %25 for a %";
        if (p.key.len == 0)
            return "has an element without a name before its =";
        if (has_control(p.key) || has_control(p.value) || !utf8_is_valid(p.key) ||
            !utf8_is_valid(p.value))
            return "has control characters, or is not UTF-8";
        if (n == TRACE_LIST_MAX)
            return "has more than 64 elements";
        pairs[n++] = p;
    }
    *ret_n = n;
    return NULL;
}
