/* context_size.h -- how large a request was, and how large it may be, as the error of an upstream
 * tells it (CONTRACT 15.4). */
#ifndef ANTIPHON_WIRE_DIALECT_CONTEXT_SIZE_H
#define ANTIPHON_WIRE_DIALECT_CONTEXT_SIZE_H

#include "base/err.h"

/* Reads a message, plain or escaped. Zeroes stand for what it does not say, and for all of it when
 * its numbers do not explain a refusal. */
struct err_tokens context_size_read(str message);

/* Fills *e: a request has more tokens than fit into the context of its model, in the one form in which
 * that is told where both numbers are known (CONTRACT 15.4). */
void context_size_error(struct err *e, int64_t limit, int64_t request);

/* Numbers that the upstream sent as such, judged by the same rule. */
struct err_tokens context_size_check(struct err_tokens t);

#endif
