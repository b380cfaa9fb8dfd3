/* relay_headers.h -- which header fields of a relayed message pass. Names are
 * in lower case. */
#ifndef ANTIPHON_FRONT_RELAY_HEADERS_H
#define ANTIPHON_FRONT_RELAY_HEADERS_H

#include <stdbool.h>
#include <stddef.h>

#include "http/http_server.h"

/* Of a body whose coding was taken off. */
enum relay_coding { RELAY_WITH_CODING, RELAY_WITHOUT_CODING };

/* From the client to the upstream; out has room for all that came. Returns how many. */
size_t relay_headers_on(const struct http_request *r, enum relay_coding coding,
                        struct http_header *out);

/* From the upstream to the client, likewise. has_cors: what pages of which origins may
 * see is for the gateway to say. */
size_t relay_headers_back(const struct http_header *headers, size_t n_headers, bool has_cors,
                          struct http_header *out);

#endif
