/* client_tool.c -- what the model is told of each; the members of the arguments are those of the
 * items, so that what a client sends back reads like what the model has written. */
#include "wire/tools/client_tool.h"

/* clang-format off */
static const struct client_tool local_shell = {
    STR_INIT("Run a command on the user's machine and read what it prints."),
    STR_INIT("{\"type\":\"object\",\"properties\":{"
             "\"command\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
             "\"description\":\"The program and its arguments.\"},"
             "\"workdir\":{\"type\":\"string\",\"description\":\"Directory to run it in.\"},"
             "\"timeout_ms\":{\"type\":\"integer\",\"description\":\"Stop it after this time.\"},"
             "\"env\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"},"
             "\"description\":\"Additional environment variables.\"}},"
             "\"required\":[\"command\"]}"),
};

static const struct client_tool shell = {
    STR_INIT("Run shell commands on the user's machine and read what they print."),
    STR_INIT("{\"type\":\"object\",\"properties\":{"
             "\"commands\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
             "\"description\":\"Command lines for the shell. None may depend on another: they may "
             "run at the same time.\"},"
             "\"timeout_ms\":{\"type\":\"integer\",\"description\":\"Stop them after this time.\"},"
             "\"max_output_length\":{\"type\":\"integer\","
             "\"description\":\"Return no more characters than these of what they print.\"}},"
             "\"required\":[\"commands\"]}"),
};

static const struct client_tool apply_patch = {
    STR_INIT("Create, change or delete one file of the user."),
    STR_INIT("{\"type\":\"object\",\"properties\":{"
             "\"type\":{\"type\":\"string\","
             "\"enum\":[\"create_file\",\"update_file\",\"delete_file\"]},"
             "\"path\":{\"type\":\"string\",\"description\":\"The file.\"},"
             "\"diff\":{\"type\":\"string\",\"description\":\"Not to delete a file. To create one: "
             "all of its lines, each with + before it. To update one: for each place a line @@, "
             "with the head of the function or class behind it where that is needed to find the "
             "place, then lines of the file: those that stay with a space before them, some above "
             "and below the change, those that go with -, and those that come with +. There are no "
             "line numbers.\"}},"
             "\"required\":[\"type\",\"path\"]}"),
};

static const struct client_tool tool_search = {
    STR_INIT("Search for further tools by what they are needed for. Those that are found can be "
             "called from then on."),
    STR_INIT("{\"type\":\"object\",\"properties\":{"
             "\"query\":{\"type\":\"string\",\"description\":\"What the tools are to do.\"}},"
             "\"required\":[\"query\"]}"),
};
/* clang-format on */

const struct client_tool *client_tool(enum tool_kind kind)
{
    switch (kind) {
    case TOOL_LOCAL_SHELL:
        return &local_shell;
    case TOOL_SHELL:
        return &shell;
    case TOOL_APPLY_PATCH:
        return &apply_patch;
    case TOOL_CLIENT_SEARCH:
        return &tool_search;
    default:
        return NULL;
    }
}
