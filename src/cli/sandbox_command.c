/* sandbox_command.c -- `antiphon sandbox run` and `check`. */
#include "cli/sandbox_command.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/command_line.h"
#include "config/config.h"
#include "flight/builtin_tools.h"
#include "sandbox/sandbox.h"

enum { EXIT_RAISED = 1, EXIT_USAGE = 2, EXIT_NO_SANDBOX = 2 };

enum { MAX_CODE_BYTES = 1 << 20 };

struct job {
    const struct action *action;
    const char *file; /* of `run`; NULL: not given */
    struct buf code;
    int status;
};

static int refuse_command(const char *message, int status)
{
    (void)fprintf(stderr, "antiphon: %s\n", message);
    return status;
}

/* ---- check */

static void run_check(struct job *job, struct sandbox_hub *hub)
{
    struct buf text = {.limit = 0}, weaknesses = {.limit = 0};

    buf_c(&text, "code can be run: ");
    sandbox_hub_describe(hub, &text);
    buf_char(&text, '\n');
    if (sandbox_hub_shortfalls(hub, &weaknesses) == 0)
        buf_c(&text, "all promises are kept\n");
    for (str rest = buf_str(&weaknesses); rest.len > 0;) {
        size_t len = str_find_char(rest, '\n');

        buf_c(&text, "not kept: ");
        buf_append(&text, str_from(rest.p, len));
        buf_char(&text, '\n');
        rest = str_skip(rest, len < rest.len ? len + 1 : len);
    }
    buf_fini(&weaknesses);
    job->status = command_print(&text, EXIT_SUCCESS);
}

/* ---- run */

static void end_line(struct buf *out)
{
    if (out->len > 0 && !str_ends_with(buf_str(out), STR("\n")))
        buf_char(out, '\n');
}

static void write_outcome(const struct sandbox_outcome *outcome, struct buf *out)
{
    buf_append(out, outcome->logs);
    end_line(out);
    if (!str_is_none(outcome->value)) {
        buf_append(out, outcome->value);
        end_line(out);
    }
    for (size_t i = 0; i < outcome->n_files; i++) {
        buf_c(out, "file: ");
        buf_append(out, outcome->files[i].path);
        buf_c(out, ", ");
        buf_uint(out, outcome->files[i].bytes);
        buf_c(out, outcome->files[i].bytes == 1 ? " byte\n" : " bytes\n");
    }
}

static void on_done(void *arg, const struct sandbox_outcome *outcome)
{
    struct job *job = arg;
    struct buf text = {.limit = 0};

    write_outcome(outcome, &text);
    job->status = command_print(&text, outcome->is_raised ? EXIT_RAISED : EXIT_SUCCESS);
    if (outcome->failure == SANDBOX_OK)
        return;
    (void)fprintf(stderr, "antiphon: %.*s\n", STR_ARG(outcome->message));
    job->status = outcome->failure == SANDBOX_BROKEN ? EXIT_NO_SANDBOX : EXIT_RAISED;
}

static void run_code(struct job *job, struct sandbox_hub *hub)
{
    static const struct sandbox_handler handler = {on_done};
    const struct sandbox_request request = {.op = SANDBOX_RUN,
                                            .container_id = STR("command"),
                                            .may_create = true,
                                            .code = buf_str(&job->code)};
    struct err e;
    struct loop *loop = loop_new(&e);

    job->status = EXIT_NO_SANDBOX;
    if (loop == NULL || sandbox_start(hub, loop, &request, &handler, job, &e) == NULL)
        (void)refuse_command(e.msg, EXIT_NO_SANDBOX);
    while (loop != NULL && loop_n_expected(loop) > 0)
        (void)uv_run(loop_uv(loop), UV_RUN_ONCE);
    loop_free(loop);
}

static int read_stream(FILE *f, struct job *job)
{
    char piece[4096];
    size_t n;

    while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
        buf_append(&job->code, str_from(piece, n));
    if (!ferror(f) && !buf_failed(&job->code) && utf8_is_valid(buf_str(&job->code)))
        return 0;
    (void)fprintf(stderr, "antiphon: %s is not UTF-8 of at most 1 MiB\n", job->file);
    return -1;
}

static int read_code(struct job *job)
{
    FILE *f;
    int rc;

    if (strcmp(job->file, "-") == 0)
        return read_stream(stdin, job);
    f = fopen(job->file, "r");
    if (f == NULL) {
        (void)fprintf(stderr, "antiphon: %s: %s\n", job->file, strerror(errno));
        return -1;
    }
    rc = read_stream(f, job);
    (void)fclose(f);
    return rc;
}

/* ---- the command line */

static const struct action {
    const char *name;
    bool has_file;
    void (*run)(struct job *job, struct sandbox_hub *hub);
} actions[] = {
    {"run", true, run_code},
    {"check", false, run_check},
};

static const struct action *find_action(const char *word)
{
    for (size_t i = 0; i < COUNT_OF(actions); i++) {
        if (strcmp(word, actions[i].name) == 0)
            return &actions[i];
    }
    return NULL;
}

/* The file is the first word; the others are those of the configuration. */
static int load_job(struct job *job, int n_args, const char *const *args, struct config *config,
                    struct config_problems *problems)
{
    struct config_sources sources = {.env = (const char *const *)environ};

    if (job->action->has_file && n_args > 0 && !str_starts_with(str_from_c(args[0]), STR("--")))
        job->file = args[0];
    if (job->action->has_file && job->file == NULL)
        config_error(problems, "usage: antiphon sandbox run FILE|- [flags]");
    sources.args = job->file == NULL ? args : args + 1;
    sources.n_args = job->file == NULL ? n_args : n_args - 1;
    (void)config_load(config, &sources, problems);
    return problems->n_errors == 0 ? 0 : -1;
}

static void try_sandbox(struct job *job, const struct config *config)
{
    const struct egress_policy egress = builtin_egress_policy(config);
    const struct sandbox_conf conf = builtin_sandbox_conf(config, &egress);
    struct sandbox_hub *hub;
    struct err e;

    command_set_up_log(config);
    (void)signal(SIGPIPE, SIG_IGN);
    hub = sandbox_hub_new(&conf, &e);
    if (hub == NULL) {
        job->status = refuse_command(e.msg, EXIT_NO_SANDBOX);
        return;
    }
    job->action->run(job, hub);
    if (!sandbox_hub_free(hub))
        _exit(job->status);
}

static int run_with_configuration(struct job *job, int n_args, const char *const *args)
{
    struct config_problems problems = {.n_kept = 0};
    struct config config = {.memory = {.limit = 0}};

    buf_init(&job->code, MAX_CODE_BYTES);
    if (load_job(job, n_args, args, &config, &problems) == -1)
        command_print_problems(&problems);
    else if (!job->action->has_file || read_code(job) == 0)
        try_sandbox(job, &config);
    buf_fini(&job->code);
    config_fini(&config);
    config_problems_fini(&problems);
    return job->status;
}

static int print_help(void)
{
    return command_print_help(
        "sandbox",
        "\n"
        "The flags, variables and file that set limits are those of antiphon serve; see\n"
        "there the ones that begin with --code. Printed is what the code prints, then\n"
        "the value of its last expression, and the files that it has made. The exit\n"
        "status is 0, 1 when the code has failed, and 2 for a mistake on the command\n"
        "line or when this machine cannot run a sandbox, with the reason.\n");
}

int sandbox_command(int n_args, const char *const *args)
{
    struct job job = {.action = n_args == 0 ? NULL : find_action(args[0]), .status = EXIT_USAGE};

    if (command_asks_for_help(n_args, args))
        return print_help();
    if (job.action == NULL)
        return refuse_command("which one: sandbox run or check? See antiphon sandbox --help",
                              EXIT_USAGE);
    return run_with_configuration(&job, n_args - 1, args + 1);
}
