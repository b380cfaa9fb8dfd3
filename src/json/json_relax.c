/* json_relax.c -- one pass that knows strings, comments and the last comma. */
#include "json/json_relax.h"

#include "base/utf8.h"

static size_t string_end(str text, size_t i)
{
    for (i++; i < text.len && text.p[i] != '"'; i++) {
        if (text.p[i] == '\\')
            i++;
    }
    return i < text.len ? i : text.len - 1;
}

/* Last byte of the comment that starts at i. */
static size_t comment_end(str text, size_t i)
{
    str rest = str_skip(text, i + 2);
    size_t n;

    if (text.p[i + 1] == '/')
        n = str_find_char(rest, '\n');
    else
        n = str_find(rest, STR("*/")) + 2;
    n += i + 1;
    return n < text.len ? n : text.len - 1;
}

static void blank_range(char *p, size_t from, size_t to)
{
    for (size_t i = from; i <= to; i++) {
        if (p[i] != '\n')
            p[i] = ' ';
    }
}

void json_relax(char *p, size_t len)
{
    str text = str_from(p, len);
    size_t comma = len;

    if (str_starts_with(text, STR("\xEF\xBB\xBF")))
        blank_range(p, 0, 2);
    for (size_t i = 0; i < len; i++) {
        if (p[i] == '/' && i + 1 < len && (p[i + 1] == '/' || p[i + 1] == '*')) {
            size_t end = comment_end(text, i);

            blank_range(p, i, end);
            i = end;
            continue;
        }
        if (str_is_space(p[i]))
            continue;
        if ((p[i] == '}' || p[i] == ']') && comma < len)
            p[comma] = ' ';
        comma = p[i] == ',' ? i : len;
        if (p[i] == '"')
            i = string_end(text, i);
    }
}

void json_relax_place(str text, size_t offset, size_t *ret_line, size_t *ret_column)
{
    size_t line = 1, start = 0;

    for (size_t i = 0; i < offset; i++) {
        if (text.p[i] == '\n') {
            line++;
            start = i + 1;
        }
    }
    *ret_line = line;
    *ret_column = utf8_count(str_from(text.p + start, offset - start)) + 1;
}
