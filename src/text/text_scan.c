/* text_scan.c -- plain stretches pass a block at a time. */
#include "text/text_scan.h"

#include "base/block.h"

enum text_match text_match(str s, str mark)
{
    if (str_starts_with(s, mark))
        return TEXT_MATCHES;
    return str_starts_with(mark, s) ? TEXT_MAY_MATCH : TEXT_DIFFERS;
}

size_t text_find_first(str s, const char bytes[3])
{
    const signed char x = (signed char)bytes[0], y = (signed char)bytes[1];
    const signed char z = (signed char)bytes[2];
    size_t i = 0;

    for (; s.len - i >= BLOCK_BYTES; i += BLOCK_BYTES) {
        block b = block_load(s.p + i);
        size_t n = block_first((b == x) | (b == y) | (b == z));

        if (n < BLOCK_BYTES)
            return i + n;
    }
    while (i < s.len && s.p[i] != bytes[0] && s.p[i] != bytes[1] && s.p[i] != bytes[2])
        i++;
    return i;
}

bool text_is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= ':') || c == '_' ||
           c == '-' || c == '.' || c == '/';
}

str text_trim_end(str s)
{
    while (s.len > 0 && str_is_space(s.p[s.len - 1]))
        s.len--;
    return s;
}
