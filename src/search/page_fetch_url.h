/* page_fetch_url.h -- URLs of pages as models and redirects write them, as one that the URL policy
 * can judge. Pure. */
#ifndef ANTIPHON_SEARCH_PAGE_FETCH_URL_H
#define ANTIPHON_SEARCH_PAGE_FETCH_URL_H

#include "base/arena.h"

/* What a reference means on the page at base, or base is STR_NONE and the reference is a URL:
 * without fragment, without "." and ".." in the path, with spaces and other alphabets as %XX.
 * STR_NONE when nothing is meant by it, or when out of memory. */
str page_fetch_url(str base, str reference, struct arena *a);

#endif
