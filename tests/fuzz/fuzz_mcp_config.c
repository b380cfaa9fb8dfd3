/* fuzz_mcp_config.c -- any file of MCP servers: refused with messages that can
 * be shown, or a table whose usable servers have all that they need. */
#include "fuzz/fuzz.h"

#include "conv/tool_name.h"
#include "json/json_read.h"
#include "lib/fixture.h"
#include "mcp/conf/mcp_config.h"

/* A value that no message may have, unless the file has it, too. */
#define HIDDEN "zq9-hidden-4Xw"

struct result {
    struct mcp_config *table;
    struct config_problems problems;
    struct buf lines;
};

static void result_load(struct result *r, str text)
{
    static const char *const env[] = {"KEY=" HIDDEN, "HOME=/root", "EMPTY=", "REF=${KEY}", NULL};
    struct mcp_config_source source = {
        .name = "mcp.json", .text = text, .others_may_read = true, .env = env};

    *r = (struct result){.table = NULL};
    r->table = mcp_config_parse(&source, &r->problems);
    config_problems_print(&r->problems, &r->lines);
}

static void result_fini(struct result *r)
{
    mcp_config_unref(r->table);
    config_problems_fini(&r->problems);
    buf_fini(&r->lines);
}

static void check_problems(const struct result *r)
{
    fuzz_promise(r->table != NULL || r->problems.n_errors > 0, "no table has an error");
    for (size_t i = 0; i < r->problems.n_kept; i++)
        fuzz_promise(fuzz_is_shown(str_from_c(r->problems.kept[i].text)),
                     "a problem is a line that can be shown");
}

static void check_usable(const struct mcp_server_conf *s)
{
    bool is_stdio = s->transport == MCP_TRANSPORT_STDIO;

    fuzz_promise(s->label.len > 0 && s->label.len <= TOOL_NAME_MAX, "a label has a length");
    fuzz_promise(is_stdio == (s->argv != NULL), "a command is what stdio has");
    fuzz_promise(is_stdio == str_is_none(s->url.hidden), "a URL is what HTTP has");
    fuzz_promise(!is_stdio || s->argv[0][0] != '\0', "a command is not empty");
    fuzz_promise(s->call_timeout_ms > 0 && s->max_concurrency > 0, "limits are limits");
    for (size_t i = 0; i < s->env.n; i++)
        fuzz_promise(strlen(s->env.items[i].value.hidden.p) == s->env.items[i].value.hidden.len,
                     "a variable is a C string");
    for (size_t i = 0; i < s->headers.n; i++)
        fuzz_promise(str_is_one_line(s->headers.items[i].value.hidden), "a header is one line");
}

static void check_server(const struct mcp_server_conf *s)
{
    if (mcp_server_conf_is_usable(s))
        check_usable(s);
    fuzz_promise(s->problem == NULL || fuzz_is_shown(str_from_c(s->problem)),
                 "the problem of a server can be shown");
    fuzz_promise(jr_is_valid(s->canonical.hidden), "the canonical form is JSON");
    for (size_t i = 0; i < s->n_secrets; i++)
        fuzz_promise(!str_is_none(s->secrets[i]), "a secret is a text");
}

static void on_change(void *arg, enum mcp_change change, const struct mcp_server_conf *old,
                      const struct mcp_server_conf *now)
{
    (void)arg;
    fuzz_promise(change == MCP_UNCHANGED && str_eq(old->label, now->label),
                 "the same file changes nothing");
}

static void check_hidden(const struct result *r, str text)
{
    if (str_find(text, STR("hidden")) < text.len || str_find(text, STR("\\")) < text.len)
        return;
    fuzz_promise(str_find(buf_str(&r->lines), STR(HIDDEN)) == r->lines.len,
                 "no message has the value of a variable");
    for (size_t i = 0; r->table != NULL && i < r->table->n; i++)
        fuzz_promise(strstr(r->table->servers[i].shown, HIDDEN) == NULL,
                     "what is shown has no value of a variable");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *copy = exact_copy(fuzz_input(bytes, n));
    str text = str_from(copy, n);
    struct result first, second;

    result_load(&first, text);
    result_load(&second, text);
    fuzz_promise((first.table == NULL) == (second.table == NULL) &&
                     str_eq(buf_str(&first.lines), buf_str(&second.lines)),
                 "reading twice gives the same");
    check_problems(&first);
    check_hidden(&first, text);
    for (size_t i = 0; first.table != NULL && i < first.table->n; i++)
        check_server(&first.table->servers[i]);
    mcp_config_compare(first.table, second.table, on_change, NULL);
    result_fini(&first);
    result_fini(&second);
    free(copy);
    return 0;
}
