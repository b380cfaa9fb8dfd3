/* jail_sweep.h -- a process that removes control groups, also when the gateway was killed.
 *
 * A group can only be removed when its last process has ended, which may take a moment after it was
 * killed, and somebody must be left to do so after kill -9. So a small child of the gateway does
 * it: it reads names of groups from a pipe, kills what is in them and removes them. When the pipe
 * is closed, for whatever reason, it removes all groups of the gateway that are left, and ends.
 * When it starts it removes those of gateways that are no more.
 *
 * The process is a copy of the gateway that never runs another program, so all that it does may be
 * done after fork() in a process with threads. It holds no descriptor but the pipe, and no signal
 * but SIGKILL ends it. */
#ifndef ANTIPHON_SANDBOX_JAIL_SWEEP_H
#define ANTIPHON_SANDBOX_JAIL_SWEEP_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "sandbox/jail_group.h"

/* What the process has to know; copied. */
struct jail_sweep_conf {
    const struct jail_tree *trees; /* each has a group of each name */
    size_t n_trees;
    const char *prefix; /* of the names of the groups that are left at the end */
    const char *leaf;   /* jail_group_leave() then, if the gateway is gone; "": nothing to leave */
};

struct jail_sweep {
    pid_t pid;
    int fd; /* of the pipe */
};

/* Starts the process. Returns 0, or -1 with *reterr filled. */
int jail_sweep_start(const struct jail_sweep_conf *conf, struct jail_sweep *ret,
                     struct err *reterr);

/* Has the group removed. False when it cannot be told. Any thread. */
bool jail_sweep_remove(const struct jail_sweep *sweep, const char *group);

/* Has the groups that are left removed, and waits for that. */
void jail_sweep_stop(struct jail_sweep *sweep);

#endif
