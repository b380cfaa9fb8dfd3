/* percent.c -- %XX and what it stands for. */
#include "http/percent.h"

#include "base/buf.h"
#include "base/num.h"
#include "base/utf8.h"

int percent_byte(str s)
{
    int high, low;

    if (s.len < 3 || s.p[0] != '%')
        return -1;
    high = num_hex_digit(s.p[1]);
    low = num_hex_digit(s.p[2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static void decode_bytes(str s, char plus, struct buf *out)
{
    const char malformed = '\xff';

    while (s.len > 0) {
        int byte = percent_byte(s);

        if (byte == 0 || s.p[0] == '\0')
            buf_char(out, malformed);
        else if (byte > 0)
            buf_char(out, (char)byte);
        else
            buf_char(out, s.p[0] == '+' ? plus : s.p[0]);
        s = str_skip(s, byte >= 0 ? 3 : 1);
    }
}

static str decode_into(struct arena *a, str s, char plus)
{
    struct buf bytes = {.limit = 0}, text = {.limit = 0};
    str result;

    decode_bytes(s, plus, &bytes);
    utf8_repair(buf_str(&bytes), &text);
    result = buf_failed(&bytes) || buf_failed(&text) ? STR_NONE : arena_dup(a, buf_str(&text));
    buf_fini(&bytes);
    buf_fini(&text);
    return result;
}

str percent_decode(struct arena *a, str s)
{
    return decode_into(a, s, '+');
}

str percent_decode_field(struct arena *a, str s)
{
    return decode_into(a, s, ' ');
}
