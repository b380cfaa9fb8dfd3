/* mcp_command_words.c -- which servers, which tool, which arguments.
 *
 * A word that is no flag and does not stand behind one is the action's own: a label, a
 * tool, arguments. All flags that are not the action's belong to the configuration. */
#include "cli/mcp_command_words.h"

#include <stdio.h>
#include <unistd.h>

#include "base/secrets.h"
#include "config/spelling.h"
#include "daemon/mcp_servers.h"
#include "json/json_text.h"
#include "mcp/proto/mcp_request.h"

/* The server of --url, in messages. */
#define URL_LABEL "command-line"

enum { MAX_INPUT_BYTES = 16 << 20 };

static const struct {
    const char *name, *usage;
    size_t least, most; /* words behind LABEL, which --url takes the place of */
    bool has_label, has_json;
} actions[MCP_ACTIONS] = {
    [MCP_ACTION_LIST] = {"list", "antiphon mcp list [--json] [flags]", 0, 0, false, true},
    [MCP_ACTION_TOOLS] = {"tools", "antiphon mcp tools LABEL|--url URL [--json] [flags]", 0, 0,
                          true, true},
    [MCP_ACTION_CALL] = {"call", "antiphon mcp call LABEL|--url URL TOOL [JSON|-] [flags]", 1, 2,
                         true, false},
};

bool mcp_command_find(const char *word, enum mcp_action *ret)
{
    for (enum mcp_action i = 0; i < MCP_ACTIONS; i++) {
        if (strcmp(word, actions[i].name) == 0) {
            *ret = i;
            return true;
        }
    }
    return false;
}

/* ---- taking the words apart */

struct words {
    const char *own[MCP_COMMAND_MAX_WORDS + 1]; /* one more than any action takes */
    size_t n_own;
    const char *url;
    const char *headers[HEADER_POLICY_MAX_FIELDS];
    size_t n_headers;
    const char **rest; /* the configuration's */
    int n_rest;
};

/* The value of a flag at words[0], "--name VALUE" or "--name=VALUE"; NULL when that is
 * another one. *ret_used is the number of words. */
static const char *flag_value(const char *flag, int n_words, const char *const *words,
                              int *ret_used)
{
    size_t n = strlen(flag);

    *ret_used = 1;
    if (strncmp(words[0], flag, n) != 0)
        return NULL;
    if (words[0][n] == '=')
        return words[0] + n + 1;
    if (words[0][n] != '\0')
        return NULL;
    if (n_words == 1 || str_starts_with(str_from_c(words[1]), STR("--")))
        return "";
    *ret_used = 2;
    return words[1];
}

static void add_header(struct words *w, const char *value, struct config_problems *problems)
{
    if (strchr(value, ':') == NULL || value[0] == ':')
        config_error(problems, "--header needs a value like 'Name: value'");
    else if (w->n_headers == HEADER_POLICY_MAX_FIELDS)
        config_error(problems, "--header: more than %d", HEADER_POLICY_MAX_FIELDS);
    else
        w->headers[w->n_headers++] = value;
}

/* Takes a flag of the action's. Returns the number of words used, 0 for another one. */
static int take_flag(struct mcp_command *c, struct words *w, int n_words, const char *const *words,
                     struct config_problems *problems)
{
    const char *value;
    int used;

    if (strcmp(words[0], "--check-config") == 0) {
        config_error(problems, "--check-config goes with antiphon serve");
        return 1;
    }
    if (actions[c->action].has_json && strcmp(words[0], "--json") == 0) {
        c->as_json = true;
        return 1;
    }
    value = flag_value("--url", n_words, words, &used);
    if (value != NULL) {
        w->url = value;
        return used;
    }
    value = flag_value("--header", n_words, words, &used);
    if (value == NULL)
        return 0;
    add_header(w, value, problems);
    return used;
}

/* True for a flag whose value may be the next word. */
static bool is_bare_flag(const char *word)
{
    return str_starts_with(str_from_c(word), STR("--")) && strchr(word, '=') == NULL;
}

static bool is_own_word(const struct words *w, const char *word)
{
    return !str_starts_with(str_from_c(word), STR("--")) &&
           (w->n_rest == 0 || !is_bare_flag(w->rest[w->n_rest - 1]));
}

static void take_words(struct mcp_command *c, struct words *w, int n_args, const char *const *args,
                       struct config_problems *problems)
{
    int used;

    for (int i = 0; i < n_args; i += used) {
        used = take_flag(c, w, n_args - i, args + i, problems);
        if (used > 0)
            continue;
        used = 1;
        if (!is_own_word(w, args[i]))
            w->rest[w->n_rest++] = args[i];
        else if (w->n_own <= MCP_COMMAND_MAX_WORDS)
            w->own[w->n_own++] = args[i];
    }
}

static void settle_words(struct mcp_command *c, const struct words *w,
                         struct config_problems *problems)
{
    size_t n_label = actions[c->action].has_label && w->url == NULL ? 1 : 0;
    size_t least = n_label + actions[c->action].least, most = n_label + actions[c->action].most;

    if (w->n_own < least || w->n_own > most) {
        config_error(problems, "usage: %s", actions[c->action].usage);
        return;
    }
    if (w->url != NULL)
        c->label = STR(URL_LABEL);
    else if (n_label == 1)
        c->label = str_from_c(w->own[0]);
    if (c->action != MCP_ACTION_CALL)
        return;
    c->tool = str_from_c(w->own[n_label]);
    c->arguments = str_from_c(w->n_own == most ? w->own[most - 1] : "{}");
}

/* ---- arguments */

static void read_input(struct mcp_command *c, struct config_problems *problems)
{
    char piece[4096];
    size_t n;

    do {
        n = fread(piece, 1, sizeof(piece), stdin);
        buf_append(&c->input, str_from(piece, n));
    } while (n > 0);
    if (ferror(stdin) || buf_failed(&c->input))
        config_error(problems, "standard input cannot be read, or holds more than 16 MiB");
    c->arguments = buf_str(&c->input);
}

static void settle_arguments(struct mcp_command *c, struct config_problems *problems)
{
    struct err e;

    if (str_eq(c->arguments, STR("-")))
        read_input(c, problems);
    if (mcp_arguments(c->arguments, &c->arguments, &e) == -1)
        config_error(problems, "the arguments of a tool are a JSON object: %s", e.msg);
}

/* ---- servers */

static void write_string(str text, struct buf *out)
{
    buf_char(out, '"');
    json_text_escape(text, out);
    buf_char(out, '"');
}

/* The server of --url as a file has it, so that it is checked, and ${VAR} replaced, as
 * there. A mistake in it is an error, since it is "required". */
static void write_file(const struct words *w, struct buf *out)
{
    buf_c(out, "{\"mcpServers\": {\"" URL_LABEL "\": {\"required\": true, \"url\": ");
    write_string(str_from_c(w->url), out);
    buf_c(out, ", \"headers\": {");
    for (size_t i = 0; i < w->n_headers; i++) {
        str header = str_from_c(w->headers[i]);
        size_t colon = str_find_char(header, ':');

        buf_c(out, i == 0 ? "" : ", ");
        write_string(str_trim(str_from(header.p, colon)), out);
        buf_c(out, ": ");
        write_string(str_trim(str_skip(header, colon + 1)), out);
    }
    buf_c(out, "}}}}");
}

static void load_url(struct mcp_command *c, const struct words *w, struct config_problems *problems)
{
    struct mcp_config_source source = {
        .name = "--url",
        .env = (const char *const *)environ,
        .defaults = {c->config.mcp_call_timeout_ms, c->config.max_mcp_result_bytes}};
    struct buf text = {.limit = 0};

    write_file(w, &text);
    source.text = buf_str(&text);
    c->servers = mcp_config_parse(&source, problems);
    secret_buf_fini(&text);
}

static void refuse_label(const struct mcp_command *c, struct config_problems *problems)
{
    struct spelling s = spelling_of(c->label, c->label.len / 2);

    for (size_t i = 0; i < c->servers->n; i++)
        (void)spelling_try(&s, c->servers->servers[i].label.p);
    if (s.best != NULL)
        config_error(problems, "%s: there is no MCP server %s; did you mean %s?",
                     c->config.mcp_config, config_quote(c->label).text, s.best);
    else
        config_error(problems, "%s: there is no MCP server %s", c->config.mcp_config,
                     config_quote(c->label).text);
}

static void load_file_servers(struct mcp_command *c, struct config_problems *problems)
{
    if (c->config.mcp_config == NULL) {
        config_error(problems, "which servers? Name their file with --mcp-config, or one server "
                               "with --url");
        return;
    }
    (void)mcp_servers_load(&c->config, &c->servers, problems);
    if (c->servers != NULL && !str_is_none(c->label) &&
        mcp_config_find(c->servers, c->label) == NULL)
        refuse_label(c, problems);
}

/* Mistakes of other entries do not matter to a server that is all right: they are shown
 * in the list. What keeps the gateway from starting need not keep this from working. */
static bool has_servers(const struct mcp_command *c)
{
    return c->servers != NULL &&
           (str_is_none(c->label) || mcp_config_find(c->servers, c->label) != NULL);
}

static int load_servers(struct mcp_command *c, const struct words *w,
                        struct config_problems *problems)
{
    if (w->url != NULL) {
        load_url(c, w, problems);
        return problems->n_errors == 0 ? 0 : -1;
    }
    if (w->n_headers > 0)
        config_error(problems, "--header goes with --url; a file has \"headers\"");
    else
        load_file_servers(c, problems);
    return has_servers(c) ? 0 : -1;
}

/* ---- all of it */

int mcp_command_read(struct mcp_command *c, enum mcp_action action, int n_args,
                     const char *const *args, struct config_problems *problems)
{
    struct words w = {.n_own = 0};
    struct config_sources sources = {.env = (const char *const *)environ};

    *c = (struct mcp_command){.action = action, .label = STR_NONE};
    buf_init(&c->input, MAX_INPUT_BYTES);
    w.rest = arena_array(&problems->memory, (size_t)n_args + 1, sizeof(*w.rest));
    if (w.rest == NULL) {
        config_error(problems, "out of memory");
        return -1;
    }
    take_words(c, &w, n_args, args, problems);
    settle_words(c, &w, problems);
    sources.args = w.rest;
    sources.n_args = w.n_rest;
    (void)config_load(&c->config, &sources, problems);
    if (problems->n_errors > 0)
        return -1;
    if (action == MCP_ACTION_CALL)
        settle_arguments(c, problems);
    return problems->n_errors > 0 ? -1 : load_servers(c, &w, problems);
}

void mcp_command_fini(struct mcp_command *c)
{
    mcp_config_unref(c->servers);
    config_fini(&c->config);
    buf_fini(&c->input);
}
