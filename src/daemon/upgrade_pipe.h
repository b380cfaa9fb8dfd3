/* upgrade_pipe.h -- the pipe through which a new process reports, at the end that listens. */
#ifndef ANTIPHON_DAEMON_UPGRADE_PIPE_H
#define ANTIPHON_DAEMON_UPGRADE_PIPE_H

#include <stdbool.h>
#include <stddef.h>

/* Reads what is there behind the first *len bytes of text, of which size can be kept with a '\0' behind
 * them. fd does not block. False at its end: nothing more comes, or can be kept. */
bool upgrade_pipe_read(int fd, char *text, size_t size, size_t *len);

#endif
