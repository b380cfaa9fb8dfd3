/* prose.c -- lines of words. */
#include "config/prose.h"

enum { LINE_CHARS = 80, INDENT = 6 };

static void indent(struct buf *out)
{
    for (int i = 0; i < INDENT; i++)
        buf_char(out, ' ');
}

void prose_wrap(const char *text, struct buf *out)
{
    str rest = str_from_c(text);
    size_t column = 0;

    while (rest.len > 0) {
        str word = str_from(rest.p, str_find_char(rest, ' '));

        rest = str_skip(rest, word.len + 1);
        if (column > 0 && column + 1 + word.len > LINE_CHARS) {
            buf_char(out, '\n');
            column = 0;
        }
        if (column == 0)
            indent(out);
        else
            buf_char(out, ' ');
        column += (column == 0 ? INDENT : 1) + word.len;
        buf_append(out, word);
    }
    buf_char(out, '\n');
}
