/* sandbox_command.h -- `antiphon sandbox`: the code interpreter tried out without a gateway. */
#ifndef ANTIPHON_CLI_SANDBOX_COMMAND_H
#define ANTIPHON_CLI_SANDBOX_COMMAND_H

/* args: run or check, its words, and flags of `antiphon serve`. Prints what was asked for. Returns
 * the exit status of the process: 0, 1 when code has failed, 2 for a mistake on the command line or
 * when there can be no sandbox. */
int sandbox_command(int n_args, const char *const *args);

#endif
