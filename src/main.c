/* main.c -- the command line: which command, which configuration, which exit status.
 *
 * 0 is success, 1 a failure at run time, 2 a mistake on the command line or in
 * the configuration, 3 a store that a newer version has made. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "access/api_key.h"
#include "base/version.h"
#include "cli/admin_command.h"
#include "cli/command_line.h"
#include "cli/doctor_command.h"
#include "cli/health_command.h"
#include "cli/key_command.h"
#include "cli/mcp_command.h"
#include "cli/models_command.h"
#include "cli/sandbox_command.h"
#include "cli/store_command.h"
#include "cli/upstream_report.h"
#include "config/config.h"
#include "config/spelling.h"
#include "daemon/mcp_servers.h"
#include "daemon/metrics_setup.h"
#include "daemon/server.h"
#include "daemon/tls_listener.h"
#include "ev/log.h"
#include "json/json_text.h"
#include "trace/export/trace_conf.h"
#include "turn/compaction_prompt.h"
#include "upstream/upstream_table.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* The configuration does not know the log, so it has its own names for these. */
_Static_assert((int)CONFIG_LOG_LEVEL_ERROR == (int)LOG_ERROR, "same order");
_Static_assert((int)CONFIG_LOG_LEVEL_DEBUG == (int)LOG_DEBUG, "same order");
_Static_assert((int)CONFIG_LOG_FORMAT_JSON == (int)LOG_JSON, "same order");

static int print_text(const char *text)
{
    return fputs(text, stdout) == EOF || fflush(stdout) == EOF ? EXIT_FAILED : EXIT_OK;
}

static int print_made_by(void (*make)(struct buf *out))
{
    struct buf text = {0};
    int status;

    make(&text);
    status = buf_failed(&text) ? EXIT_FAILED : print_text(buf_cstr(&text));
    buf_fini(&text);
    return status;
}

/* True when the word is there. Words that start with dashes are never values of flags. */
static bool has_word(int n_args, const char *const *args, const char *word)
{
    for (int i = 0; i < n_args; i++) {
        if (strcmp(args[i], word) == 0)
            return true;
    }
    return false;
}

/* Variables of OpenTelemetry switch traces on where the key `traces` says nothing. */
static void show_traces(const struct trace_conf *traces, struct buf *out)
{
    if (!traces->is_on)
        return;
    buf_c(out, "// traces are sent to ");
    json_text_escape(str_from_c(traces->endpoint), out);
    buf_char(out, '\n');
}

/* With --probe an upstream that does not answer is a failure. */
static int show_config(const struct config *config, const struct mcp_config *servers,
                       const struct upstream_table *upstreams, const struct trace_conf *traces,
                       bool is_probe)
{
    struct buf text = {0};
    bool has_answered = true;
    int status;

    config_show(config, &text);
    mcp_servers_show(servers, &text);
    show_traces(traces, &text);
    if (is_probe)
        has_answered = upstream_report_probe(upstreams, &text);
    else
        upstream_report_show(upstreams, &text);
    status = buf_failed(&text) ? EXIT_FAILED : print_text(buf_cstr(&text));
    buf_fini(&text);
    return has_answered ? status : EXIT_FAILED;
}

/* NULL when there are none, with the reason among the problems. */
static struct upstream_table *load_upstreams(const struct config *config, const char *const *env,
                                             struct config_problems *problems)
{
    const struct upstream_table_source source = {.config = config, .env = env};

    return upstream_table_load(&source, problems);
}

/* True when the file of compaction_prompt is of no use. */
static bool has_bad_prompt(const struct config *config, struct config_problems *problems)
{
    struct arena memory = {0};
    str prompt;
    int rc = compaction_prompt_load(config, &memory, &prompt, problems);

    arena_fini(&memory);
    return rc == -1;
}

/* Core dumps are forbidden by the attribute alone, and by no limit of their size: children, who get
 * a new attribute with their program, would inherit that, and dumps that are piped to a program
 * pass by it. */
static void forbid_core_dumps(void)
{
    (void)prctl(PR_SET_DUMPABLE, 0);
}

/* The word `on` of the key audit is no path: its lines go where the others do. */
static int open_log_files(const struct config *config, struct err *reterr)
{
    const char *audit = config->audit;

    if (config->log_file != NULL && log_file_open(LOG_TARGET_MAIN, config->log_file, reterr) == -1)
        return -1;
    log_audit_set(strcmp(audit, "off") != 0);
    if (!log_audit_is_on() || strcmp(audit, "on") == 0)
        return 0;
    return log_file_open(LOG_TARGET_AUDIT, audit, reterr);
}

/* Runs the daemon, and takes the reference to servers. */
static int run_daemon(const struct config *config, const struct config_sources *sources,
                      const struct api_keys *keys, struct mcp_config *servers,
                      const struct trace_conf *traces, const struct config_problems *warnings)
{
    struct err e;
    int status;

    if (!config->core_dumps)
        forbid_core_dumps();
    log_setup((enum log_level)config->log_level, (enum log_format)config->log_format);
    if (metrics_set_up(config, &e) == -1 || open_log_files(config, &e) == -1) {
        log_msg(LOG_ERROR, "%s", e.msg);
        mcp_config_unref(servers);
        return EXIT_FAILED;
    }
    log_start(config->log_queue_size_bytes);
    log_line(LOG_INFO, "starting",
             (struct log_field[]){LOG_STR("version", STR(ANTIPHON_VERSION)),
                                  LOG_INT("pid", getpid()), LOG_END});
    for (size_t i = 0; i < warnings->n_kept; i++)
        log_msg(LOG_WARN, "%s", warnings->kept[i].text);
    status = server_run(config, sources, keys, servers, traces);
    log_stop();
    return status;
}

static int serve_command(int n_args, const char *const *args)
{
    const char **env;
    struct config_sources sources = {.args = args, .n_args = n_args};
    bool is_check = has_word(n_args, args, "--check-config");
    struct config_problems problems = {.n_kept = 0};
    struct mcp_config *servers = NULL;
    struct upstream_table *upstreams;
    struct config config;
    struct api_keys keys = {.list = NULL};
    struct trace_conf traces;
    bool is_wrong;
    int status = EXIT_USAGE;

    if (command_asks_for_help(n_args, args))
        return print_made_by(config_help);
    env = config_env_list(environ);
    if (env == NULL)
        return EXIT_FAILED;
    sources.env = env;
    is_wrong = config_load(&config, &sources, &problems) == -1;
    is_wrong = api_keys_load(&keys, &config, &problems) == -1 || is_wrong;
    is_wrong = mcp_servers_load(&config, &servers, &problems) == -1 || is_wrong;
    upstreams = load_upstreams(&config, sources.env, &problems);
    is_wrong = upstreams == NULL || is_wrong;
    is_wrong = trace_conf_load(&traces, &config, sources.env, &problems) == -1 || is_wrong;
    is_wrong = has_bad_prompt(&config, &problems) || is_wrong;
    is_wrong = !tls_listener_check(&config, &problems) || is_wrong;
    if (!is_check && has_word(n_args, args, "--probe")) {
        config_error(&problems, "--probe belongs to --check-config");
        is_wrong = true;
    }
    if (is_wrong) {
        command_print_problems(&problems);
    } else if (is_check) {
        command_print_problems(&problems);
        status =
            show_config(&config, servers, upstreams, &traces, has_word(n_args, args, "--probe"));
    } else {
        status = run_daemon(&config, &sources, &keys, servers, &traces, &problems);
        servers = NULL;
    }
    mcp_config_unref(servers);
    upstream_table_unref(upstreams);
    trace_conf_fini(&traces);
    api_keys_fini(&keys);
    config_fini(&config);
    config_problems_fini(&problems);
    free(env);
    return status;
}

static int help_command(int n_args, const char *const *args); /* looks into the table */

static int version_command(int n_args, const char *const *args)
{
    const char *commit = version_commit();

    (void)n_args;
    (void)args;
    if (commit[0] == '\0')
        return print_text("antiphon " ANTIPHON_VERSION "\n");
    return printf("antiphon " ANTIPHON_VERSION " (%s)\n", commit) < 0 || fflush(stdout) == EOF
               ? EXIT_FAILED
               : EXIT_OK;
}

static const struct {
    const char *name;
    int (*run)(int n_args, const char *const *args);
} commands[] = {
#define COMMAND(function, name, arguments, help) {name, function},
#include "cli/command.def"
#undef COMMAND
    {"--help", help_command},
    {"-h", help_command},
    {"--version", version_command},
};

static int refuse_command(const char *name)
{
    struct spelling s = spelling_of(str_from_c(name), strlen(name) / 2);
    struct config_problems problems = {.n_kept = 0};

    for (size_t i = 0; i < COUNT_OF(commands); i++)
        (void)spelling_try(&s, commands[i].name);
    if (s.best != NULL)
        config_error(&problems, "unknown command %s; did you mean %s?", config_quote(s.word).text,
                     s.best);
    else
        config_error(&problems, "unknown command %s; see antiphon help", config_quote(s.word).text);
    (void)fprintf(stderr, "antiphon: %s\n", problems.kept[0].text);
    config_problems_fini(&problems);
    return EXIT_USAGE;
}

/* `antiphon help NAME` is `antiphon NAME --help`. */
static int help_command(int n_args, const char *const *args)
{
    static const char *const help[] = {"--help"};

    if (n_args == 0)
        return print_made_by(command_help_all);
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        if (strcmp(args[0], commands[i].name) != 0)
            continue;
        if (commands[i].run == help_command)
            return print_made_by(command_help_all);
        return commands[i].run(COUNT_OF(help), help);
    }
    return refuse_command(args[0]);
}

/* Opens standard streams that were closed at the start: a store or a socket would get their number,
 * and the log be written into it. */
static bool open_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", O_RDWR) != fd)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    if (!open_standard_streams())
        return EXIT_FAILED;
    for (size_t i = 0; argc > 1 && i < COUNT_OF(commands); i++) {
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 2, (const char *const *)argv + 2);
    }
    if (argc > 1)
        return refuse_command(argv[1]);
    (void)fputs("antiphon: which command? See antiphon help\n", stderr);
    return EXIT_USAGE;
}
