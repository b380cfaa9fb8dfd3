/* harmony_tools.h -- the tools of a request as a Harmony prompt shows them (HARMONY 2.3). */
#ifndef ANTIPHON_WIRE_HARMONY_HARMONY_TOOLS_H
#define ANTIPHON_WIRE_HARMONY_HARMONY_TOOLS_H

#include "wire/harmony/harmony_builtin.h"

/* What a model calls a tool: label and name of a tool of an MCP server (escaped, or STR_NONE),
 * `functions` and upstream_name (plain) for all others. */
struct harmony_name harmony_tool_name(str server_label, str tool_name, str upstream_name);

struct harmony_name harmony_tool_name_of(const struct tool *t);

/* Of the tools that are sent, is any a function; is any shown at all by harmony_tools_write()? Those
 * that the model has are neither. */
bool harmony_tools_have_functions(const struct tool_set *set, struct harmony_builtins builtins);
bool harmony_tools_are_shown(const struct tool_set *set, struct harmony_builtins builtins);

/* Appends the section `# Tools` with them, plain text that still has to be made harmless. out fails
 * when memory runs out. */
void harmony_tools_write(const struct tool_set *set, struct harmony_builtins builtins,
                         struct buf *out);

/* Appends each line of a text (escaped) as a comment; an empty text has none. */
void harmony_comment_write(str escaped, struct buf *out);

#endif
