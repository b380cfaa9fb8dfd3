/* builtin_tool.h -- tools that a model was trained with, which it calls in a form of their own
 * (HARMONY 3). */
#ifndef ANTIPHON_WIRE_TOOLS_BUILTIN_TOOL_H
#define ANTIPHON_WIRE_TOOLS_BUILTIN_TOOL_H

enum builtin_tool {
    BUILTIN_NONE,
    BUILTIN_PYTHON, /* the pieces of its arguments are the code */
    BUILTIN_BROWSER_SEARCH,
    BUILTIN_BROWSER_OPEN,
    BUILTIN_BROWSER_FIND,
};

#endif
