/* h1_lines.h -- looks at the lines of a head or trailer before llhttp does,
 * which reads some of them more generously than we want. */
#ifndef ANTIPHON_NET_H1_LINES_H
#define ANTIPHON_NET_H1_LINES_H

#include "base/str.h"

struct h1_lines {
    char last;         /* the byte before */
    size_t line_bytes; /* of the current line */
    bool begun;        /* a line that is not empty has been seen */
    size_t n_lines;    /* that are not empty, with the current one */
    size_t max_lines;  /* 0: no limit */
    const char *fault; /* why the next byte may not be read on; NULL: it may */
    bool is_full;      /* because it begins a line too many */
};

/* A zeroed struct is ready for a head, this one for a trailer: there the first
 * line may be the empty one that ends it. */
#define H1_LINES_TRAILER ((struct h1_lines){.last = '\n', .begun = true})

/* Returns how many of these bytes the parser may see: all, or those before a line that is refused;
 * fault says why then. The end of the lines is found on the way; nothing behind it is looked at. */
size_t h1_lines_scan(struct h1_lines *l, str s);

#endif
