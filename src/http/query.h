/* query.h -- the query of a URL, as name=value&name=value. */
#ifndef ANTIPHON_HTTP_QUERY_H
#define ANTIPHON_HTTP_QUERY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/* A field of a query, decoded, in the arena. */
struct query_field {
    str name, value; /* value: "" when there is no = */
};

struct query {
    struct query_field *fields;
    size_t n;
};

/* Reads the fields of a query; false when out of memory. Every text is a query. */
bool query_read(str text, struct arena *a, struct query *ret);

/* The value of that name, of several the last, or STR_NONE. */
str query_value(const struct query *q, str name);

#endif
