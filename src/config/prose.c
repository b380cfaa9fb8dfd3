/* prose.c -- lines of words, and roff escapes. */
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

/* Characters that roff would obey or replace by a typographic cousin. */
static const char *roff_escape(char c)
{
    switch (c) {
    case '\\':
        return "\\e";
    case '-':
        return "\\-";
    case '\'':
        return "\\(aq";
    case '^':
        return "\\(ha";
    case '~':
        return "\\(ti";
    case '.': /* at the start of a line it would begin a request */
        return "\\&.";
    default:
        return NULL;
    }
}

void prose_roff(str text, struct buf *out)
{
    bool is_bold = false;

    for (size_t i = 0; i < text.len; i++) {
        const char *escape = text.p[i] == '.' && i > 0 ? NULL : roff_escape(text.p[i]);

        if (text.p[i] == '`') {
            is_bold = !is_bold;
            buf_c(out, is_bold ? "\\fB" : "\\fR");
        } else if (escape != NULL) {
            buf_c(out, escape);
        } else {
            buf_char(out, text.p[i]);
        }
    }
}
