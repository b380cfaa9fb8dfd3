/* output_item_read.h -- an item of the output from its JSON, as output_item_write() has written it.
 *
 * Reading is exact: what would not be written again byte by byte is refused, because the events
 * that are cut from it would not be those that were sent. So items of gateways that wrote another
 * form are refused, and what is read needs no further check. Pure; any thread. */
#ifndef ANTIPHON_RESPONSE_OUTPUT_ITEM_READ_H
#define ANTIPHON_RESPONSE_OUTPUT_ITEM_READ_H

#include "base/err.h"
#include "response/output_item.h"

/* Fills *ret, which must not be moved afterwards and is given to output_item_fini(). What it holds
 * is copied: short texts into the arena, long ones into the item's own bufs; body may go.
 *
 *     kind        reasoning_text parts are OUTPUT_PART_REASONING: the JSON does not tell which events
 *                 they had
 *     status      of an item without one: failed when it has an error, else completed
 *     citations   one for each annotation of a part, with its place in the annotations and no more
 *     n_said      all of the text
 *     index, tool, upstream_id, and what only the model is told: not set
 *
 * An item that was announced and is still open can be read like one that is done. Returns 0, or -1
 * with *reterr filled and *ret empty. One pass for each level of the item's JSON, and one to compare. */
int output_item_read(str body, struct arena *a, struct output_item *ret, struct err *reterr);

/* Reads a part alone, which goes to the end of the item and becomes its open one. NULL with *reterr
 * filled: the item is then only good for output_item_fini(). */
struct output_part *output_part_read(str body, struct arena *a, struct output_item *item,
                                     struct err *reterr);

/* One more annotation of a part, raw. Returns 0, or -1 with *reterr filled. */
int output_part_annotate(struct output_part *p, str annotation, struct arena *a,
                         struct err *reterr);

/* The id of an item or a response; false when text cannot be one. */
bool output_item_read_id(str text, struct id *ret);

#endif
