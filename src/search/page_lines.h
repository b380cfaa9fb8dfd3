/* page_lines.h -- paragraphs cut into the lines of a page.
 *
 * A line ends between two words, or beside a character of a script that writes without spaces,
 * or anywhere when a word is longer than a line; never inside a character, and never inside a
 * link, 【3†its text】, whose writer keeps it shorter than a line. Pure; any thread. */
#ifndef ANTIPHON_SEARCH_PAGE_LINES_H
#define ANTIPHON_SEARCH_PAGE_LINES_H

#include "search/page.h"

/* Lines that are gathered; zeroed there are none, and no limit. */
struct page_lines {
    struct buf text; /* each line with its end */
    size_t n;
    size_t max_bytes;
    bool is_blank; /* the last line is */
    bool is_cut;   /* something was left out because of the limit */
};

/* Appends one paragraph, valid UTF-8 without line ends in which only links have our brackets. An
 * empty one is a blank line, of which there is never more than one, and none at the top. What does
 * not fit is left out, with all that follows. */
void page_lines_add(struct page_lines *l, str paragraph);

/* Moves the lines into the page, without a blank one at the end, and finishes l. False when out of
 * memory. */
bool page_lines_end(struct page_lines *l, struct page *page);

#endif
