/* mcp_command.c -- `antiphon mcp list`, `tools` and `call`. */
#include "cli/mcp_command.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/command_line.h"
#include "cli/mcp_command_words.h"
#include "cli/mcp_report.h"
#include "cli/mcp_visit.h"
#include "cli/text_table.h"
#include "front/mcp_view.h"
#include "mcp/hub/mcp_hub.h"

enum { EXIT_USAGE = 2 };

struct job {
    struct mcp_command command;
    struct mcp_visit *visit;
    struct mcp_session_call *call; /* under way; or NULL */
};

/* "antiphon: MCP server docs: why" */
static int refuse_server(const struct mcp_visited *s)
{
    str why = mcp_report_error(s);
    struct buf text = {.limit = 0};

    if (why.len == 0)
        why = s->conf->is_enabled ? STR("is not available") : STR("is disabled");
    text_table_words(why, &text);
    (void)fprintf(stderr, "antiphon: MCP server %.*s: %s\n", STR_ARG(s->conf->label),
                  buf_cstr(&text));
    buf_fini(&text);
    return EXIT_FAILURE;
}

/* ---- list */

static struct mcp_server_view server_view(const struct mcp_visited *s)
{
    return (struct mcp_server_view){
        .conf = s->conf,
        .transport = s->session == NULL ? s->conf->transport : mcp_session_transport(s->session),
        .is_available = s->tools != NULL,
        .error = mcp_report_error(s),
    };
}

static void write_list(const struct mcp_visit *v, struct buf *out)
{
    struct mcp_server_view views[MCP_CONFIG_MAX_SERVERS];
    const struct mcp_snapshot snapshot = {views, mcp_visit_count(v)};

    for (size_t i = 0; i < snapshot.n; i++)
        views[i] = server_view(mcp_visit_server(v, i));
    mcp_view_servers(&snapshot, out);
    buf_char(out, '\n');
}

static bool all_are_available(const struct mcp_visit *v)
{
    for (size_t i = 0; i < mcp_visit_count(v); i++) {
        const struct mcp_visited *s = mcp_visit_server(v, i);

        if (s->conf->is_enabled && s->tools == NULL)
            return false;
    }
    return true;
}

static void run_list(struct mcp_visit *v, void *arg)
{
    const struct job *job = arg;
    struct buf text = {.limit = 0};

    (job->command.as_json ? write_list : mcp_report_servers)(v, &text);
    mcp_visit_end(v, command_print(&text, all_are_available(v) ? EXIT_SUCCESS : EXIT_FAILURE));
}

/* ---- tools */

static void run_tools(struct mcp_visit *v, void *arg)
{
    const struct mcp_visited *s = mcp_visit_server(v, 0);
    const struct job *job = arg;
    struct buf text = {.limit = 0};

    if (s->tools == NULL) {
        mcp_visit_end(v, refuse_server(s));
        return;
    }
    if (job->command.as_json) {
        mcp_view_tools(s->conf->label, s->tools, &text);
        buf_char(&text, '\n');
    } else {
        mcp_report_tools(s->tools, &text);
    }
    mcp_visit_end(v, command_print(&text, EXIT_SUCCESS));
}

/* ---- call */

static int print_failure(const struct mcp_failure *failure)
{
    struct buf text = {.limit = 0}, words = {.limit = 0};

    mcp_failure_text(failure, &text);
    text_table_words(buf_str(&text), &words);
    (void)fprintf(stderr, "antiphon: %s\n", buf_cstr(&words));
    buf_fini(&text);
    buf_fini(&words);
    return EXIT_FAILURE;
}

static int print_result(const struct mcp_server_conf *server, const struct mcp_call_result *result)
{
    const struct mcp_result_options options = {.form = MCP_RESULT_TEXT,
                                               .limit_bytes = server->max_result_bytes};
    struct buf text = {.limit = 0};

    mcp_result_write(result, &options, &text);
    if (!str_ends_with(buf_str(&text), STR("\n")))
        buf_char(&text, '\n');
    return command_print(&text, EXIT_SUCCESS);
}

static void on_done(void *arg, const struct mcp_failure *failure,
                    const struct mcp_call_result *result)
{
    struct job *job = arg;
    const struct mcp_visited *s = mcp_visit_server(job->visit, 0);

    job->call = NULL;
    mcp_visit_end(job->visit,
                  failure != NULL ? print_failure(failure) : print_result(s->conf, result));
}

static int refuse_tool(const struct mcp_visited *s, str name)
{
    (void)fprintf(stderr, "antiphon: MCP server %.*s has no tool %s; see antiphon mcp tools\n",
                  STR_ARG(s->conf->label), config_quote(name).text);
    return EXIT_FAILURE;
}

static void run_call(struct mcp_visit *v, void *arg)
{
    static const struct mcp_session_call_handler handler = {on_done};
    struct job *job = arg;
    const struct mcp_visited *s = mcp_visit_server(v, 0);
    const struct mcp_catalogue_tool *tool =
        s->tools == NULL ? NULL : mcp_catalogue_find(s->tools, job->command.tool);
    struct mcp_session_call_conf conf = {.tool = job->command.tool,
                                         .arguments = job->command.arguments,
                                         .idle_timeout_ms = s->conf->call_timeout_ms,
                                         .total_timeout_ms = s->conf->max_call_ms};
    struct err e;

    job->visit = v;
    if (tool == NULL) {
        mcp_visit_end(v, s->tools == NULL ? refuse_server(s) : refuse_tool(s, conf.tool));
        return;
    }
    conf.mirrors = tool->mirrors;
    job->call = mcp_session_call(s->session, &conf, &handler, job, &e);
    if (job->call != NULL)
        return;
    (void)fprintf(stderr, "antiphon: %s\n", e.msg);
    mcp_visit_end(v, EXIT_FAILURE);
}

/* Cancels the call at the server as well. */
static void cancel_call(struct mcp_visit *v, void *arg)
{
    struct job *job = arg;

    (void)v;
    if (job->call != NULL)
        mcp_session_cancel(job->call, "interrupted");
    job->call = NULL;
}

/* ---- the command line */

static const struct mcp_visit_handler handlers[MCP_ACTIONS] = {
    [MCP_ACTION_LIST] = {run_list, NULL},
    [MCP_ACTION_TOOLS] = {run_tools, NULL},
    [MCP_ACTION_CALL] = {run_call, cancel_call},
};

static int run_job(struct job *job)
{
    const struct mcp_command *c = &job->command;
    struct err e;
    int status;

    command_set_up_log(&c->config);
    status = mcp_visit_run(&c->config, c->servers, c->label, &handlers[c->action], job, &e);
    if (status != -1)
        return status;
    (void)fprintf(stderr, "antiphon: %s\n", e.msg);
    return EXIT_FAILURE;
}

static int print_help(void)
{
    return command_print_help(
        "mcp", "\n"
               "The servers are those of --mcp-config, found by the same configuration as those\n"
               "of antiphon serve, or one that is given by its address:\n"
               "\n"
               "  --url URL\n"
               "  --header 'NAME: VALUE'    as often as needed\n"
               "\n"
               "${VAR} in them stands for a variable, so that secrets need not be typed.\n"
               "Ctrl-C cancels a call at the server. The exit status is 0, 1 when a server\n"
               "cannot be used or a call has failed, and 2 for a mistake on the command line.\n");
}

int mcp_command(int n_args, const char *const *args)
{
    struct config_problems problems = {.n_kept = 0};
    struct job job = {.call = NULL};
    enum mcp_action action;
    int status = EXIT_USAGE;

    if (command_asks_for_help(n_args, args))
        return print_help();
    if (n_args == 0 || !mcp_command_find(args[0], &action)) {
        (void)fputs("antiphon: which one: mcp list, tools or call? See antiphon mcp --help\n",
                    stderr);
        return EXIT_USAGE;
    }
    if (mcp_command_read(&job.command, action, n_args - 1, args + 1, &problems) == -1)
        command_print_problems(&problems);
    else
        status = run_job(&job);
    mcp_command_fini(&job.command);
    config_problems_fini(&problems);
    return status;
}
