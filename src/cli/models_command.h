/* models_command.h -- `antiphon models`: names that clients may ask for. */
#ifndef ANTIPHON_CLI_MODELS_COMMAND_H
#define ANTIPHON_CLI_MODELS_COMMAND_H

/* args: flags of `antiphon serve`. Prints one name a line: the upstream's models, in its order, and
 * the names of model_alias that stand for one of them. Returns the exit status of the process: 0, 1
 * when the upstream does not tell, 2 for a mistake on the command line or in the configuration. */
int models_command(int n_args, const char *const *args);

#endif
