/* harmony_builtin.h -- the tools a Harmony model was trained with, python and browser, in place of
 * the functions code_interpreter and web_search (HARMONY 2.3, 3).
 *
 * A conversation has their calls with the arguments of those functions; a prompt has them as the
 * model knows them: python gets the code, browser.search, .open and .find get the arguments
 * without the action, a URL as id. */
#ifndef ANTIPHON_WIRE_HARMONY_HARMONY_BUILTIN_H
#define ANTIPHON_WIRE_HARMONY_HARMONY_BUILTIN_H

#include "wire/harmony/harmony_message.h"
#include "wire/tools/builtin_tool.h"
#include "wire/tools/tool_set.h"

/* The builtins that are there: described in the system message, not among the functions. */
struct harmony_builtins {
    bool has_browser, has_python;
};

/* True when one of the builtins that are there stands for the hosted tool. */
bool harmony_builtin_serves(struct harmony_builtins b, enum hosted_kind kind);

/* What a call of such a tool goes to; arguments: plain, maybe no JSON. */
enum builtin_tool harmony_builtin_called(enum hosted_kind kind, str arguments);

/* `python`, `browser.search` and so on: the recipient of a call, and who answers it. */
struct harmony_name harmony_builtin_name(enum builtin_tool tool);

/* Appends what the call says, plain. What cannot be taken apart is said as it is. */
void harmony_builtin_write(enum builtin_tool tool, str arguments, struct buf *out);

#endif
