/* mcp_command.h -- `antiphon mcp`: MCP servers tried out without a gateway. */
#ifndef ANTIPHON_CLI_MCP_COMMAND_H
#define ANTIPHON_CLI_MCP_COMMAND_H

/* args: list, tools or call, its words, and flags: its own and those of `antiphon serve`.
 * Prints what was asked for. Returns the exit status of the process (main.c): 0, 1 when a
 * server cannot be reached or a call has failed, 2 for a mistake on the command line, 130
 * after SIGINT. */
int mcp_command(int n_args, const char *const *args);

#endif
