/* client_tool.h -- tools that clients run and for which the API has types of their own: shell,
 * apply_patch and the like (CONTRACT 1.2).
 *
 * The model knows each as a function, by the name of its type. What its calls become is told in
 * response/client_call.h. */
#ifndef ANTIPHON_WIRE_TOOLS_CLIENT_TOOL_H
#define ANTIPHON_WIRE_TOOLS_CLIENT_TOOL_H

#include "wire/tools/tool_set.h"

struct client_tool {
    str description; /* escaped; that of the request comes first where it may have one */
    str parameters;  /* raw; the same */
};

/* What the model is told of a tool of this kind; NULL: it is none of them. */
const struct client_tool *client_tool(enum tool_kind kind);

#endif
