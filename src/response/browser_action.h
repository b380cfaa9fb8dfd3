/* browser_action.h -- arguments of the model's browser as the action of a web_search_call item
 * (HARMONY 3). */
#ifndef ANTIPHON_RESPONSE_BROWSER_ACTION_H
#define ANTIPHON_RESPONSE_BROWSER_ACTION_H

#include "base/buf.h"
#include "wire/delta.h"

/* Appends {"type":"search","query":...}, {"type":"open_page","url":...} or
 * {"type":"find_in_page","pattern":...,"url":...}. False when the arguments are no JSON object:
 * then the texts are empty, and there is nothing to be done. */
bool browser_action(enum builtin_tool tool, str escaped_arguments, struct buf *out);

#endif
