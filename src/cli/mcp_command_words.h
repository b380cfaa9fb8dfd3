/* mcp_command_words.h -- the command line of `antiphon mcp`, read and checked. */
#ifndef ANTIPHON_CLI_MCP_COMMAND_WORDS_H
#define ANTIPHON_CLI_MCP_COMMAND_WORDS_H

#include "config/config.h"
#include "http/header_policy.h"
#include "mcp/conf/mcp_config.h"

enum { MCP_COMMAND_MAX_WORDS = 3 };

enum mcp_action { MCP_ACTION_LIST, MCP_ACTION_TOOLS, MCP_ACTION_CALL, MCP_ACTIONS };

struct mcp_command {
    enum mcp_action action;
    bool as_json;
    struct config config;
    struct mcp_config *servers; /* of the file, or the one of --url */
    str label;                  /* of the server that is meant; STR_NONE: all */
    str tool;                   /* of MCP_ACTION_CALL */
    str arguments;              /* of MCP_ACTION_CALL: raw, an object; points into input or words */
    struct buf input;           /* what stood on standard input */
};

/* False when the first word names no action. */
bool mcp_command_find(const char *word, enum mcp_action *ret);

/* Fills *c from the words behind the action's name, the configuration and the file of
 * servers. Returns 0, or -1 with an error among the problems. Finish *c either way. */
int mcp_command_read(struct mcp_command *c, enum mcp_action action, int n_args,
                     const char *const *args, struct config_problems *problems);
void mcp_command_fini(struct mcp_command *c);

#endif
