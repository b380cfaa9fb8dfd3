/* mcp_env.h -- the environment of a server process (MCP 4.4). Pure.
 *
 *     what the gateway has, if it is on the list of mcp_env.c or inherited by the
 *     configuration  <-  envFile  <-  env                         the later wins
 *
 * Everything else the gateway has been given stays with it. */
#ifndef ANTIPHON_MCP_CONF_MCP_ENV_H
#define ANTIPHON_MCP_CONF_MCP_ENV_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct mcp_env_var {
    str name, value;
};

struct mcp_env_source {
    const char *const *parent; /* the gateway's own, ends with NULL; or NULL: none */
    const str *inherit;        /* further names to take from it */
    size_t n_inherit;
    bool inherits_all;

    /* The gateway's own secrets: never taken from the parent, however its names
     * are asked for. A name that ends in * stands for all that start so. */
    const str *withheld;
    size_t n_withheld;

    str file; /* the text of the envFile; STR_NONE: there is none */

    const struct mcp_env_var *vars; /* `env` of the entry, already expanded */
    size_t n_vars;
};

/* The environment as execve() takes it, in the arena; ends with NULL. Returns NULL
 * with *reterr filled for a name or value that cannot be in an environment, a bad
 * line of the file, or when out of memory. Messages never show a value. */
const char *const *mcp_env_build(const struct mcp_env_source *source, struct arena *a,
                                 struct err *reterr);

/* True for a variable that every child gets. */
bool mcp_env_is_always(str name);

#endif
