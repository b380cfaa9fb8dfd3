/* client_call.h -- calls of the tools that clients run and the API has item types for, as what the
 * item shows of their arguments (CONTRACT 1.2, 3.1). Announced when all of it is known. */
#ifndef ANTIPHON_RESPONSE_CLIENT_CALL_H
#define ANTIPHON_RESPONSE_CLIENT_CALL_H

#include "response/output_item.h"

/* True for the kinds that client_call_write() knows. */
bool client_call_is(enum output_kind kind);

/* Appends the raw value of the member that the item shows.
 *
 * Arguments of another form than we asked for still make an item, which does nothing and tells the
 * model so: a command of one word, the text itself, or a change of a directory. */
void client_call_write(enum output_kind kind, str escaped_arguments, struct buf *out);

#endif
