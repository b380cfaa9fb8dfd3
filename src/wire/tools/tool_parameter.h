/* tool_parameter.h -- what the schema of a tool says about one of its parameters. */
#ifndef ANTIPHON_WIRE_TOOLS_TOOL_PARAMETER_H
#define ANTIPHON_WIRE_TOOLS_TOOL_PARAMETER_H

#include "base/str.h"

/* Its type: "string", "integer" ..., a view into parameters (a raw JSON schema, or STR_NONE), the
 * first that is not null when it may have several. Empty when that is not said. */
str tool_parameter_type(str parameters, str name);

#endif
