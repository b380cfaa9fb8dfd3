/* mcp_env_file.h -- the text of an `envFile` (MCP 1.3, 4.4).
 *
 *     # a comment
 *     NAME=value               blanks around name and value do not count
 *     export NAME=value        as shells have it
 *     NAME=value # comment     a blank and # end a bare value
 *     NAME='as it stands'
 *     NAME="with \n \r \t \" \\ and $ escaped"
 *
 * Nothing is expanded: a $ is a $. Pure. */
#ifndef ANTIPHON_MCP_CONF_MCP_ENV_FILE_H
#define ANTIPHON_MCP_CONF_MCP_ENV_FILE_H

#include "base/err.h"
#include "base/str.h"

/* Views die when it returns. False ends the reading: out of memory. */
typedef bool mcp_env_file_on_var(void *arg, str name, str value);

/* Calls on_var for each variable in the order of the file. Returns 0, or -1 with
 * a message that names the line, never its text: it may hold a secret. Variables
 * before that line have been handed out. */
int mcp_env_file_read(str text, mcp_env_file_on_var *on_var, void *arg, struct err *reterr);

#endif
