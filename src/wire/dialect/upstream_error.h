/* upstream_error.h -- errors of upstream servers in our terms (CONTRACT 5.5, 7.3). */
#ifndef ANTIPHON_WIRE_DIALECT_UPSTREAM_ERROR_H
#define ANTIPHON_WIRE_DIALECT_UPSTREAM_ERROR_H

#include "base/err.h"
#include "base/str.h"

/* What the message of a failure begins with that is no fault of the request: clients
 * such as pi and opencode decide by these words whether to try again. */
#define UPSTREAM_CONNECTION_ERROR "Connection error: "
#define UPSTREAM_SERVER_ERROR     "Upstream server error: "

/* The message of an error without these words. */
str upstream_error_unmarked(const struct err *e);

/* Errors that an upstream tells, in three forms; each sets told_status.
 *
 * An HTTP answer other than 2xx. The message is the upstream's, with URLs and
 * keys masked; a body that holds none is described by its status.
 * retry_after_s 0: not given. */
void upstream_error_from_answer(int status, int retry_after_s, str body, struct err *ret);

/* An error inside a 200 stream: the value of `error` (an object or a string),
 * or a flat object with `message`. */
void upstream_error_from_value(str json, struct err *ret);

/* Only a text. */
void upstream_error_from_text(str text, struct err *ret);

/* Does an answer with status 503, or the message of an error, say that a model is being loaded
 * (OPERATIONS 4.6)? */
bool upstream_error_is_loading(str text);

#endif
