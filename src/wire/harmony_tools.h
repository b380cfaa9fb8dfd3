/* harmony_tools.h -- the tools of a request as a Harmony prompt shows them (HARMONY 2.3). */
#ifndef ANTIPHON_WIRE_HARMONY_TOOLS_H
#define ANTIPHON_WIRE_HARMONY_TOOLS_H

#include "wire/harmony_message.h"
#include "wire/tool_set.h"

/* What a model calls a tool: label and name of a tool of an MCP server (escaped, or STR_NONE),
 * `functions` and upstream_name (plain) for all others. */
struct harmony_name harmony_tool_name(str server_label, str tool_name, str upstream_name);

struct harmony_name harmony_tool_name_of(const struct tool *t);

/* Is any of those that are sent a function? */
bool harmony_tools_have_functions(const struct tool_set *set);

/* Appends the section `# Tools` with those that are sent, plain text that still has to be made
 * harmless. out fails when memory runs out. */
void harmony_tools_write(const struct tool_set *set, struct buf *out);

/* Appends each line of a text (escaped) as a comment; an empty text has none. */
void harmony_comment_write(str escaped, struct buf *out);

#endif
