/* docs_mcp.c -- the page about MCP servers: prose, and the keys of an entry from
 * mcp_config_key.def. */
#include "gateway/docs.h"

static const char introduction[] =
    "# MCP servers\n"
    "\n"
    "The gateway can run tools itself: those of MCP servers. The model calls them, the gateway\n"
    "asks the server, and the model goes on with the result; the client sees all of it as items\n"
    "and events of one response. A server is *configured*, which is what most of this page is\n"
    "about, or *remote*: named by a request with its URL.\n"
    "\n"
    "Made from src/gateway/docs_mcp.c and src/mcp/mcp_config_key.def by `make docs`.\n"
    "\n"
    "## A first server\n"
    "\n"
    "The file is the one that other programs have, `mcpServers` as for Claude Desktop and\n"
    "Cursor or `servers` as for VS Code; comments and commas too many are fine:\n"
    "\n"
    "```json\n"
    "{\n"
    "  \"mcpServers\": {\n"
    "    \"files\": {\"command\": \"npx\", \"args\": [\"-y\", \"@modelcontextprotocol/server-filesystem\", "
    "\"/srv\"]},\n"
    "    \"docs\": {\"url\": \"https://docs.example.com/mcp\", \"bearerTokenEnv\": \"DOCS_TOKEN\"}\n"
    "  }\n"
    "}\n"
    "```\n"
    "\n"
    "Try it without a gateway, then serve it:\n"
    "\n"
    "    antiphon mcp list --mcp-config servers.json\n"
    "    antiphon serve --mcp-config servers.json --upstream http://127.0.0.1:8000/v1\n"
    "\n"
    "A request gets the tools of a server by its label:\n"
    "\n"
    "    {\"model\": \"qwen3\", \"input\": \"What is in /srv?\",\n"
    "     \"tools\": [{\"type\": \"mcp\", \"server_label\": \"files\", \"require_approval\": \"never\"}]}\n"
    "\n"
    "A label has up to 64 letters, digits, `_` and `-`. A mistake in an entry turns that one off,\n"
    "with a warning, and leaves the others; `antiphon serve --check-config` names every mistake.\n"
    "\n"
    "## Transports\n"
    "\n"
    "* **stdio**: the gateway starts `command` and talks to it over its standard input and output;\n"
    "  what it writes to standard error goes to the log. No shell is used, so each word is an\n"
    "  element of `args`. It is started again when it ends, at growing intervals.\n"
    "* **Streamable HTTP**: `url`, of all revisions from 2025-03-26 to 2026-07-28.\n"
    "* **HTTP+SSE** of 2024-11-05: `url` as well. Without a `type` the gateway finds out which of\n"
    "  the two it is, and tries HTTP+SSE first when the path ends in `/sse`.\n"
    "\n"
    "One connection to a server is shared by all requests. Servers start beside the gateway,\n"
    "which does not wait for them unless they are `required`; until a server is ready its tools\n"
    "are not offered. A request that names its label waits for the first list of tools, as long\n"
    "as `--mcp-remote-timeout` says.\n"
    "\n"
    "## Secrets\n"
    "\n"
    "`${VAR}` in `command`, `args`, `env`, `cwd`, `url`, `headers` and tokens stands for a variable\n"
    "of the gateway, `${VAR:-default}` for one that may be missing, `${userHome}` for the home\n"
    "directory. A variable that is not set is a mistake; `${input:...}`, which asks a person, is one\n"
    "as well. A process gets a few variables of the gateway's own and those its entry names, never\n"
    "the keys of the gateway. Values of headers and variables, tokens and the queries of URLs are\n"
    "not logged, stored or sent to clients, and are taken out of what servers say in errors.\n"
    "\n"
    "## Keys of an entry\n";

static const char sections[] =
    "\n"
    "Keys that are not listed have no effect, and cause a warning.\n"
    "\n"
    "Limits that no key moves: 256 servers in a file of 1 MiB; 256 calls that wait for one server;\n"
    "1000 tools of a server, on 100 pages with 16 MiB in all; 256 KiB and 64 levels of the schema\n"
    "of a tool, 16 KiB of its description. A longer list is not taken; a tool with a larger schema\n"
    "is left out, with a warning; a longer description is cut.\n"
    "\n"
    "## Approval\n"
    "\n"
    "A call that needs approval ends the response with an `mcp_approval_request`; the client goes\n"
    "on with an `mcp_approval_response`. `require_approval` of the request says which calls do, and\n"
    "`requireApproval` of the entry those that need it in any case. Where neither says anything,\n"
    "calls of configured servers need none, and those of remote ones do\n"
    "(`--mcp-remote-approval`).\n"
    "\n"
    "An approval is the word of the client: the gateway asks for it, and takes it from whoever may\n"
    "send requests. A client that keeps the history itself (`store: false`) sends the request for\n"
    "approval back together with its answer, so it could make one up. To keep a tool from a client,\n"
    "leave it out with `excludeTools`.\n"
    "\n"
    "## Tools for every request\n"
    "\n"
    "With `\"inject\": \"always\"`, or `--mcp-inject always` for all servers, the tools join requests\n"
    "that name no label, as open-responses-server has it. The model sees a tool as\n"
    "`mcp__LABEL__TOOL`; `--mcp-tool-names bare` shows its own name as long as that is free. A\n"
    "function of the request always keeps its name.\n"
    "\n"
    "## Tools in Chat Completions\n"
    "\n"
    "`/v1/chat/completions`, whose requests cannot name a label, gets the tools that `--chat-tools`\n"
    "says: those of all configured servers unless it says otherwise, but none that needs an\n"
    "approval, since nobody can be asked. The gateway runs what the model calls and asks it again;\n"
    "the client gets one completion or one stream, with the usage of all rounds. After\n"
    "`--max-tool-rounds` the request fails with the code `tool_iteration_limit`.\n"
    "\n"
    "Calls of the client's own functions are returned to it. When the model calls both in one\n"
    "round, the gateway's are run and the client gets its own alone; what the others have brought\n"
    "is not kept, and the model asks again if it still needs it. Where there are no tools to offer,\n"
    "and when `tool_choice` is `none` or `n` above 1, a request is passed on as it came, but for\n"
    "the alias of a model.\n"
    "\n"
    "## Remote servers\n"
    "\n"
    "A tool of type `mcp` with a `server_url`, and `headers` or `authorization` when it needs them,\n"
    "brings its own server. By default (`--mcp-remote public`) only `https` and hosts with public\n"
    "addresses are allowed: a client must not reach through the gateway what only the gateway can\n"
    "reach. `off` allows none, `any` all; `--mcp-remote-allow` and `--mcp-remote-deny` name hosts.\n"
    "Redirects are not followed. Connections and lists are shared between requests with the same\n"
    "URL and credentials, and end after `--mcp-remote-idle`.\n"
    "\n"
    "## What there is, over HTTP\n"
    "\n"
    "`GET /v1/mcp/servers` lists the configured servers by label, each with `server_label`,\n"
    "`enabled`, `available`, `required`, `transport`, and `error` when something is wrong.\n"
    "`GET /v1/mcp/servers/{label}/tools` has `name`, `description` and `input_schema` of each tool\n"
    "that clients may use; it answers 404 for an unknown label, 409 when the server is not\n"
    "available, and 503 while it has not been listed for the first time. Both need a key where\n"
    "other requests do. Remote servers are not listed.\n"
    "\n"
    "## What there is, at a terminal\n"
    "\n"
    "    antiphon mcp list --mcp-config servers.json\n"
    "    antiphon mcp tools docs --mcp-config servers.json\n"
    "    antiphon mcp call docs search '{\"query\": \"install\"}' --mcp-config servers.json\n"
    "    antiphon mcp call --url https://docs.example.com/mcp \\\n"
    "        --header 'Authorization: Bearer ${DOCS_TOKEN}' search '{\"query\": \"install\"}'\n"
    "\n"
    "They start the servers for themselves, beside a gateway that runs or without one. `--json`\n"
    "prints what the endpoints above answer; `-` in place of the arguments reads them from standard\n"
    "input. Ctrl-C cancels a call at the server. The exit status is 0; 1 when a server cannot be\n"
    "used or the call has failed, with the reason on standard error; 2 for a mistake on the command\n"
    "line. `--log-level debug` shows more.\n"
    "\n"
    "## Changing the file\n"
    "\n"
    "`kill -HUP` has a gateway with `--mcp-config` read the file again. Servers whose entry has not\n"
    "changed go on, changed ones start anew, removed ones end; calls that are under way finish. A\n"
    "file that cannot be read changes nothing, and an entry with a mistake leaves the server as it\n"
    "was; the log says what is wrong.\n"
    "\n"
    "## When it does not work\n"
    "\n"
    "| What is seen | What to look at |\n"
    "|---|---|\n"
    "| a server is not available | `antiphon mcp list`, or `error` of `/v1/mcp/servers`: both say "
    "why |\n"
    "| a program is not found | `command` is looked for in the `PATH` of the gateway, which under "
    "systemd is short; write the whole path, or give `PATH` in `env` |\n"
    "| a process misses a variable | it gets few; name it in `env` or `inheritEnv` |\n"
    "| it works in a shell only | no shell is used: no `~`, `*`, `&&` or `$VAR` without braces |\n"
    "| 401 or 403 | the token; servers that ask for OAuth are not supported, unless a token is "
    "given |\n"
    "| the model does not call a tool | does the request name the label, or is `inject` set; does "
    "the model know tools at all? |\n"
    "| a remote server is refused | `--mcp-remote`, and whether its name has public addresses only "
    "|\n"
    "| what the server itself says | its lines of standard error are in the gateway's log, with "
    "its label |\n";

/* ---- the keys */

static const struct row {
    enum { GROUP_ROW, KEY_ROW, ALSO_ROW } kind;
    const char *name, *initial, *help;
} rows[] = {
#define GROUP(title)                     {GROUP_ROW, title, NULL, NULL},
#define KEY(symbol, name, initial, help) {KEY_ROW, name, initial, help},
#define ALSO(symbol, name)               {ALSO_ROW, name, NULL, NULL},
#include "mcp/mcp_config_key.def"
};

enum { ROWS = sizeof(rows) / sizeof(*rows) };

static void group(const char *title, struct buf *out)
{
    buf_c(out, "\n### ");
    buf_c(out, title);
    buf_c(out, "\n\n| Key | Default | Meaning |\n|---|---|---|\n");
}

static void key(size_t i, struct buf *out)
{
    const struct row *row = &rows[i];

    buf_c(out, "| `");
    buf_c(out, row->name);
    for (i++; i < ROWS && rows[i].kind == ALSO_ROW; i++) {
        buf_c(out, "`, `");
        buf_c(out, rows[i].name);
    }
    buf_c(out, "` | ");
    buf_c(out, row->initial);
    buf_c(out, row->initial[0] == '\0' ? "| " : " | ");
    buf_c(out, row->help);
    buf_c(out, " |\n");
}

void docs_mcp(struct buf *out)
{
    buf_c(out, introduction);
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].kind == GROUP_ROW)
            group(rows[i].name, out);
        else if (rows[i].kind == KEY_ROW)
            key(i, out);
    }
    buf_c(out, sections);
}
