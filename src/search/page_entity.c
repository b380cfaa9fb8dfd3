/* page_entity.c -- names are looked up in a sorted table. */
#include "search/page_entity.h"

#include <stdlib.h>

#include "base/num.h"
#include "base/utf8.h"
#include "search/page_charset.h"

struct entity {
    str name;
    uint32_t code_point;
};

static const struct entity entities[] = {
#define ENTITY(name, code_point) {STR_INIT(name), code_point},
#include "search/page_entity.def"
#undef ENTITY
};

enum {
    N_ENTITIES = COUNT_OF(entities),
    NAME_BYTES = 12,        /* no name is longer */
    CODE_POINTS = 0x110000, /* of Unicode */
};

static int compare_name(const void *key, const void *element)
{
    return str_order(*(const str *)key, ((const struct entity *)element)->name);
}

static bool is_letter_or_digit(char c)
{
    return (c >= '0' && c <= '9') || (str_lower_char(c) >= 'a' && str_lower_char(c) <= 'z');
}

/* How many bytes of s belong to "&name;", or 0. A name without semicolon has to end as a whole,
 * and an "=" behind it means that it is a parameter of a URL. */
static size_t named_length(str s, uint32_t *ret)
{
    size_t n = 1;
    const struct entity *e;
    str name;
    char behind;

    while (n < s.len && n <= NAME_BYTES && is_letter_or_digit(s.p[n]))
        n++;
    name = str_from(s.p + 1, n - 1);
    behind = n < s.len ? s.p[n] : ' ';
    e = bsearch(&name, entities, N_ENTITIES, sizeof(*entities), compare_name);
    if (e == NULL || behind == '=')
        return 0;
    if (behind != ';' && e->code_point > 0xFF) /* those to Latin-1 were once written without it */
        return 0;
    *ret = e->code_point;
    return behind == ';' ? n + 1 : n;
}

/* How many bytes of s belong to "&#8364;" or "&#x20AC;", or 0. */
static size_t numbered_length(str s, uint32_t *ret)
{
    bool is_hex = s.len > 2 && str_lower_char(s.p[2]) == 'x';
    int base = is_hex ? 16 : 10;
    size_t first = is_hex ? 3 : 2, n = first;
    uint32_t c = 0;

    for (; n < s.len; n++) {
        int digit = num_hex_digit(s.p[n]);

        if (digit < 0 || digit >= base)
            break;
        c = c >= CODE_POINTS ? CODE_POINTS : c * (uint32_t)base + (uint32_t)digit;
    }
    if (n == first)
        return 0;
    if (c >= 0x80 && c < 0xA0)
        c = page_charset_windows((unsigned char)c); /* what authors have always meant */
    *ret = c == 0 || c >= CODE_POINTS ? 0xFFFD : c;
    return n < s.len && s.p[n] == ';' ? n + 1 : n;
}

size_t page_entity_length(str s, uint32_t *ret)
{
    return s.len > 1 && s.p[1] == '#' ? numbered_length(s, ret) : named_length(s, ret);
}

void page_entity_decode(str text, struct buf *out)
{
    while (text.len > 0) {
        size_t plain = str_find_char(text, '&'), n;
        uint32_t code_point = 0;
        char bytes[4];

        buf_append(out, str_from(text.p, plain));
        text = str_skip(text, plain);
        if (text.len == 0)
            return;
        n = page_entity_length(text, &code_point);
        if (n == 0)
            buf_char(out, '&');
        else
            buf_append(out, str_from(bytes, utf8_encode(code_point, bytes)));
        text = str_skip(text, n == 0 ? 1 : n);
    }
}
