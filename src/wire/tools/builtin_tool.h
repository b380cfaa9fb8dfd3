/* builtin_tool.h -- tools that a model was trained with, which it calls in a form of their own
 * (HARMONY 3). */
#ifndef ANTIPHON_WIRE_TOOLS_BUILTIN_TOOL_H
#define ANTIPHON_WIRE_TOOLS_BUILTIN_TOOL_H

#include "conv/hosted.h"

enum builtin_tool {
    BUILTIN_NONE,
#define HOSTED_BUILTIN(symbol, ...) BUILTIN_##symbol,
#include "conv/hosted.def"
    BUILTIN_TOOL_COUNT,
};

/* The hosted tool that a builtin stands for. */
enum hosted_kind builtin_tool_hosted(enum builtin_tool tool);

#endif
