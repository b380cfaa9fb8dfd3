/* tool_own.h -- what a request says of the tools that are the gateway's own: code_interpreter,
 * and web_search by any of its names (CONTRACT 1.2).
 *
 * Both check types before values, whether or not the gateway has the tool: a request is not
 * good in one place and bad in the other. raw is one element of `tools`, an object; views in
 * *ret point into it. Both return 0, or -1 with *reterr filled. */
#ifndef ANTIPHON_WIRE_TOOLS_TOOL_OWN_H
#define ANTIPHON_WIRE_TOOLS_TOOL_OWN_H

#include "conv/reject.h"
#include "wire/tools/tool_set.h"

/* Without a container, and with files, of which the gateway has none, it is a 400. */
int tool_own_read_code(str raw, const struct path *at, struct arena *a,
                       struct code_declaration *ret, struct err *reterr);

/* Is it a memory_limit as the API writes it? 0 also when it is not given. */
int tool_own_check_memory(str escaped, const struct path *at, struct err *reterr);

/* Leaves ret->opens_pages what the request allows. */
int tool_own_read_search(str raw, const struct path *at, struct arena *a,
                         struct search_declaration *ret, struct err *reterr);

#endif
