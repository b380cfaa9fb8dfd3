/* page_charset.c -- iconv knows the charsets, but only those of our table are asked for. The two
 * that most pages have need no iconv. */
#include "search/page_charset.h"

#include <errno.h>
#include <iconv.h>

#include "base/utf8.h"
#include "search/page_tag.h"

static const struct {
    str label;
    const char *name;
} charsets[] = {
#define CHARSET(label, name) {STR_INIT(label), name},
#include "search/page_charset.def"
#undef CHARSET
};

enum { N_CHARSETS = COUNT_OF(charsets), META_BYTES = 1024 };

static const char utf8[] = "UTF-8", windows[] = "WINDOWS-1252";

/* ---- which one */

/* The charset of a label; NULL when it is unknown. */
static const char *charset_of(str label)
{
    label = str_trim(label);
    for (size_t i = 0; i < N_CHARSETS; i++) {
        if (str_eq_nocase(label, charsets[i].label))
            return charsets[i].name;
    }
    return NULL;
}

/* The charset of "text/html; charset=utf-8", also as a <meta> has it. */
static const char *charset_of_type(str type)
{
    static const str word = STR_INIT("charset");
    size_t n = 0;

    while (type.len >= word.len && !str_starts_with_nocase(type, word))
        type = str_skip(type, 1);
    type = str_trim_start(str_skip(type, word.len));
    if (type.len == 0 || *type.p != '=')
        return NULL;
    type = str_trim_start(str_skip(type, 1));
    if (type.len > 0 && (*type.p == '"' || *type.p == '\''))
        type = str_skip(type, 1);
    while (n < type.len && !str_is_space(type.p[n]) && strchr(";\"',", type.p[n]) == NULL)
        n++;
    return charset_of(str_from(type.p, n));
}

/* The charset that a <meta> names. UTF-16 means UTF-8 there, since the name was read as ASCII. */
static const char *charset_of_meta(str bytes)
{
    struct page_tags tags = {
        .rest = str_from(bytes.p, bytes.len < META_BYTES ? bytes.len : META_BYTES)};
    struct page_piece piece;
    const char *found = NULL;

    while (found == NULL && page_tags_next(&tags, &piece)) {
        str name = page_piece_name(&piece), label;

        if (piece.kind != PIECE_START || !str_eq(name, STR("meta")))
            continue;
        label = page_tag_attribute(piece.attributes, STR("charset"));
        found = str_is_none(label)
                    ? charset_of_type(page_tag_attribute(piece.attributes, STR("content")))
                    : charset_of(label);
    }
    return found != NULL && str_starts_with(str_from_c(found), STR("UTF-16")) ? utf8 : found;
}

static const char *charset_of_mark(str *bytes)
{
    static const struct {
        str mark;
        const char *name;
    } marks[] = {{STR_INIT("\xEF\xBB\xBF"), utf8},
                 {STR_INIT("\xFE\xFF"), "UTF-16BE"},
                 {STR_INIT("\xFF\xFE"), "UTF-16LE"}};

    for (size_t i = 0; i < COUNT_OF(marks); i++) {
        if (str_starts_with(*bytes, marks[i].mark)) {
            *bytes = str_skip(*bytes, marks[i].mark.len);
            return marks[i].name;
        }
    }
    return NULL;
}

/* ---- conversion */

uint32_t page_charset_windows(unsigned char byte)
{
    static const uint16_t special[32] = {
        0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
        0x2039, 0x0152, 0x8D,   0x017D, 0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
        0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178};

    return byte >= 0x80 && byte < 0xA0 ? special[byte - 0x80] : byte;
}

static void decode_windows(str bytes, struct buf *out)
{
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char byte = (unsigned char)bytes.p[i];
        char c[4];

        buf_append(out, str_from(c, utf8_encode(page_charset_windows(byte), c)));
    }
}

/* Bytes that cannot be read become U+FFFD, each of them. */
static void decode_with(iconv_t cd, str bytes, struct buf *out)
{
    char *from = (char *)(uintptr_t)bytes.p; /* iconv() changes no byte */
    size_t left = bytes.len;

    while (left > 0) {
        char piece[4096], *to = piece;
        size_t room = sizeof(piece);
        size_t rc = iconv(cd, &from, &left, &to, &room);

        buf_append(out, str_from(piece, (size_t)(to - piece)));
        if (rc != (size_t)-1 || errno == E2BIG)
            continue;
        buf_append(out, STR(UTF8_REPLACEMENT));
        from++;
        left--;
    }
}

/* Most pages are valid UTF-8, and copied at once. */
static void decode_utf8(str bytes, struct buf *out)
{
    size_t n = utf8_valid_prefix(bytes);

    buf_append(out, str_from(bytes.p, n));
    utf8_repair(str_skip(bytes, n), out);
}

/* The analyzer of gcc takes the -1 of iconv_open() for memory that is lost. */
#ifndef __clang__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

/* Returns false when the system does not know the name. */
static bool decode_named(const char *name, str bytes, struct buf *out)
{
    iconv_t cd = iconv_open(utf8, name);

    if (cd == (iconv_t)-1)
        return false;
    decode_with(cd, bytes, out);
    (void)iconv_close(cd);
    return true;
}

#ifndef __clang__
#pragma GCC diagnostic pop
#endif

static void decode_as(const char *name, str bytes, struct buf *out)
{
    if (strcmp(name, utf8) == 0)
        decode_utf8(bytes, out);
    else if (strcmp(name, windows) == 0 || !decode_named(name, bytes, out))
        decode_windows(bytes, out);
}

void page_charset_decode(str bytes, str content_type, struct buf *out)
{
    const char *name = charset_of_mark(&bytes);

    if (name == NULL)
        name = charset_of_type(content_type);
    if (name == NULL)
        name = charset_of_meta(bytes);
    if (name == NULL)
        name = utf8_is_valid(bytes) ? utf8 : windows;
    decode_as(name, bytes, out);
}
