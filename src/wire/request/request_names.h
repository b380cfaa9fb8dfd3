/* request_names.h -- the calls of a request's history by the names that the model sees now. */
#ifndef ANTIPHON_WIRE_REQUEST_REQUEST_NAMES_H
#define ANTIPHON_WIRE_REQUEST_REQUEST_NAMES_H

#include "wire/request/responses_request.h"

/* Names the calls of hosted tools; r->tools has to be complete but for server tools. */
void request_name_own_calls(struct responses_request *r);

/* Names the calls of hosted and of server tools, once all tools are known. Returns 0, or -1 with
 * *reterr when out of memory. */
int request_name_calls(struct responses_request *r, struct arena *a, struct err *reterr);

#endif
