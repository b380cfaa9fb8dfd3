/* tool_name.h -- the name under which the upstream knows a tool (CONTRACT 1.2).
 *
 * Clients may use any characters and put tools into namespaces; Chat
 * Completions servers take [A-Za-z0-9_-]{1,64}. The name depends on nothing but
 * the client's names, so the tools of a request and the calls of an old
 * conversation meet under the same one. */
#ifndef ANTIPHON_CONV_TOOL_NAME_H
#define ANTIPHON_CONV_TOOL_NAME_H

#include "base/arena.h"
#include "base/str.h"

enum { TOOL_NAME_MAX = 64 };

/* One of [A-Za-z0-9_-]. */
bool tool_name_is_char(char c);

/* Such characters only, 1 to TOOL_NAME_MAX of them? Labels of MCP servers look the same. */
bool tool_name_is_clean(str name);

/* Both arguments are escaped; name_space may be STR_NONE. The result is plain
 * text, a view of name when nothing has to change. STR_NONE when out of memory. */
str tool_name_for_upstream(struct arena *a, str name_space, str name);

#endif
