/* cite.h -- what a model writes to cite a page it has seen: 【3†L5-L9】, 【3†L5】, 【3†source】 or
 * 【3】 (HARMONY 2.3: the browser's own words tell models so), and what stands in its place for
 * readers. Pure; any thread. */
#ifndef ANTIPHON_TEXT_CITE_H
#define ANTIPHON_TEXT_CITE_H

#include <stdint.h>

#include "base/buf.h"

enum { CITE_MAX_BYTES = 96 }; /* of a marker, escaped; what is longer is none */

struct cite_marker {
    unsigned cursor;
    int64_t first_line, last_line; /* -1: it names none */
};

/* Place of the first marker of an escaped text, as UTF-8 or in escapes. */
struct cite_found {
    enum {
        CITE_NONE, /* all of it is text */
        CITE_OPEN, /* at `at` begins what more text may make a marker */
        CITE_WHOLE,
    } state;
    size_t at, end;
    struct cite_marker marker; /* WHOLE */
};

struct cite_found cite_find(str escaped);

/* Appends `([host](url))`, a link in Markdown, as escaped text. What could end the link early or
 * be no URL is percent-encoded. url is plain. */
void cite_write_link(str url, struct buf *out);

#endif
