/* url.h -- a URL taken apart (RFC 3986), the same way for all who ask.
 *
 *     https://me:pass@example.org:8443/path?query#fragment
 *     scheme  userinfo    host     port
 *             `------ authority ------'
 *
 * Splitting judges nothing: every text has parts. What may be connected to, kept or shown
 * is for the caller, who asks url_host_is_clear() before a host decides about that. Pure. */
#ifndef ANTIPHON_BASE_URL_H
#define ANTIPHON_BASE_URL_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* Views into the text, without the delimiters; STR_NONE: absent. */
struct url {
    str scheme;
    str authority; /* what follows "//" */
    str userinfo;  /* all before the last "@" of the authority */
    str host;      /* with the brackets of an IPv6 address; "" when only the authority is there */
    str port;
    str path;   /* never STR_NONE; "" or begins with "/" behind an authority */
    str target; /* path and query, as requests name them */
    str query, fragment;
};

/* Splits any text, also a relative reference (RFC 3986, appendix B). */
struct url url_split(str text);

/* "host", "host:port", "user@[::1]:80": an authority that stands alone. */
struct url url_split_authority(str authority);

/* True for http: or https: with an authority. */
bool url_is_http(const struct url *u);
bool url_is_https(const struct url *u);

/* True when there is a host, the same one for all programs that read the URL. Not when one could
 * end the authority, the user or the host elsewhere: no second "@" (users and passwords write %40),
 * backslash, white space or control character in the authority, no brackets but those around an
 * IPv6 address, no "%" in a name, only digits behind the ":". */
bool url_host_is_clear(const struct url *u);

/* The port, or usual_port where none is written. False when it is no number from 1 to 65535. */
bool url_port(const struct url *u, uint16_t usual_port, uint16_t *ret);

/* The host without the brackets of an IPv6 address. */
str url_bare_host(const struct url *u);

/* Appends the URL as it can be shown: without userinfo, query and fragment, where people
 * put keys. Where there is no authority, all before the last "@" may be userinfo. */
void url_write_shown(str text, struct buf *out);

#endif
