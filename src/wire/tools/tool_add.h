/* tool_add.h -- tools come into a set, each under an upstream name that no other has (CONTRACT 1.2).
 *
 * Part of reading them (tool_set.h), which declares tool_set_add_mcp() as well. */
#ifndef ANTIPHON_WIRE_TOOLS_TOOL_ADD_H
#define ANTIPHON_WIRE_TOOLS_TOOL_ADD_H

#include "wire/tools/tool_set.h"

/* At the end, or before those that a search has loaded when it is none of them: what a model reads of
 * tools begins as it did before. It is sent unless allowed_tools says otherwise later. */
void tool_add(struct tool_set *set, struct tool *t);

/* Takes one out that tool_add() has put into the set. */
void tool_remove(struct tool_set *set, const struct tool *t);

/* Fills *reterr, since another tool has the upstream name of t. Returns -1. */
int tool_add_reject(const struct tool *t, struct err *reterr);

/* Tools of the set that have no upstream name yet get theirs: the client's keep what they are
 * called, so of two that would have the same name it is the gateway's that gets another. Returns
 * 0, or -1 with *reterr filled. */
int tool_add_names(struct tool_set *set, struct tool_index *index, struct arena *a,
                   struct err *reterr);

#endif
