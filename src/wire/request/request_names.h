/* request_names.h -- the calls of a request's history by the names that the model sees now. */
#ifndef ANTIPHON_WIRE_REQUEST_REQUEST_NAMES_H
#define ANTIPHON_WIRE_REQUEST_REQUEST_NAMES_H

#include "wire/request/responses_request.h"

/* Of the gateway's own tools, which its tools must be known for. */
void request_name_own_calls(struct responses_request *r);

/* Of those and of MCP tools: all tools are known. Returns 0, or -1 with *reterr when out of
 * memory. */
int request_name_calls(struct responses_request *r, struct arena *a, struct err *reterr);

#endif
