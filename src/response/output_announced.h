/* output_announced.h -- an item and a part as they were when they were added, made of what became of them. */
#ifndef ANTIPHON_RESPONSE_OUTPUT_ANNOUNCED_H
#define ANTIPHON_RESPONSE_OUTPUT_ANNOUNCED_H

#include "response/output_item.h"

/* What has to be noted of an item when it is announced, because its JSON will not tell it any more: the
 * text of a call that is shown whole, which what it came to may replace. STR_NONE: nothing. */
str output_announced_note(const struct output_item *item);

/* The item in progress, without parts and results, and without text unless all of it was known; note: what
 * was noted then, or STR_NONE if the item has it still. The views are those of item and note. */
struct output_item output_item_announced(const struct output_item *item, str note);

/* The part without its text. */
struct output_part output_part_announced(const struct output_part *part);

#endif
