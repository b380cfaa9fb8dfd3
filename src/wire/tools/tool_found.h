/* tool_found.h -- the tools that a search has found, as the elements of `tools` of a tool_search_output
 * (CONTRACT 1.9, 3.1): functions and custom tools as they were declared, those of a namespace in it, those
 * of a server as the names that are allowed of it. Pure. */
#ifndef ANTIPHON_WIRE_TOOLS_TOOL_FOUND_H
#define ANTIPHON_WIRE_TOOLS_TOOL_FOUND_H

#include "wire/tools/tool_set.h"

/* Puts tools of one namespace or server behind each other, where the first of them is. What is found is
 * loaded in this order, so that whoever reads the item later loads it in the same. */
void tool_found_group(const struct tool **tools, size_t n);

/* Appends the elements, without brackets, of tools that were grouped. */
void tool_found_write(const struct tool *const *tools, size_t n, struct buf *out);

/* What the model is told of tools (raw) that a search has found: each by the name that the set has for it.
 * Escaped; STR_NONE when out of memory. */
str tool_found_text(const struct tool_set *set, str tools, struct arena *a);

#endif
