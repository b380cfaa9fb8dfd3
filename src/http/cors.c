/* cors.c -- origins are compared as texts, which is what browsers send. */
#include "http/cors.h"

enum { MAX_HEADERS_BYTES = 1024 };

static bool allows_all(const struct cors *c)
{
    for (size_t i = 0; i < c->n; i++) {
        if (str_eq(str_from_c(c->origins[i]), STR("*")))
            return true;
    }
    return false;
}

bool cors_varies(const struct cors *c)
{
    return c->n > 0 && !allows_all(c);
}

str cors_allowed_origin(const struct cors *c, str origin)
{
    if (allows_all(c))
        return STR("*");
    for (size_t i = 0; i < c->n && !str_is_none(origin); i++) {
        if (str_eq_nocase(str_from_c(c->origins[i]), origin))
            return origin;
    }
    return STR_NONE;
}

/* A character of a header name, or between two of them. */
static bool is_list_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("-_., ", c) != NULL);
}

str cors_allowed_headers(str requested)
{
    for (size_t i = 0; i < requested.len; i++) {
        if (!is_list_char(requested.p[i]))
            return STR_NONE;
    }
    return requested.len > 0 && requested.len <= MAX_HEADERS_BYTES ? requested : STR_NONE;
}
