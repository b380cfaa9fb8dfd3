/* page_html.h -- HTML as the lines of a page. Any thread. */
#ifndef ANTIPHON_SEARCH_PAGE_HTML_H
#define ANTIPHON_SEARCH_PAGE_HTML_H

#include "search/page.h"

/* Reads html, which is UTF-8, into page: its title, links and lines. page->url is the base of its
 * links. False when out of memory. */
bool page_html_read(str html, bool is_xml, size_t max_text_bytes, struct page *page);

#endif
