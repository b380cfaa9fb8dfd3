/* upgrade_launch.h -- the program of this process, started anew with its sockets. */
#ifndef ANTIPHON_DAEMON_UPGRADE_LAUNCH_H
#define ANTIPHON_DAEMON_UPGRADE_LAUNCH_H

#include <stdbool.h>
#include <uv.h>

#include "base/err.h"

struct server;

/* report_fd is the end of a pipe for the new process, and stays the caller's. Returns 0, or -1 with *reterr
 * filled. *process, whose data stays, is to be closed by uv_close() when *ret_is_open, also on failure. */
int upgrade_launch(struct server *s, uv_process_t *process, uv_exit_cb on_exit, int report_fd,
                   bool *ret_is_open, struct err *reterr);

#endif
