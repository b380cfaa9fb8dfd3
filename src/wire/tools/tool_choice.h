/* tool_choice.h -- which tools the model may or must call (CONTRACT 1.4). */
#ifndef ANTIPHON_WIRE_TOOLS_TOOL_CHOICE_H
#define ANTIPHON_WIRE_TOOLS_TOOL_CHOICE_H

#include "base/err.h"
#include "wire/tools/tool_set.h"

enum tool_choice_mode {
    TOOL_CHOICE_NOT_GIVEN,
    TOOL_CHOICE_AUTO,
    TOOL_CHOICE_NONE,
    TOOL_CHOICE_REQUIRED,
    TOOL_CHOICE_TOOL,   /* the model has to call .tool */
    TOOL_CHOICE_SERVER, /* it has to call a tool of the MCP server .server_label, or of any when
                           that is none; no others are sent */
};

struct tool_choice {
    enum tool_choice_mode mode;
    const struct tool *tool;
    /* For the echo of an object, else STR_NONE. */
    str type, name;    /* escaped */
    str server_label;  /* escaped; also what TOOL_CHOICE_SERVER is about */
    str allowed_tools; /* raw array */
};

/* "auto", "none" or "required". */
const char *tool_choice_word(enum tool_choice_mode mode);

/* raw is the field's value or STR_NONE. allowed_tools marks what is sent in *set.
 * With a partial index only the form of the choice is checked; what it would be bound to
 * is found when it is read again with the whole one. */
int tool_choice_parse(str raw, const struct tool_index *index, struct tool_set *set,
                      struct arena *a, struct tool_choice *ret, struct err *reterr);

/* Is it one of the tools that the choice leaves the model? */
bool tool_choice_leaves(const struct tool_choice *c, const struct tool *t);

#endif
