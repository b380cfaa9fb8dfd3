/* web_url.h -- URLs as models write them. Pure; any thread. */
#ifndef ANTIPHON_SEARCH_WEB_URL_H
#define ANTIPHON_SEARCH_WEB_URL_H

#include "base/arena.h"

/* The URL of the page that a model means: without fragment, with https:// when it has no scheme.
 * STR_NONE when it is no URL of a page in the web, or when out of memory. */
str web_url_read(str given, struct arena *a);

#endif
