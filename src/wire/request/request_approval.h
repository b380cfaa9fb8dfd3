/* request_approval.h -- what the client says about calls that wait for it (CONTRACT 2.1; MCP 15.3
 * to 15.6).
 *
 * A response to an approval request is an item of `input`; the request it answers
 * stands in the history or in the input as well. What was declined becomes a call
 * with an output that says so, in the place of the response. What was approved is
 * to be run before the model is asked.
 *
 * A call is never run twice: one that was has an mcp_call with the id of the request,
 * and an answer in the history belongs to a request before this one, which has run the
 * call or failed. So answers of the history are no mistakes of this request either. */
#ifndef ANTIPHON_WIRE_REQUEST_REQUEST_APPROVAL_H
#define ANTIPHON_WIRE_REQUEST_REQUEST_APPROVAL_H

#include "wire/request/responses_request.h"

/* Finds the request of each response among r's items, which are complete, and fills
 * r->approved but for the tools. Returns 0, or -1 with *reterr: a 400 about a response
 * without a request, or about one of either that comes twice. */
int request_approval_read(struct responses_request *r, const struct id_source *ids, struct arena *a,
                          struct err *reterr);

/* Finds the tools of r->approved in r->tools. Returns 0, or -1 with *reterr: a 400 that
 * names a server or tool that the request does not have. */
int request_approval_bind(struct responses_request *r, struct err *reterr);

#endif
