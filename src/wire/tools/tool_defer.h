/* tool_defer.h -- tools that the model does not get to see before a search has found them (CONTRACT 1.9).
 *
 * A request with a tool of type tool_search, run by the gateway, may have tools with defer_loading. They are
 * in the set, but wait: they are not sent. The model gets a function that searches them, told how many they
 * are and what they belong to. What is found goes to the end of the set and is sent from then on, so that
 * all that was sent before stays as it was, to the byte: in the next round, and in the next turn, whose
 * history says what had been found.
 *
 * A tool that the request's tool_choice names does not wait, nor one that was called before. Without such a
 * search defer_loading means nothing; without anything to search, the search is left out. */
#ifndef ANTIPHON_WIRE_TOOLS_TOOL_DEFER_H
#define ANTIPHON_WIRE_TOOLS_TOOL_DEFER_H

#include "wire/tools/tool_choice.h"
#include "wire/tools/tool_set.h"

/* All tools of the set, the choice among them, and the items of the history are known: finds out which wait,
 * and loads what the items have found or called; index is that of the set. May be called again when there are more items. Returns 0,
 * or -1 with *reterr filled. */
int tool_defer(struct tool_set *set, const struct tool_index *index,
               const struct tool_choice *choice, const struct item_list *items, struct arena *a,
               struct err *reterr);

/* The next tool behind t, or the first of all if that is NULL, that a search may find: deferred, and not
 * kept out by the choice. NULL: no more. */
const struct tool *tool_defer_next(const struct tool_set *set, const struct tool *t);

/* A search has found the tool: it does not wait any more. One that did not wait stays where it is. */
void tool_defer_load(struct tool_set *set, const struct tool *t);

#endif
