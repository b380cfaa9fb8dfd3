/* response_read.h -- a response from what is stored of it: the inverse of response_object_head(),
 * response_object_tail() and output_item_write().
 *
 * The events of such a response can be sent again, and response_object() gives the bytes that were
 * stored. Nothing else is there: no calls under way, nothing that only the model was told, no tools.
 * Reading is exact: what would not be written again byte by byte is refused (output_item_read.h). Pure;
 * any thread. */
#ifndef ANTIPHON_RESPONSE_RESPONSE_READ_H
#define ANTIPHON_RESPONSE_RESPONSE_READ_H

#include "response/output_item_read.h"
#include "response/response.h"

/* Fills *ret, which is not to be initialised before, must not be moved afterwards, and is given to
 * response_fini(). All it holds is copied: the texts may go. conf: what of the events does not stand
 * in the object (error_event, obfuscation); its echo and created_at are those of the object, its ids
 * may be NULL. items: the bodies that clients see, in their order.
 *
 * next_sequence_number is 0: how many events there were, the cuts tell. Returns 0, or -1 with *reterr
 * filled and nothing to free. Linear in the bytes. */
int response_read(const struct response_conf *conf, str head, str tail, const str *items,
                  size_t n_items, struct response *ret, struct err *reterr);

#endif
