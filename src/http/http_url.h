/* http_url.h -- the URLs that the direct transport serves, taken apart.
 *
 * Only plain ones: the odd cases of URLs (users, fragments, bytes that must be
 * escaped, hosts in other alphabets or too long) and all refusals are libcurl's,
 * which knows them all. */
#ifndef ANTIPHON_HTTP_HTTP_URL_H
#define ANTIPHON_HTTP_HTTP_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Views into the URL, except for constants. */
struct http_url {
    str socket_path; /* of a unix: URL, else STR_NONE */
    str host;        /* name or address, without brackets; STR_NONE in a unix: URL */
    uint16_t port;
    str authority; /* for Host: without port 80 */
    str target; /* path and query; "" when the URL ends behind the host, and may begin with "?" */
};

/* Splits a URL; false when it is not plain http:// or unix:. */
bool http_url_split(const char *url, struct http_url *ret);

/* "unix:/path.sock:/prefix/more" is split at the first ":/" behind the path;
 * the target is "/" when there is none. False for other schemes and for a path
 * that is not absolute. */
bool http_url_is_unix(const char *url, str *ret_path, const char **ret_target);

#endif
