/* page_url.h -- where a link leads. Any thread. */
#ifndef ANTIPHON_SEARCH_PAGE_URL_H
#define ANTIPHON_SEARCH_PAGE_URL_H

#include "base/arena.h"

/* What href means on a page at base: an absolute URL of http or https in the arena, without its
 * fragment. STR_NONE when it is anything else (mailto:, javascript:), a place on the same page,
 * longer than URL_MAX_BYTES, or when memory runs out. */
str page_url_resolve(str base, str href, struct arena *a);

#endif
