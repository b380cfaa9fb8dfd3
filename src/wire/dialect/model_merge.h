/* model_merge.h -- one model of several servers, as an element of one list (OPERATIONS 4.3). */
#ifndef ANTIPHON_WIRE_DIALECT_MODEL_MERGE_H
#define ANTIPHON_WIRE_DIALECT_MODEL_MERGE_H

#include "base/buf.h"

/* Appends the element of a model under the name that clients give it, plain: that of the first server that has
 * one, with this name as its id, and behind its own members those that lists have and it has not. How much fits
 * into the model is what fits into it wherever a request may go.
 *
 * elements: of the servers, in the order in which they count, as they list the model: valid JSON objects, or
 * STR_NONE of one that does not. */
void model_merge_write(str name, const str *elements, size_t n, struct buf *out);

#endif
