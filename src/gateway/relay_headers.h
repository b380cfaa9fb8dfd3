/* relay_headers.h -- which header fields of a relayed message pass. Names are
 * in lower case. */
#ifndef ANTIPHON_GATEWAY_RELAY_HEADERS_H
#define ANTIPHON_GATEWAY_RELAY_HEADERS_H

#include <stdbool.h>
#include <stddef.h>

#include "net/header.h"

/* From the client to the upstream. */
bool relay_passes_on(str name);

/* From the upstream to the client. */
bool relay_passes_back(str name);

/* Does Connection say that a field concerns one connection only? */
bool relay_is_nominated(const struct http_header *headers, size_t n_headers, str name);

#endif
