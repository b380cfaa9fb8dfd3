/* builtin_tool.c -- tools of models by the hosted tools that they stand for. */
#include "wire/tools/builtin_tool.h"

enum hosted_kind builtin_tool_hosted(enum builtin_tool tool)
{
    static const enum hosted_kind kinds[BUILTIN_TOOL_COUNT] = {
        [BUILTIN_NONE] = HOSTED_NONE,
#define HOSTED_BUILTIN(symbol, hosted, ...) [BUILTIN_##symbol] = HOSTED_##hosted,
#include "conv/hosted.def"
    };

    return kinds[tool];
}
