/* cors.h -- which web pages may read our answers (the CORS protocol of
 * https://fetch.spec.whatwg.org). Off unless origins are configured; credentials
 * (cookies) are never allowed. Pure. */
#ifndef ANTIPHON_HTTP_CORS_H
#define ANTIPHON_HTTP_CORS_H

#include "base/str.h"

struct cors {
    const char *const *origins; /* "https://chat.example.org", or "*" for all; borrowed */
    size_t n;                   /* 0: off */
};

/* True when answers differ with the origin that asks; they say so then (Vary). */
bool cors_varies(const struct cors *c);

/* The Access-Control-Allow-Origin for a request with this Origin (or STR_NONE),
 * or STR_NONE when there is to be none. */
str cors_allowed_origin(const struct cors *c, str origin);

/* The Access-Control-Allow-Headers for a preflight that asks for these: the same
 * when they are a short list of names, else STR_NONE. */
str cors_allowed_headers(str requested);

#endif
