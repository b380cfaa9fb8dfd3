/* web_list.h -- results of a search as a page: for each a link, its URL, what it says. Pure; any
 * thread. */
#ifndef ANTIPHON_SEARCH_WEB_LIST_H
#define ANTIPHON_SEARCH_WEB_LIST_H

#include "search/web_session.h"

enum { WEB_MAX_RESULTS = 50 }; /* more are left out */

struct web_list {
    const struct web_source *results;
    const size_t *first_lines; /* of each result */
    size_t n;
};

/* Makes the page, whose links are the results, and the list, which lives in the arena. A
 * searcher's answer that is no list of results becomes the text of the page. Returns 0, or -1 when
 * out of memory. */
int web_list_make(str query, const struct search_results *results, struct arena *a,
                  struct web_list *ret, struct page *ret_page);

/* The result that a line belongs to, or NULL. */
const struct web_source *web_list_at(const struct web_list *list, int64_t line);

#endif
