/* store_command.h -- `antiphon store`: look at a store and look after it.
 *
 * Takes the configuration of `antiphon serve`, from the same places, and works
 * beside gateways that use the store. */
#ifndef ANTIPHON_CLI_STORE_COMMAND_H
#define ANTIPHON_CLI_STORE_COMMAND_H

/* args: the n_args words after `store`. Prints to standard output, errors to
 * standard error; returns the exit status. */
int store_command(int n_args, const char *const *args);

#endif
