/* roff.c -- roff escapes. */
#include "roff.h"

/* Characters that roff would obey or replace by a typographic cousin. */
static const char *escape_of(char c)
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

void roff_text(str text, struct buf *out)
{
    bool is_bold = false;

    for (size_t i = 0; i < text.len; i++) {
        const char *escape = text.p[i] == '.' && i > 0 ? NULL : escape_of(text.p[i]);

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

void roff_c(const char *text, struct buf *out)
{
    roff_text(str_from_c(text), out);
}
