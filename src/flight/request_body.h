/* request_body.h -- how much work the body of a request is. */
#ifndef ANTIPHON_FLIGHT_REQUEST_BODY_H
#define ANTIPHON_FLIGHT_REQUEST_BODY_H

#include "http/http_server.h"

/* About how many bytes there are to read: what a coding hides may be of any size. */
size_t request_body_weight(const struct http_request *r);

#endif
