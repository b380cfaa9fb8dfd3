/* chat_tools.h -- the tools of a request as Chat Completions servers know them. */
#ifndef ANTIPHON_WIRE_CHAT_CHAT_TOOLS_H
#define ANTIPHON_WIRE_CHAT_CHAT_TOOLS_H

#include "json/json_write.h"
#include "wire/tools/tool_choice.h"

/* What the model is told of a tool, as the inside of a JSON string. */
void chat_tool_describe(const struct tool *t, struct buf *out);

/* The schema of its arguments, raw; STR_NONE: it has none. */
str chat_tool_parameters(const struct tool *t);

/* Writes the array of the tools that are sent; of those just what the choice leaves
 * when it is not NULL. describes_all: what has no description has an empty one. */
void chat_tools_write(const struct tool_set *set, const struct tool_choice *choice,
                      bool describes_all, struct jw *w);

#endif
