/* web_view.h -- what the model is shown of a page (HARMONY 2.3, browser):
 *
 *     [3] Title (https://example.org/page)
 *     **viewing lines [0 - 41] of 180**
 *
 *     L0: the first line
 *     ...
 *
 * Pure; any thread. */
#ifndef ANTIPHON_SEARCH_WEB_VIEW_H
#define ANTIPHON_SEARCH_WEB_VIEW_H

#include "search/page.h"

struct web_view {
    size_t cursor;
    const struct page *page;
    size_t first_line; /* below page->n_lines, or 0 */
    size_t n_lines;    /* at most so many; 0: no limit */
    size_t max_bytes;  /* one line is always shown */
};

/* Appends the first line alone. */
void web_head_write(const struct web_view *v, struct buf *out);

void web_view_write(const struct web_view *v, struct buf *out);

/* Appends the places where pattern occurs in the page, upper or lower case, with some text around
 * each, and the lines they are in. A pattern may stand across the end of a line. */
void web_find_write(const struct web_view *v, str pattern, struct buf *out);

#endif
