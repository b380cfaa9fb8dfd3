/* refuse.h -- requests that are refused at their head, before anything was done for them. */
#ifndef ANTIPHON_FRONT_REFUSE_H
#define ANTIPHON_FRONT_REFUSE_H

#include "ev/log_reject.h"
#include "http/http_server.h"

/* Answers with the error; a line `rejected` in the log names the reason. */
void refuse_request(struct http_exchange *x, const struct http_request *r,
                    enum reject_reason reason, const struct err *e);

/* Answers who has no key or a wrong one. */
void refuse_caller(struct http_exchange *x, const struct http_request *r, const struct err *e);

/* Answers whom api_keys_identify_admin() has refused. */
void refuse_for_admin(struct http_exchange *x, const struct http_request *r, const struct err *e);

/* Refuses when there is no memory for another request, nor for its body as far as its length is known.
 * Returns whether it has. */
bool refuse_without_memory(struct http_exchange *x, const struct http_request *r);

#endif
