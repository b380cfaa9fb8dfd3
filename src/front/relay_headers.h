/* relay_headers.h -- which header fields of a relayed message pass. Names are
 * in lower case. */
#ifndef ANTIPHON_FRONT_RELAY_HEADERS_H
#define ANTIPHON_FRONT_RELAY_HEADERS_H

#include <stdbool.h>
#include <stddef.h>

#include "http/http_server.h"

struct flight;

/* Of a body whose coding was taken off. */
enum relay_coding { RELAY_WITH_CODING, RELAY_WITHOUT_CODING };

/* From the client to the upstream; out has room for all that came. Returns how many. */
size_t relay_headers_on(const struct http_request *r, enum relay_coding coding,
                        struct http_header *out);

/* What is for the gateway to say, as bits: which pages may see the answer, and what limits the client has. */
enum relay_own { RELAY_OWN_CORS = 1, RELAY_OWN_LIMITS = 2 };

/* From the upstream to the client, likewise, without what the gateway says itself. */
size_t relay_headers_back(const struct http_header *headers, size_t n_headers, unsigned own,
                          struct http_header *out);

/* What the gateway says of the answer to a flight. */
unsigned relay_headers_own(const struct flight *f);

#endif
