/* health_command.h -- `antiphon health`: is the gateway of this configuration ready? */
#ifndef ANTIPHON_CLI_HEALTH_COMMAND_H
#define ANTIPHON_CLI_HEALTH_COMMAND_H

#include "base/buf.h"
#include "config/config.h"

/* args: flags of `antiphon serve`. Prints what GET /ready says. Returns the exit status of the
 * process: 0 when it is ready, 1 when it is not or does not answer, 2 for a mistake on the command
 * line or in the configuration. */
int health_command(int n_args, const char *const *args);

/* Appends the URL at which this machine reaches /ready of a listener: one of all addresses at the
 * loopback one. False when it cannot be told, since the port is chosen at start, or since connections
 * have to begin with a PROXY header.
 *
 *     :8080+metrics        http://127.0.0.1:8080/ready
 *     [::]:8443+tls        https://[::1]:8443/ready
 *     unix:/run/a.sock     unix:/run/a.sock:/ready */
bool health_url(const char *listen, struct buf *out);

#endif
