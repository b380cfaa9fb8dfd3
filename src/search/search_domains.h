/* search_domains.h -- the hosts of URLs, and the domains that a client names. Pure. */
#ifndef ANTIPHON_SEARCH_SEARCH_DOMAINS_H
#define ANTIPHON_SEARCH_SEARCH_DOMAINS_H

#include <stdbool.h>

#include "base/str.h"

/* The host of an http or https URL, without port and the dot at its end; a view into url. False
 * when the URL is anything else, or could be read in two ways: with a user, a backslash, spaces,
 * control characters, or a host that is not ASCII. */
bool search_url_host(str url, str *ret);

/* A domain as clients write it ("example.org", "*.example.org", "https://example.org/") as the
 * bare name, a view into it; STR_NONE when there is none in it. */
str search_domain(str written);

#endif
