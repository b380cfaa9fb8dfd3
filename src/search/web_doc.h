/* web_doc.h -- what the views of a session show: pages, and lists of results as pages.
 *
 * Where something came from stays known as long as the session, for citations; the page itself
 * is forgotten when there is too much of them. One thread. */
#ifndef ANTIPHON_SEARCH_WEB_DOC_H
#define ANTIPHON_SEARCH_WEB_DOC_H

#include "search/web_list.h"

struct web_doc {
    str url;              /* where it came from; "" of a list */
    str asked;            /* the URL that led there; "" of a list */
    str title;            /* "" when it has none */
    struct web_list list; /* empty of a page */
    struct page *page;    /* NULL: forgotten */
    struct web_doc *next;
};

/* The docs of a session; zeroed there are none. */
struct web_docs {
    struct arena arena; /* all but the pages */
    struct web_doc *first, *last;
    size_t held_bytes;
};

void web_docs_fini(struct web_docs *d);

/* Adds a doc, which takes what is in the page. list is NULL of a page, and its views live in the
 * arena. NULL when out of memory; then the page is finished. */
struct web_doc *web_docs_add(struct web_docs *d, str asked, const struct web_list *list,
                             struct page *page);

/* The page of this URL, as it was asked for or where it led, if it is still held; or NULL. */
struct web_doc *web_docs_find(const struct web_docs *d, str url);

/* Forgets pages, the oldest first but never this one, until no more than max_bytes are held. */
void web_docs_limit(struct web_docs *d, size_t max_bytes, const struct web_doc *kept);

/* A page that is used elsewhere stays when its doc is forgotten. On the thread of the session. */
void web_page_ref(struct page *page);
void web_page_unref(struct page *page);

#endif
