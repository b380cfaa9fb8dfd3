/* header.h -- one header field of an HTTP message. */
#ifndef ANTIPHON_BASE_HEADER_H
#define ANTIPHON_BASE_HEADER_H

#include "base/str.h"

struct http_header {
    str name, value;
};

/* RFC 9110, 5.6.2: what names are made of. */
static inline bool header_is_name_char(char c)
{
    char small = str_lower_char(c);

    return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

bool header_is_name(str name);

/* Printable ASCII and tabs: a value that every server takes. */
bool header_is_value(str value);

#endif
