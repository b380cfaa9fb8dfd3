/* chat_tools.h -- the tools of a request as Chat Completions servers know them. */
#ifndef ANTIPHON_WIRE_CHAT_TOOLS_H
#define ANTIPHON_WIRE_CHAT_TOOLS_H

#include "wire/tool_set.h"
#include "json/json_write.h"

/* Writes the array of the tools that are sent; of those just one when only is
 * not NULL. */
void chat_tools_write(const struct tool_set *set, const struct tool *only, struct jw *w);

#endif
