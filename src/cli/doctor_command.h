/* doctor_command.h -- `antiphon doctor`: what the upstream can do, and what to set for it. */
#ifndef ANTIPHON_CLI_DOCTOR_COMMAND_H
#define ANTIPHON_CLI_DOCTOR_COMMAND_H

/* args: its own flags and those of `antiphon serve`. Prints the report. Returns the exit status of the
 * process: 0 all is good, 1 something is to be set or is bad, 2 the upstream is of no use or the command
 * line is wrong, 3 nobody answers. */
int doctor_command(int n_args, const char *const *args);

#endif
