/* output_result.h -- what the model was told by hosted tools, and how it wrote its calls, as the
 * items that the store keeps for it (CONTRACT 2.1; conv/item.h has their form). No client sees
 * them. */
#ifndef ANTIPHON_RESPONSE_OUTPUT_RESULT_H
#define ANTIPHON_RESPONSE_OUTPUT_RESULT_H

#include "base/arena.h"
#include "response/output_item.h"

/* True when there is more to be kept of the item than it shows: for calls of hosted tools that have
 * ended, hidden ones included, and for those of server tools that have an id of the upstream's. */
bool output_result_exists(const struct output_item *item);

/* Appends it, for an item that has one, as one line. */
void output_result_write(const struct output_item *item, struct buf *out);

#endif
