/* request_body.h -- the JSON that a request carries. */
#ifndef ANTIPHON_GATEWAY_REQUEST_BODY_H
#define ANTIPHON_GATEWAY_REQUEST_BODY_H

#include "http/http_server.h"

/* Checks that the body may be JSON and takes its coding off; a view that lives like
 * those of the request. Returns 0, or -1 with *reterr filled: 400, 413, 415, 500. */
int request_body(struct http_exchange *x, const struct http_request *r, str *ret,
                 struct err *reterr);

#endif
