/* tool_fields.h -- the members of one element of `tools`, for all types.
 *
 * Parsing needs them to know the tools, the echo to write them back. */
#ifndef ANTIPHON_WIRE_TOOLS_TOOL_FIELDS_H
#define ANTIPHON_WIRE_TOOLS_TOOL_FIELDS_H

#include "base/err.h"
#include "base/str.h"
#include "conv/reject.h"

struct tool_fields {
    str type, name, description, parameters, strict; /* parameters raw, as are the following */
    str function, format, tools;
    str server_label, server_url, server_description, authorization; /* escaped */
    str headers, allowed_tools, require_approval, connector_id, tunnel_id;
    str allowed_callers, execution, environment;
    str async, defer_loading, output_schema; /* for the echo; only their types are looked at */
};

/* raw is one element; it must be an object. */
int tool_fields_read(str raw, const struct path *at, struct tool_fields *ret, struct err *reterr);

/* Chat clients write {type, function: {name, ...}}: moves those members up.
 * Only for type "function". */
int tool_fields_flatten(struct tool_fields *f, const struct path *at, struct err *reterr);

/* Has a list, raw or STR_NONE, nothing but texts in it? Returns 0, or -1 with *reterr filled. */
int tool_fields_check_texts(str list, const struct path *at, struct err *reterr);

#endif
