/* health_command.h -- `antiphon health`: is the gateway of this configuration ready? */
#ifndef ANTIPHON_CLI_HEALTH_COMMAND_H
#define ANTIPHON_CLI_HEALTH_COMMAND_H

/* args: flags of `antiphon serve`. Prints what GET /ready says. Returns the exit status of the
 * process: 0 when it is ready, 1 when it is not or does not answer, 2 for a mistake on the command
 * line or in the configuration. */
int health_command(int n_args, const char *const *args);

#endif
