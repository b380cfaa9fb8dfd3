/* admin_command.h -- `antiphon upstreams` and `antiphon keys`: what is in effect in a running gateway, asked at its listener with
 * +admin (OPERATIONS 6.4). */
#ifndef ANTIPHON_CLI_ADMIN_COMMAND_H
#define ANTIPHON_CLI_ADMIN_COMMAND_H

/* args: the command's own words, and flags of `antiphon serve`. Returns the exit status of the process: 0, 1 when
 * nobody answers or the answer is a refusal, 2 for a mistake on the command line or in the configuration, which
 * has to have a listener with +admin. */
int admin_command_upstreams(int n_args, const char *const *args);
int admin_command_keys(int n_args, const char *const *args);

#endif
