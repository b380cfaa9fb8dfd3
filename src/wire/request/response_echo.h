/* response_echo.h -- what the response object repeats of the request (CONTRACT 3).
 *
 * The same bytes stand in every event and in the final body, so a turn may
 * write them once and keep them. */
#ifndef ANTIPHON_WIRE_REQUEST_RESPONSE_ECHO_H
#define ANTIPHON_WIRE_REQUEST_RESPONSE_ECHO_H

#include "base/buf.h"
#include "wire/request/responses_request.h"

/* Appends the members from "background" to "prompt_cache_key" and the optional
 * ones, in one line, without braces and without a comma at either end. */
void responses_request_echo(const struct responses_request *r, struct buf *out);

#endif
