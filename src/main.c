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
#include "cli/command_line.h"
#include "cli/key_command.h"
#include "cli/mcp_command.h"
#include "cli/sandbox_command.h"
#include "cli/store_command.h"
#include "cli/upstream_report.h"
#include "config/config.h"
#include "config/spelling.h"
#include "daemon/mcp_servers.h"
#include "daemon/server.h"
#include "ev/log.h"
#include "turn/compaction_prompt.h"

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

static int show_config(const struct config *config, const struct mcp_config *servers)
{
    struct buf text = {0};
    int status;

    config_show(config, &text);
    mcp_servers_show(servers, &text);
    upstream_report_show(config, &text);
    status = buf_failed(&text) ? EXIT_FAILED : print_text(buf_cstr(&text));
    buf_fini(&text);
    return status;
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

/* Runs the daemon, and takes the reference to servers. */
static int run_daemon(const struct config *config, const struct config_sources *sources,
                      const struct api_keys *keys, struct mcp_config *servers,
                      const struct config_problems *warnings)
{
    int status;

    if (!config->core_dumps)
        forbid_core_dumps();
    log_setup((enum log_level)config->log_level, (enum log_format)config->log_format);
    log_start(config->log_queue_size_bytes);
    for (size_t i = 0; i < warnings->n_kept; i++)
        log_msg(LOG_WARN, "%s", warnings->kept[i].text);
    status = server_run(config, sources, keys, servers);
    log_stop();
    return status;
}

static int serve_command(int n_args, const char *const *args)
{
    const struct config_sources sources = {
        .args = args, .n_args = n_args, .env = (const char *const *)environ};
    bool is_check = has_word(n_args, args, "--check-config");
    struct config_problems problems = {.n_kept = 0};
    struct mcp_config *servers = NULL;
    struct config config;
    struct api_keys keys = {.list = NULL};
    bool is_wrong;
    int status = EXIT_USAGE;

    if (command_asks_for_help(n_args, args))
        return print_made_by(config_help);
    is_wrong = config_load(&config, &sources, &problems) == -1;
    is_wrong = api_keys_load(&keys, &config, &problems) == -1 || is_wrong;
    is_wrong = mcp_servers_load(&config, &servers, &problems) == -1 || is_wrong;
    is_wrong = has_bad_prompt(&config, &problems) || is_wrong;
    if (is_wrong) {
        command_print_problems(&problems);
    } else if (is_check) {
        command_print_problems(&problems);
        status = show_config(&config, servers);
    } else {
        status = run_daemon(&config, &sources, &keys, servers, &problems);
        servers = NULL;
    }
    mcp_config_unref(servers);
    api_keys_fini(&keys);
    config_fini(&config);
    config_problems_fini(&problems);
    return status;
}

static int help_command(int n_args, const char *const *args)
{
    (void)n_args;
    (void)args;
    return print_made_by(command_help_all);
}

static int version_command(int n_args, const char *const *args)
{
    (void)n_args;
    (void)args;
    return print_text("antiphon " ANTIPHON_VERSION "\n");
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
