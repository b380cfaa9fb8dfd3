/* command_line.c -- what the commands besides `serve` have in common on the terminal. */
#include "cli/command_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/prose.h"
#include "ev/log.h"

static const struct {
    const char *name, *arguments, *help;
} commands[] = {
#define COMMAND(function, name, arguments, help) {name, arguments, help},
#include "cli/command.def"
#undef COMMAND
};

enum { N_COMMANDS = COUNT_OF(commands), EXIT_USAGE = 2 };

static void write_command(size_t i, const char *program, struct buf *out)
{
    buf_c(out, "  ");
    buf_c(out, program);
    buf_c(out, commands[i].name);
    buf_c(out, commands[i].arguments[0] == '\0' ? "" : " ");
    buf_c(out, commands[i].arguments);
    buf_char(out, '\n');
    prose_wrap(commands[i].help, out);
}

void command_help_all(struct buf *out)
{
    buf_c(out, "usage: antiphon COMMAND\n"
               "\n"
               "Gives every Chat Completions server the OpenAI Responses API.\n"
               "\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        write_command(i, "", out);
    buf_c(
        out,
        "\nMore of one: antiphon COMMAND --help. [flags] are those that antiphon serve --help lists.\n");
}

bool command_asks_for_help(int n_args, const char *const *args)
{
    for (int i = 0; i < n_args; i++) {
        if (strcmp(args[i], "--help") == 0 || strcmp(args[i], "-h") == 0)
            return true;
    }
    return false;
}

int command_refuse_usage(const char *message)
{
    (void)fprintf(stderr, "antiphon: %s\n", message);
    return EXIT_USAGE;
}

int command_print(struct buf *text, int status)
{
    bool is_printed = !buf_failed(text) && fwrite(text->p, 1, text->len, stdout) == text->len &&
                      fflush(stdout) != EOF;

    buf_fini(text);
    if (is_printed)
        return status;
    (void)fputs("antiphon: cannot write to standard output\n", stderr);
    return EXIT_FAILURE;
}

int command_print_help(const char *name, const char *more)
{
    struct buf text = {.limit = 0};

    buf_c(&text, "usage:\n\n");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0)
            write_command(i, "antiphon ", &text);
    }
    buf_c(&text, more);
    return command_print(&text, EXIT_SUCCESS);
}

int command_run(const char *name, int n_args, const char *const *args,
                int (*run)(const struct config *config))
{
    const struct config_sources sources = {
        .args = args, .n_args = n_args, .env = (const char *const *)environ};
    struct config_problems problems = {.n_kept = 0};
    struct config config;
    int status = EXIT_USAGE;

    if (command_asks_for_help(n_args, args))
        return command_print_help(name,
                                  "\nThe flags, variables and file are those of antiphon serve; "
                                  "see antiphon serve --help.\n");
    if (config_load(&config, &sources, &problems) == -1)
        command_print_problems(&problems);
    else
        status = run(&config);
    config_fini(&config);
    config_problems_fini(&problems);
    return status;
}

void command_print_problems(const struct config_problems *problems)
{
    struct buf text = {.limit = 0};

    config_problems_print(problems, &text);
    (void)fputs(buf_cstr(&text), stderr);
    buf_fini(&text);
}

void command_set_up_log(const struct config *c)
{
    enum log_level level = (enum log_level)c->log_level;

    log_setup(level == LOG_INFO ? LOG_WARN : level, (enum log_format)c->log_format);
}
