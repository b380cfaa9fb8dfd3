/* mcp_link_stdio.c -- a server that is a child process (MCP 4).
 *
 * child.c does the work; here its environment is put together, lines become
 * messages, and its end becomes a failure. The link stays when the process is gone,
 * until it is stopped. */
#include <errno.h>
#include <stdlib.h>

#include "child/child.h"
#include "config/config.h"
#include "ev/log.h"
#include "mcp/conf/mcp_env.h"
#include "mcp/conf/mcp_env_file.h"
#include "mcp/link/mcp_links.h"

struct mcp_child {
    struct mcp_link link; /* first */
    struct mcp_link_conf conf;
    struct child *stdio;      /* NULL once it is closed */
    struct loop_timer *timer; /* for on_up, and for the end */
    struct arena memory;      /* of the environment */
    bool is_stopping;
};

static struct mcp_child *child_of(struct mcp_link *link)
{
    return (struct mcp_child *)link;
}

/* ---- its environment */

/* The gateway's own variables, and the key under the name that another gateway has
 * for it (MCP 4.4). */
static const str withheld[] = {STR_INIT("ANTIPHON_*"), STR_INIT("OPENAI_API_KEY")};

/* Appends the text of the envFile, if there is one. Returns 0, or -1 with *reterr filled. */
static int read_env_file(const struct mcp_server_conf *server, struct buf *out, struct err *reterr)
{
    struct config_problems problems = {.n_errors = 0};
    struct buf why = {.limit = 0};
    bool is_read = server->env_file == NULL || config_read_file(server->env_file, out, &problems);

    if (!is_read) {
        config_problems_print(&problems, &why);
        err_set(reterr, ERR_INTERNAL, "%.*s", STR_ARG(str_trim(buf_str(&why))));
    }
    config_problems_fini(&problems);
    buf_fini(&why);
    return is_read ? 0 : -1;
}

static struct mcp_env_var *list_vars(const struct mcp_pairs *pairs, struct arena *a)
{
    struct mcp_env_var *vars = arena_array(a, pairs->n + 1, sizeof(*vars));

    for (size_t i = 0; vars != NULL && i < pairs->n; i++)
        vars[i] = (struct mcp_env_var){pairs->items[i].name, pairs->items[i].value.hidden};
    return vars;
}

static bool add_secret(void *arg, str name, str value)
{
    (void)name;
    secrets_add(arg, value);
    return true;
}

/* The server may repeat what else it was given as well as what the entry says (MCP 16.6).
 * Who lets it inherit everything has not said what of that is a secret. */
static void add_secrets(struct mcp_child *c, str file, const char *const *env)
{
    const struct mcp_name_list *inherited = &c->conf.server->inherit_env;

    (void)mcp_env_file_read(file, add_secret, c->conf.secrets, NULL);
    for (size_t i = 0; i < inherited->n; i++) {
        if (!mcp_env_is_always(inherited->items[i]))
            secrets_add(c->conf.secrets, child_env_get(env, inherited->items[i]));
    }
}

static const char *const *build_env(struct mcp_child *c, struct err *reterr)
{
    const struct mcp_server_conf *server = c->conf.server;
    struct buf file = {.limit = 0};
    struct mcp_env_source source = {.parent = c->conf.env,
                                    .inherit = server->inherit_env.items,
                                    .n_inherit = server->inherit_env.n,
                                    .inherits_all = server->inherits_all,
                                    .withheld = withheld,
                                    .n_withheld = COUNT_OF(withheld),
                                    .vars = list_vars(&server->env, &c->memory),
                                    .n_vars = server->env.n};
    const char *const *env = NULL;

    if (source.vars == NULL) {
        err_set_no_memory(reterr);
    } else if (read_env_file(server, &file, reterr) == 0) {
        if (server->env_file != NULL)
            source.file = buf_str(&file);
        env = mcp_env_build(&source, &c->memory, reterr);
        if (env != NULL)
            add_secrets(c, buf_str(&file), env);
    }
    secret_buf_fini(&file);
    return env;
}

/* ---- what it does */

static bool on_line(void *arg, str line)
{
    struct mcp_child *c = arg;
    struct jsonrpc_reader r;
    struct jsonrpc_message m;
    enum jsonrpc_kind kind;
    bool is_message = true;

    jsonrpc_reader_init(&r, line);
    while ((kind = jsonrpc_next(&r, &m)) != JSONRPC_END) {
        if (kind == JSONRPC_INVALID)
            is_message = false;
        else if (!c->is_stopping)
            c->link.handler->on_message(c->link.arg, &m, 0, 0);
    }
    jsonrpc_reader_fini(&r);
    return is_message;
}

/* Logs the last lines of stderr, which tell why a server has ended. */
static void log_end(const struct mcp_child *c, str reason)
{
    struct buf last = {.limit = 0};

    child_last_stderr(c->stdio, &last);
    log_line(LOG_WARN, "mcp_server_ended",
             (struct log_field[]){LOG_STR("server", c->conf.server->label),
                                  LOG_INT("pid", child_pid(c->stdio)), LOG_STR("reason", reason),
                                  LOG_STR("last_stderr", str_trim(buf_str(&last))), LOG_END});
    buf_fini(&last);
}

static void on_ended(void *arg, const struct child_end *end)
{
    struct mcp_child *c = arg;
    struct buf reason = {.limit = 0}, message = {.limit = 0};
    struct mcp_link_failure failure = {
        .cause = end->start_errno == 0 ? MCP_FAILED_CLOSED : MCP_FAILED_UNREACHABLE,
        .was_sent = end->start_errno == 0,
        .is_hopeless = end->start_errno == ENOENT || end->start_errno == EACCES};

    if (!c->is_stopping)
        loop_timer_stop(c->timer); /* too late for on_up */
    if (!end->was_asked) {
        secrets_hide(c->conf.secrets, str_from_c(end->reason), &reason);
        log_end(c, buf_str(&reason));
        buf_c(&message, "The MCP server ");
        buf_append(&message, buf_str(&reason));
        buf_c(&message, str_ends_with(buf_str(&reason), STR("?")) ? "" : ".");
        failure.message = buf_str(&message);
    }
    c->link.handler->on_down(c->link.arg, &failure);
    buf_fini(&reason);
    buf_fini(&message);
}

static void child_free(struct mcp_child *c)
{
    loop_timer_free(c->timer);
    arena_fini(&c->memory);
    free(c);
}

static void close_stdio_link(struct mcp_child *c)
{
    const struct mcp_link_handler *handler = c->link.handler;
    void *handler_arg = c->link.arg;

    child_free(c);
    handler->on_closed(handler_arg);
}

static void on_closed(void *arg)
{
    struct mcp_child *c = arg;

    c->stdio = NULL;
    if (c->is_stopping)
        loop_timer_start(c->timer, 0);
}

static void on_timer(void *arg)
{
    struct mcp_child *c = arg;

    if (c->is_stopping)
        close_stdio_link(c);
    else
        c->link.handler->on_up(c->link.arg);
}

static void hide_secrets(void *arg, str text, struct buf *out)
{
    secrets_hide(arg, text, out);
}

/* ---- the link */

static bool link_send(struct mcp_link *link, const struct mcp_link_message *m, struct err *reterr)
{
    struct mcp_child *c = child_of(link);

    if (c->stdio != NULL && !c->is_stopping && child_send(c->stdio, m->json))
        return true;
    err_set(reterr, ERR_UPSTREAM_UNAVAILABLE,
            "The MCP server has ended, or does not read what it is sent.");
    return false;
}

static void link_forget(struct mcp_link *link, int64_t id)
{
    (void)link; /* the session has told the server */
    (void)id;
}

static void link_listen(struct mcp_link *link, enum mcp_version version)
{
    (void)link; /* there is one stream for everything */
    (void)version;
}

static void link_reset_session(struct mcp_link *link)
{
    (void)link; /* the process is the session */
}

static void link_stop(struct mcp_link *link)
{
    struct mcp_child *c = child_of(link);

    c->is_stopping = true;
    loop_timer_stop(c->timer);
    if (c->stdio == NULL)
        loop_timer_start(c->timer, 0);
    else
        child_stop(c->stdio);
}

static int start_child(struct mcp_child *c, struct loop *loop, struct err *reterr)
{
    static const struct child_handler handler = {on_line, on_ended, on_closed};
    const struct mcp_server_conf *server = c->conf.server;
    const struct child_conf conf = {.kind = "mcp",
                                    .label =
                                        server->label.p, /* a NUL follows: it is from the table */
                                    .command = {.argv = server->argv,
                                                .env = build_env(c, reterr),
                                                .cwd = server->cwd,
                                                .ends_with_us = true},
                                    .line_bytes = server->max_message_bytes,
                                    .redact = hide_secrets,
                                    .redact_arg = c->conf.secrets};

    if (conf.command.env == NULL)
        return -1;
    c->stdio = child_start(loop, &conf, &handler, c, reterr);
    return c->stdio == NULL ? -1 : 0;
}

struct mcp_link *mcp_link_stdio_new(struct loop *loop, const struct mcp_link_conf *conf,
                                    const struct mcp_link_handler *handler, void *arg,
                                    struct err *reterr)
{
    static const struct mcp_link_ops ops = {link_send, link_forget, link_listen, link_reset_session,
                                            link_stop};
    struct mcp_child *c = calloc(1, sizeof(*c));

    if (c != NULL)
        c->timer = loop_timer_new(loop, on_timer, c);
    if (c == NULL || c->timer == NULL) {
        free(c);
        err_set_no_memory(reterr);
        return NULL;
    }
    c->link = (struct mcp_link){&ops, handler, arg};
    c->conf = *conf;
    if (start_child(c, loop, reterr) == -1) {
        child_free(c);
        return NULL;
    }
    loop_timer_start(c->timer, 0);
    return &c->link;
}
