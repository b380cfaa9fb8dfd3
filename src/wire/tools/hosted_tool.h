/* hosted_tool.h -- what a hosted tool does before it is run: how a request declares it, what the
 * model is told of it, what its calls show (CONTRACT 1.2).
 *
 * Each row of conv/hosted.def has one object, in a file of its own: hosted_web_search is that of
 * web_search, in hosted_web_search.c. How its calls are run is told in call/turn_call.h. */
#ifndef ANTIPHON_WIRE_TOOLS_HOSTED_TOOL_H
#define ANTIPHON_WIRE_TOOLS_HOSTED_TOOL_H

#include "base/buf.h"
#include "conv/reject.h"
#include "wire/tools/builtin_tool.h"
#include "wire/tools/tool_set.h"

/* One element of `tools`, an object; views in what is made of it point into it. */
struct hosted_declared {
    str raw;
    const struct path *at; /* where it stands */
    const struct tool_options *options;
    struct arena *arena;
};

struct hosted_tool {
    /* Reads what the request says of the tool into *t. It checks types before values, whether or
     * not the gateway has the tool: a request is not good in one place and bad in the other.
     * Returns 0, or -1 with *reterr filled. NULL: no member of its own is looked at. */
    int (*read)(const struct hosted_declared *d, struct tool *t, struct err *reterr);

    /* What the model is told: escaped text, and the schema of the arguments, a raw object. */
    str description;
    str (*parameters)(const struct tool *t);

    /* Of a tool whose calls are shown when all of them is known: appends to text the raw value of
     * the member that is shown, and to arguments, as escaped text, what the model reads again and
     * whoever runs the call is given. builtin: what the model has called in place of the tool, or
     * BUILTIN_NONE. Returns STR_NONE, or why there is nothing to be done: an escaped text for the
     * model that lives for good; both are filled then, too, because the item is announced before it
     * fails. When memory runs out one of the bufs has failed. */
    str (*show)(enum builtin_tool builtin, str escaped_arguments, struct buf *text,
                struct buf *arguments);
};

#define HOSTED_TOOL(symbol, type, ...) extern const struct hosted_tool hosted_##type;
#include "conv/hosted.def"

/* The object of a kind; not for HOSTED_NONE. */
const struct hosted_tool *hosted_tool(enum hosted_kind kind);

/* Checks the memory_limit of a container, as the API writes it. Returns 0, also when it is not given,
 * or -1 with *reterr filled. */
int hosted_check_memory(str escaped, const struct path *at, struct err *reterr);

/* The path of a declaration for messages about what it asks for. Returns 0, or -1 with *reterr. */
int hosted_note_place(const struct hosted_declared *d, str *ret, struct err *reterr);

#endif
