/* header.h -- one header field of an HTTP message. */
#ifndef ANTIPHON_NET_HEADER_H
#define ANTIPHON_NET_HEADER_H

#include "base/str.h"

struct http_header {
    str name, value;
};

#endif
