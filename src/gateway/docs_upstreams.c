/* docs_upstreams.c -- the page about kinds of servers: prose, and upstream_kind.def. */
#include "gateway/docs.h"

#include "wire/upstream_kind.h"

static const char introduction[] =
    "# Upstreams\n"
    "\n"
    "Servers of Chat Completions differ in what they understand. The gateway finds out which kind it\n"
    "has in front of it, and asks it accordingly.\n"
    "\n"
    "Made from src/gateway/docs_upstreams.c and src/wire/upstream_kind.def by `make docs`.\n"
    "\n"
    "## How a server is recognised\n"
    "\n"
    "1. `--upstream-kind`, when it is not `auto`.\n"
    "2. The host in the URL, for OpenAI, Azure, Mistral, OpenRouter, Groq and DeepSeek. They are not\n"
    "   asked.\n"
    "3. Else the server is asked with GET, one path after the other and no more than needed:\n"
    "   `/v1/models`, and beside `/v1` the paths `/props` (llama.cpp), `/version` (vLLM),\n"
    "   `/api/version` (Ollama) or `/get_server_info` (SGLang). Headers count (`Server: llama.cpp`),\n"
    "   `owned_by` of models, and how it says that it has no such path (LM Studio). The requests carry\n"
    "   `--upstream-key`, if there is one, and `User-Agent: antiphon/VERSION`. A server on the Internet\n"
    "   (https and a domain) is asked for its models, and for more only when these have named it.\n"
    "4. What the server says in answers to the requests of clients: headers and, where it serves no\n"
    "   more than one model, `system_fingerprint`.\n"
    "\n"
    "All of that takes `--upstream-probe-timeout` at most, and begins when the gateway starts; requests\n"
    "that come earlier wait for it. A server that cannot be reached is asked again with the next\n"
    "request, not more often than every second, or every ten when it was silent. After it was lost or\n"
    "has broken off an answer, while it says 503, and when another `Server` header comes, it is asked\n"
    "again, more and more rarely (up to a minute) as long as it says the same: it may be another\n"
    "server, or have loaded its model.\n"
    "\n"
    "The log says once what was found, and again when that changes: `upstream recognised\n"
    "kind=llama.cpp by=server_header version=b9999-d32676d77`, or `upstream not\n"
    "recognised kind=generic why=unreachable` (`no_answer`: it was silent; `unknown_server`). So does\n"
    "`antiphon serve --check-config`, which asks the server for that. What llama.cpp shows of its model is used as\n"
    "well: the chat template for what messages it takes, and the name of the file for the family of a\n"
    "model whose own name tells nothing ([models.md](models.md)).\n"
    "\n"
    "## What follows\n"
    "\n"
    "A key that is not `auto` (`kind` for `tool_choice_support`) wins over the table.\n"
    "\n"
    "* `token_field`, `tool_choice_support`, `thinking_switch`, `include_usage`: see\n"
    "  [config.md](config.md).\n"
    "* Format and tools: whether `text.format` goes out together with tools, or after the last call.\n"
    "* Unfinished: whether a conversation that ends with an unfinished message of the assistant is\n"
    "  continued where it stopped: the server does `itself`, is `told`, or cannot (-).\n"
    "* Model settings: of [models.md](models.md), where these are `auto`.\n"
    "\n"
    "| `upstream_kind` | `token_field` | `tool_choice_support` | Format and tools | "
    "`thinking_switch` | `include_usage` | Unfinished | Model settings | Why |\n"
    "|---|---|---|---|---|---|---|---|---|\n";

static const char fields_introduction[] =
    "\n"
    "## Request fields\n"
    "\n"
    "Fields beyond the Responses API that reach a server of the kind while `pass_fields` is `auto`:\n"
    "\n"
    "| `upstream_kind` | Fields |\n"
    "|---|---|\n";

static const char *choice_word(enum chat_tool_choice c)
{
    return c == CHAT_CHOICE_FULL ? "full" : c == CHAT_CHOICE_STRINGS ? "strings" : "auto";
}

static const char *continuation_word(enum chat_continuation c)
{
    return c == CHAT_NOT_CONTINUED ? "-" : c == CHAT_CONTINUED_BY_ITSELF ? "itself" : "told";
}

static void write_cell(const char *text, struct buf *out)
{
    buf_c(out, " ");
    buf_c(out, text);
    buf_c(out, " |");
}

static void write_kind(const struct upstream_profile *p, struct buf *out)
{
    buf_c(out, "| `");
    buf_append(out, p->word);
    buf_c(out, "` |");
    write_cell(p->token_field == CHAT_MAX_TOKENS ? "max_tokens" : "max_completion_tokens", out);
    write_cell(choice_word(p->tool_choice), out);
    write_cell(p->schema_with_tools == UPSTREAM_TOGETHER ? "together" : "after", out);
    write_cell(upstream_has(p, UPSTREAM_THINKING_SWITCH) ? "true" : "false", out);
    write_cell(upstream_has(p, UPSTREAM_COUNTS_UNASKED) ? "false" : "true", out);
    write_cell(continuation_word(p->continuation), out);
    write_cell(p->words.len == 0 ? "-" : p->words.p, out);
    write_cell(p->source, out);
    buf_char(out, '\n');
}

static void write_fields(const struct upstream_profile *p, struct buf *out)
{
    buf_c(out, "| `");
    buf_append(out, p->word);
    buf_c(out, "` | ");
    for (size_t i = 0; i < p->fields.n; i++) {
        buf_c(out, i == 0 ? "`" : ", `");
        buf_c(out, p->fields.names[i]);
        buf_char(out, '`');
    }
    buf_c(out, " |\n");
}

void docs_upstreams(struct buf *out)
{
    buf_c(out, introduction);
    for (int k = 0; k < UPSTREAM_KINDS; k++)
        write_kind(upstream_profile((enum upstream_kind)k), out);
    buf_c(out, fields_introduction);
    for (int k = 0; k < UPSTREAM_KINDS; k++)
        write_fields(upstream_profile((enum upstream_kind)k), out);
}
