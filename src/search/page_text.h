/* page_text.h -- the text of a page while it is written: words, breaks, links.
 *
 * Breaks are asked for and happen when more text comes, so that elements around nothing leave
 * nothing. Markers ("* ", "## ") and the bars between cells wait in the same way. Pure; one
 * thread at a time. */
#ifndef ANTIPHON_SEARCH_PAGE_TEXT_H
#define ANTIPHON_SEARCH_PAGE_TEXT_H

#include "search/page_lines.h"

enum {
    PAGE_LINK_CHARS = 90,  /* of a link's text; what is more is text behind it */
    PAGE_MAX_LINKS = 4096, /* of a page; the others are text */
};

enum page_break { BREAK_NONE, BREAK_LINE, BREAK_BLANK };

struct page_text {
    struct page *page; /* gets the links, and the lines in the end */
    struct page_lines lines;
    struct buf line;   /* the paragraph being written */
    struct buf marker; /* goes before the text that comes next */
    enum page_break wanted;
    bool wants_space;
    bool is_pre; /* white space is text */
    bool row_has_cell;
    unsigned bars;     /* that separate what comes next from the cells before it */
    str link;          /* URL of the link that we are in, STR_NONE: in none */
    bool is_link_open; /* its bracket is in the line ... */
    size_t link_at;    /* ... and its text begins here */
    size_t link_chars;
    size_t cap_links;
    bool failed; /* out of memory */
};

/* The page is zeroed; its arena gets what is made. */
void page_text_init(struct page_text *t, struct page *page, size_t max_bytes);

/* Writes text of a stranger, any bytes. */
void page_text_write(struct page_text *t, str text);

void page_text_break(struct page_text *t, enum page_break wanted);
void page_text_marker(struct page_text *t, str marker);
void page_text_no_marker(struct page_text *t); /* nothing has come */
void page_text_row(struct page_text *t);       /* begins or ends */
void page_text_cell(struct page_text *t);      /* begins */

/* Text up to page_text_link_end() is a link; url lives as long as the page. */
void page_text_link(struct page_text *t, str url);
void page_text_link_end(struct page_text *t);

/* True when no more fits, so that the rest need not be read. */
bool page_text_is_full(const struct page_text *t);

/* Gives the page its lines and finishes t. False when out of memory. */
bool page_text_end(struct page_text *t);

#endif
