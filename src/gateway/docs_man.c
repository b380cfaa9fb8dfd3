/* docs_man.c -- the commands, as help text and in the man page. */
#include "base/version.h"
#include "config/config.h"
#include "config/prose.h"
#include "gateway/docs.h"

static const struct {
    const char *name, *arguments, *help;
} commands[] = {
#define COMMAND(function, name, arguments, help) {name, arguments, help},
#include "gateway/command.def"
#undef COMMAND
};

enum { N_COMMANDS = sizeof(commands) / sizeof(*commands) };

static void command(size_t i, struct buf *out)
{
    buf_c(out, "  ");
    buf_c(out, commands[i].name);
    buf_c(out, commands[i].arguments[0] == '\0' ? "" : " ");
    buf_c(out, commands[i].arguments);
    buf_char(out, '\n');
    prose_wrap(commands[i].help, out);
}

void docs_command(const char *name, struct buf *out)
{
    buf_c(out, "usage: antiphon COMMAND\n\n");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0)
            command(i, out);
    }
}

void docs_commands(struct buf *out)
{
    buf_c(out, "usage: antiphon COMMAND\n"
               "\n"
               "Gives every Chat Completions server the OpenAI Responses API.\n"
               "\n");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (commands[i].help != NULL)
            command(i, out);
    }
}

static void man_commands(struct buf *out)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (commands[i].help == NULL)
            continue;
        buf_c(out, ".TP\n\\fB");
        prose_roff(str_from_c(commands[i].name), out);
        buf_c(out, commands[i].arguments[0] == '\0' ? "" : " ");
        prose_roff(str_from_c(commands[i].arguments), out);
        buf_c(out, "\\fR\n");
        prose_roff(str_from_c(commands[i].help), out);
        buf_char(out, '\n');
    }
}

static const char head[] =
    ".\\\" Made by `make docs` from src/config/config.def and src/gateway/command.def.\n"
    ".TH ANTIPHON 1 \"\" \"antiphon " ANTIPHON_VERSION "\" \"User Commands\"\n"
    ".SH NAME\n"
    "antiphon \\- OpenAI Responses API for every Chat Completions server\n"
    ".SH SYNOPSIS\n"
    ".B antiphon serve\n"
    ".RI [ flags ]\n"
    ".br\n"
    ".B antiphon serve \\-\\-check\\-config\n"
    ".RI [ flags ]\n"
    ".br\n"
    ".B antiphon key\n"
    ".RI [ NAME ]\n"
    ".br\n"
    ".B antiphon key hash\n"
    ".I NAME\n"
    ".br\n"
    ".B antiphon store\n"
    ".RI stats|purge|export|vacuum\n"
    ".RI [ flags ]\n"
    ".br\n"
    ".B antiphon mcp\n"
    ".RI list|tools|call\n"
    ".RI [ words ]\n"
    ".RI [ flags ]\n"
    ".br\n"
    ".B antiphon help\n"
    ".br\n"
    ".B antiphon version\n"
    ".SH DESCRIPTION\n"
    "Antiphon stands in front of a server that speaks Chat Completions, such as llama.cpp,\n"
    "vLLM or Ollama, and answers requests of the OpenAI Responses API with its help:\n"
    "\\fBPOST /v1/responses\\fR, streamed and not.\n"
    "\\fB/v1/chat/completions\\fR, \\fB/v1/models\\fR and what \\fB\\-\\-relay\\fR adds\n"
    "are passed on to that server, the first with the tools that \\fB\\-\\-chat\\-tools\\fR says.\n"
    "Tools of MCP servers, which \\fB\\-\\-mcp\\-config\\fR or a request names, it runs itself.\n"
    "Responses and conversations are stored, in a file unless \\fB\\-\\-store\\fR says otherwise.\n"
    "Logs go to standard error.\n"
    ".SH COMMANDS\n";

static const char options[] =
    ".SH OPTIONS\n"
    "Every key is a flag, a variable and a member of the configuration file.\n"
    "Flags win over variables, variables over the file, and the file over the defaults.\n"
    ".PP\n"
    "Durations are written 500ms, 15s, 2m or 1h, and a bare number is seconds.\n"
    "Sizes are written 512B, 64KiB, 32MiB or 1GiB, and a bare number is bytes.\n"
    "The elements of a list are separated by commas, or the flag is repeated.\n"
    ".TP\n"
    "\\fB\\-\\-config\\fR \\fIFILE\\fR\n"
    "Configuration file; see FILES.\n"
    ".TP\n"
    "\\fB\\-\\-check\\-config\\fR\n"
    "Do not serve: name every mistake in the configuration on standard error,\n"
    "or print the configuration in effect on standard output, without secrets.\n"
    ".TP\n"
    "\\fB\\-\\-help\\fR\n"
    "Print the flags.\n";

static const char environment[] =
    ".SH ENVIRONMENT\n"
    "\\fB\\-\\-max\\-body 8MiB\\fR can be given as \\fBANTIPHON_MAX_BODY=8MiB\\fR,\n"
    "and so can every other flag.\n"
    "A variable that is empty counts as not set.\n"
    ".TP\n"
    "\\fBANTIPHON_CONFIG\\fR\n"
    "The configuration file, when there is no \\fB\\-\\-config\\fR.\n"
    ".TP\n"
    "\\fBSTATE_DIRECTORY\\fR\n"
    "Where the store is, when there is no \\fB\\-\\-store\\fR; systemd sets it.\n"
    ".PP\n"
    "Variables of open\\-responses\\-server are understood, too.\n"
    "Those above win over them.\n";

static const char rest[] =
    ".SH FILES\n"
    "The configuration file holds one JSON object; comments (// and /* */) and commas before\n"
    "closing brackets are fine.\n"
    "Its keys are the flags with underscores: \\fB\"max_body\": \"8MiB\"\\fR.\n"
    "A list is an array of strings; \\fBmodel_alias\\fR may be an object.\n"
    "No file is read unless one is named.\n"
    ".PP\n"
    "\\fBantiphon.db\\fR, in the directory that \\fBSTATE_DIRECTORY\\fR names or else in the\n"
    "current one, is what \\fB\\-\\-store\\fR is when it is not given. SQLite keeps two more files\n"
    "beside it, \\fBantiphon.db\\-wal\\fR and \\fBantiphon.db\\-shm\\fR, while a gateway runs.\n"
    ".PP\n"
    "The file that \\fB\\-\\-mcp\\-config\\fR names has the form that Claude Desktop, Cursor and\n"
    "VS Code use: \\fB{\"mcpServers\": {\"LABEL\": {\"command\": \"...\"}}}\\fR.\n"
    "docs/mcp.md has its keys.\n"
    ".SH SIGNALS\n"
    ".TP\n"
    "\\fBSIGTERM\\fR, \\fBSIGINT\\fR\n"
    "Accept no new connections, let running responses finish until \\fBdrain_timeout\\fR,\n"
    "fail the others and exit. A second one exits at once.\n"
    ".TP\n"
    "\\fBSIGHUP\\fR\n"
    "Read the file of MCP servers again; with \\fB\\-\\-mcp\\-config\\fR only.\n"
    ".SH EXIT STATUS\n"
    ".TP\n"
    "0\n"
    "Success; of \\fBserve\\fR also after a signal.\n"
    ".TP\n"
    "1\n"
    "Failure at run time, such as an address that is in use or a tool that fails.\n"
    ".TP\n"
    "2\n"
    "A mistake on the command line or in the configuration.\n"
    ".TP\n"
    "130, 143\n"
    "Ended by a second SIGINT or SIGTERM; \\fBmcp\\fR by the first.\n"
    ".SH EXAMPLES\n"
    "Try it out with the built\\-in demo model:\n"
    ".PP\n"
    ".nf\n"
    "    antiphon serve\n"
    ".fi\n"
    ".PP\n"
    "In front of a server on the same machine, for clients of the same machine:\n"
    ".PP\n"
    ".nf\n"
    "    antiphon serve \\-\\-upstream http://127.0.0.1:8000/v1\n"
    ".fi\n"
    ".PP\n"
    "On a port and a socket, with another name for a model:\n"
    ".PP\n"
    ".nf\n"
    "    antiphon serve \\-\\-listen :8080 \\-\\-listen unix:/run/antiphon.sock \\e\n"
    "        \\-\\-upstream http://127.0.0.1:8000/v1 \\-\\-model\\-alias gpt\\-4o=qwen3\n"
    ".fi\n"
    ".PP\n"
    "Check a file before it is used:\n"
    ".PP\n"
    ".nf\n"
    "    antiphon serve \\-\\-check\\-config \\-\\-config antiphon.json\n"
    ".fi\n";

void docs_man(struct buf *out)
{
    buf_c(out, head);
    man_commands(out);
    buf_c(out, options);
    config_man_options(out);
    buf_c(out, environment);
    config_man_variables(out);
    buf_c(out, rest);
}
