/* h1_lines.c -- every header line ends in CR LF, begins with a name, and is not
 * continued on the next (RFC 9112, 2.2, 5.1 and 5.2). */
#include "net/h1_lines.h"

/* Lines are counted here, since the parser tells of one only when its name is whole. */
static void count_line(struct h1_lines *l, char c)
{
    if (l->line_bytes > 0 || c == '\r' || c == '\n')
        return;
    l->n_lines++;
    l->is_full = l->max_lines != 0 && l->n_lines > l->max_lines;
}

static const char *fault_at(const struct h1_lines *l, char c)
{
    if (l->last == '\n' && (c == ' ' || c == '\t'))
        return "A header line begins with a space.";
    if (l->last == '\n' && c == ':')
        return "A header field has no name.";
    if (c == '\n' && l->last != '\r')
        return "A header line ends without CR.";
    return l->is_full ? "The request has too many header fields." : NULL;
}

size_t h1_lines_scan(struct h1_lines *l, str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];

        count_line(l, c);
        l->fault = fault_at(l, c);
        if (l->fault != NULL)
            return i;
        if (c == '\n' && l->line_bytes == 0 && l->begun)
            return s.len;
        if (c == '\n')
            l->line_bytes = 0;
        else if (c != '\r')
            l->line_bytes++;
        l->begun = l->begun || l->line_bytes > 0;
        l->last = c;
    }
    return s.len;
}
