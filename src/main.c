/* main.c -- the command line: which command, which configuration, which exit status.
 *
 * 0 is success, 1 a failure at run time, 2 a mistake on the command line or in
 * the configuration. */
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/version.h"
#include "config/config.h"
#include "ev/log.h"
#include "gateway/docs.h"
#include "gateway/server.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* The configuration does not know the log, so it has its own names for these. */
_Static_assert((int)CONFIG_LOG_LEVEL_ERROR == (int)LOG_ERROR, "same order");
_Static_assert((int)CONFIG_LOG_LEVEL_DEBUG == (int)LOG_DEBUG, "same order");
_Static_assert((int)CONFIG_LOG_FORMAT_JSON == (int)LOG_JSON, "same order");

static const char usage[] = "usage: antiphon serve [flags]     run the gateway\n"
                            "       antiphon serve --help      all flags\n"
                            "       antiphon --version\n";

static int print(const char *text)
{
    return fputs(text, stdout) == EOF || fflush(stdout) == EOF ? EXIT_FAILED : EXIT_OK;
}

static int print_made_by(void (*make)(struct buf *out))
{
    struct buf text = {0};
    int status;

    make(&text);
    status = buf_failed(&text) ? EXIT_FAILED : print(buf_cstr(&text));
    buf_fini(&text);
    return status;
}

static bool asks_for_help(int n_args, const char *const *args)
{
    for (int i = 0; i < n_args; i++) {
        if (strcmp(args[i], "--help") == 0 || strcmp(args[i], "-h") == 0)
            return true;
    }
    return false;
}

static int serve(int n_args, const char *const *args)
{
    struct config config;
    struct err err;
    int status = EXIT_USAGE;

    if (asks_for_help(n_args, args))
        return print_made_by(config_help);
    if (config_load(&config, n_args, args, (const char *const *)environ, &err) == 0) {
        log_setup((enum log_level)config.log_level, (enum log_format)config.log_format);
        if (config.warning != NULL)
            log_msg(LOG_WARN, "%s", config.warning);
        status = server_run(&config);
    } else {
        (void)fprintf(stderr, "antiphon: %s\n", err.msg);
    }
    config_fini(&config);
    return status;
}

/* For `make docs`; not for users, hence not in the help. */
static int docs(int n_args, const char *const *args)
{
    static const struct {
        const char *page;
        void (*make)(struct buf *out);
    } pages[] = {{"config", config_docs}, {"events", docs_events}, {"errors", docs_errors}};

    for (size_t i = 0; n_args == 1 && i < sizeof(pages) / sizeof(*pages); i++) {
        if (strcmp(args[0], pages[i].page) == 0)
            return print_made_by(pages[i].make);
    }
    (void)fprintf(stderr, "usage: antiphon docs config|events|errors\n");
    return EXIT_USAGE;
}

static int help(int n_args, const char *const *args)
{
    (void)n_args;
    (void)args;
    return print(usage);
}

static int version(int n_args, const char *const *args)
{
    (void)n_args;
    (void)args;
    return print("antiphon " ANTIPHON_VERSION "\n");
}

static const struct {
    const char *name;
    int (*run)(int n_args, const char *const *args);
} commands[] = {
    {"serve", serve}, {"help", help},         {"--help", help},     {"-h", help},
    {"docs", docs},   {"--version", version}, {"version", version},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(*commands); i++) {
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 2, (const char *const *)argv + 2);
    }
    if (argc > 1)
        (void)fprintf(stderr, "antiphon: unknown command \"%s\"\n", argv[1]);
    (void)fputs(usage, stderr);
    return EXIT_USAGE;
}
