/* search_action.h -- arguments of a search as the action of a web_search_call item (CONTRACT 1.2,
 * 3.1; HARMONY 3).
 *
 * A model writes {"action":"search","query":...} and the like, or calls a tool of its browser,
 * which names the action; what it says besides is the same. Models leave things out and fill in
 * what they need not, so an action that lacks what it needs becomes the one that its arguments
 * allow, and texts that are empty count as not given. */
#ifndef ANTIPHON_WIRE_TOOLS_SEARCH_ACTION_H
#define ANTIPHON_WIRE_TOOLS_SEARCH_ACTION_H

#include "base/buf.h"
#include "wire/tools/builtin_tool.h"

/* tool: BUILTIN_NONE, or the one of the browser. Appends
 *
 *     to action     {"type":"search","query":...}, {"type":"open_page","url":...} or
 *                   {"type":"find_in_page","pattern":...,"url":...}; a page without a URL has that
 *                   of its place: "cursor:N"
 *     to arguments  {"action":"search",...} and so on, as escaped text, with all else that the
 *                   model has given
 *
 * Returns STR_NONE, or why there is nothing to be done: an escaped text for the model that lives
 * for good. Then texts may be empty. When memory runs out one of the bufs has failed. */
str search_action(enum builtin_tool tool, str escaped_arguments, struct buf *action,
                  struct buf *arguments);

#endif
