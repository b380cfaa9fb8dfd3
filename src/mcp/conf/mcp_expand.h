/* mcp_expand.h -- ${VAR} in the configuration of MCP servers (MCP 1.5).
 *
 *     ${VAR}, ${env:VAR}      the variable; one that is not set is an error
 *     ${VAR:-default}         default when VAR is not set or empty
 *     ${userHome}             HOME
 *
 * One pass: what a variable holds is not looked at again, and $VAR without
 * braces means itself. Everything else that begins with ${ is an error, among
 * it ${input:...}, which asks a person. To write a literal ${, give it as a
 * default: ${NONE:-$}{. */
#ifndef ANTIPHON_MCP_CONF_MCP_EXPAND_H
#define ANTIPHON_MCP_CONF_MCP_EXPAND_H

#include "base/buf.h"

struct mcp_expansion {
    const char *const *env; /* "NAME=value", ends with NULL; NULL: empty */
    /* Called for each variable that was put in, unless NULL; both views die with env. */
    void (*on_value)(void *arg, str variable, str value);
    void *arg;
};

/* Appends text, expanded. Returns 0, or -1 with a phrase in *why that names the
 * reference and never a value; out holds the part before it then. A failure of
 * the bufs is for the caller to notice. */
int mcp_expand(const struct mcp_expansion *x, str text, struct buf *out, struct buf *why);

#endif
