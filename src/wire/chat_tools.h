/* chat_tools.h -- the tools of a request as Chat Completions servers know them. */
#ifndef ANTIPHON_WIRE_CHAT_TOOLS_H
#define ANTIPHON_WIRE_CHAT_TOOLS_H

#include "wire/tool_choice.h"
#include "json/json_write.h"

/* Writes the array of the tools that are sent; of those just what the choice leaves
 * when it is not NULL. */
void chat_tools_write(const struct tool_set *set, const struct tool_choice *choice, struct jw *w);

#endif
