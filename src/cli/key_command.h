/* key_command.h -- `antiphon key`: keys for clients, and their lines for the file. */
#ifndef ANTIPHON_CLI_KEY_COMMAND_H
#define ANTIPHON_CLI_KEY_COMMAND_H

/* args: nothing or NAME makes a key and prints it, with its line when there is a
 * name; "hash", NAME reads a key from standard input and prints its line. Returns
 * the exit status of the process (main.c). */
int key_command(int n_args, const char *const *args);

#endif
