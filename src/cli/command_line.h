/* command_line.h -- what the commands besides `serve` have in common on the terminal. */
#ifndef ANTIPHON_CLI_COMMAND_LINE_H
#define ANTIPHON_CLI_COMMAND_LINE_H

#include "base/buf.h"
#include "config/config.h"

/* True when --help or -h is among the words. */
bool command_asks_for_help(int n_args, const char *const *args);

/* Appends the text of `antiphon help`: all commands of command.def. */
void command_help_all(struct buf *out);

/* Prints the text and frees it. Returns the exit status: that, or EXIT_FAILURE after it has said
 * on standard error that nothing can be printed. */
int command_print(struct buf *text, int status);

/* Prints the text of one command, then more ("": none). Returns the exit status. */
int command_print_help(const char *name, const char *more);

/* A command whose words are those of the configuration: prints its help when that is asked for, or what is
 * wrong with the configuration, or else runs it. Returns the exit status, 2 for a wrong configuration. */
int command_run(const char *name, int n_args, const char *const *args,
                int (*run)(const struct config *config));

/* Says on standard error how a command is used otherwise. Returns the exit status, 2. */
int command_refuse_usage(const char *message);

/* Prints what is wrong with a configuration on standard error. */
void command_print_problems(const struct config_problems *problems);

/* Sets the log up as configured, but for lines of level info: what a gateway logs at work would be
 * noise here. */
void command_set_up_log(const struct config *c);

#endif
