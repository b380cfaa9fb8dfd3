/* doctor_command.c -- its own flags are taken out of the command line; the rest is a configuration. */
#include "cli/doctor_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/num.h"
#include "cli/command_line.h"
#include "cli/doctor_report.h"
#include "cli/doctor_upstream.h"
#include "cli/doctor_write.h"

enum { EXIT_USAGE = 2, MAX_WORDS = 4096, DEFAULT_TIMEOUT_MS = 120000 };

struct job {
    bool is_json, is_quick, all_forms;
    uint64_t timeout_ms;
    const char *file;                      /* to be written; NULL: none */
    const char *name;                      /* of an upstream of upstreams_file; NULL: not given */
    struct doctor_certificate certificate; /* shown to that one */
    const char *rest[MAX_WORDS];           /* words for the configuration */
    int n_rest;
    int status;
};

/* ---- the command line */

static bool take_switch(struct job *job, const char *word)
{
    const struct {
        const char *name;
        bool *is_on;
    } switches[] = {
        {"--json", &job->is_json}, {"--quick", &job->is_quick}, {"--all-forms", &job->all_forms}};

    for (size_t i = 0; i < COUNT_OF(switches); i++) {
        if (strcmp(word, switches[i].name) != 0)
            continue;
        *switches[i].is_on = true;
        return true;
    }
    return false;
}

/* The value of --NAME VALUE or --NAME=VALUE; *i moves on to it. STR_NONE when the word is another. */
static str take_value(const char *name, int n_args, const char *const *args, int *i)
{
    str word = str_from_c(args[*i]);
    const str head = str_cut(&word, '=');

    if (!str_eq(head, str_from_c(name)))
        return STR_NONE;
    if (head.len < strlen(args[*i]))
        return word;
    return *i + 1 < n_args ? str_from_c(args[++*i]) : STR("");
}

static void take_word(struct job *job, int n_args, const char *const *args, int *i,
                      struct config_problems *problems)
{
    str value;

    if (take_switch(job, args[*i]))
        return;
    value = take_value("--timeout", n_args, args, i);
    if (!str_is_none(value)) {
        if (!num_duration_ms(value, &job->timeout_ms) || job->timeout_ms == 0)
            config_error(problems, "--timeout: %s is no duration such as 30s",
                         config_quote(value).text);
        return;
    }
    value = take_value("--write", n_args, args, i);
    if (!str_is_none(value)) {
        job->file = value.p;
        if (value.len == 0)
            config_error(problems, "--write needs the name of a file");
        return;
    }
    value = take_value("--name", n_args, args, i);
    if (!str_is_none(value)) {
        job->name = value.p;
        return;
    }
    if (job->n_rest < MAX_WORDS)
        job->rest[job->n_rest++] = args[*i];
}

static void load_job(struct job *job, int n_args, const char *const *args, struct config *config,
                     struct config_problems *problems)
{
    struct config_sources sources = {.args = job->rest, .env = (const char *const *)environ};

    for (int i = 0; i < n_args; i++)
        take_word(job, n_args, args, &i, problems);
    sources.n_args = job->n_rest;
    (void)config_load(config, &sources, problems);
    if (config->upstreams_file == NULL && job->name != NULL)
        config_error(problems,
                     "--name is that of an upstream in upstreams_file; give that as well");
    if (config->upstreams_file != NULL && problems->n_errors == 0)
        doctor_upstream_choose(config, job->name, &job->certificate, problems);
    if (config->upstream == NULL && problems->n_errors == 0)
        config_error(problems, "which upstream? Give --upstream http://HOST:PORT, or the "
                               "configuration of the gateway");
}

/* ---- the visit */

/* What changes is shown first, on standard error, so that standard output is the report. */
static int write_settings(const struct job *job, const struct doctor_visit *v)
{
    struct buf line = {.limit = 0};
    struct err e;
    int rc = 0;

    doctor_report_line(v, &line);
    if (line.len > 0) {
        (void)fprintf(stderr, "antiphon: %s: model_settings gets \"%s\"\n", job->file,
                      buf_cstr(&line));
        rc = doctor_write_file(job->file, buf_str(&line), &e);
        if (rc == -1)
            (void)fprintf(stderr, "antiphon: %s\n", e.msg);
    }
    buf_fini(&line);
    return rc;
}

static int visit_upstream(const struct job *job, const struct config *config)
{
    const struct doctor_visit_conf conf = {config, job->timeout_ms, job->is_quick,
                                           job->certificate};
    struct doctor_visit v;
    struct buf text = {.limit = 0};
    struct err e;
    int status = EXIT_USAGE;

    if (doctor_visit(&conf, &v, &e) == -1) {
        (void)fprintf(stderr, "antiphon: %s\n", e.msg);
    } else {
        if (job->is_json)
            doctor_report_json(&v, &text);
        else
            doctor_report_text(&v, job->all_forms, &text);
        status = command_print(&text, doctor_report_status(&v));
        if (job->file != NULL && write_settings(job, &v) == -1)
            status = EXIT_USAGE;
    }
    if (v.is_resolving)
        _exit(status);
    doctor_visit_fini(&v);
    return status;
}

static int print_help(void)
{
    return command_print_help(
        "doctor",
        "\n"
        "--quick asks less, --json prints an object, --all-forms every setting as it stands\n"
        "in the file, the environment and on the command line, --timeout DURATION is that of\n"
        "each request (120s), --write FILE puts the settings of the model into that\n"
        "configuration file. The exit status is 0 when all is good, 1 when something is to\n"
        "be set or is bad, 2 when the upstream is of no use or for a mistake on the command\n"
        "line, and 3 when nobody answers.\n"
        "\n"
        "The other flags, the variables and the file are those of antiphon serve: --upstream\n"
        "and --model say what is looked at, and --name which upstream of upstreams_file.\n");
}

int doctor_command(int n_args, const char *const *args)
{
    struct config_problems problems = {.n_kept = 0};
    struct config config;
    struct job *job;
    int status = EXIT_USAGE;

    if (command_asks_for_help(n_args, args))
        return print_help();
    job = calloc(1, sizeof(*job));
    if (job == NULL)
        return EXIT_FAILURE;
    job->timeout_ms = DEFAULT_TIMEOUT_MS;
    load_job(job, n_args, args, &config, &problems);
    if (problems.n_errors > 0)
        command_print_problems(&problems);
    else
        status = visit_upstream(job, &config);
    config_fini(&config);
    config_problems_fini(&problems);
    free(job);
    return status;
}
