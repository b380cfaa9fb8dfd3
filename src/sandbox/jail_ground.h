/* jail_ground.h -- what bwrap is started in: a user, and file systems with a limit of files.
 *
 * bwrap makes file systems in memory of a size, but without a limit of their files, and empty ones
 * have no size; and what it starts runs as its own user, whose quotas in the kernel are the
 * gateway's. So the child prepares the ground before it becomes bwrap:
 *
 *     user namespace    one with a range of /etc/subuid (newuidmap), in which each sandbox takes
 *                       a user that nobody else has; or a new one of the same user
 *     mount namespace   the file systems lie in JAIL_GROUND_DIRECTORY, which no sandbox sees, and
 *                       bwrap shows them where they belong
 *
 * Where the machine does not allow that, bwrap starts without a ground. */
#ifndef ANTIPHON_SANDBOX_JAIL_GROUND_H
#define ANTIPHON_SANDBOX_JAIL_GROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "sandbox/jail_paths.h"

#define JAIL_GROUND_DIRECTORY "/sys"

struct jail_ground_limits {
    size_t disk_bytes, shared_bytes;
    unsigned max_files;
};

/* The plan of what a child does; made before it is forked. */
struct jail_ground_plan {
    int userns_fd; /* its number in the child, which it closes; -1: a new namespace */
    unsigned id;   /* the user in that namespace */
    char uid_map[64], gid_map[64]; /* of a new one */
    char disk_options[96], shared_options[96];
};

/* Opens a user namespace with users that this user may give away. Returns its descriptor, with
 * *ret_n the number of users, the first of which is JAIL_GROUND_FIRST; or -1 with *reterr filled.
 * newuidmap is looked for on the PATH of env. */
int jail_ground_open_users(const char *const *env, unsigned *ret_n, struct err *reterr);

enum { JAIL_GROUND_FIRST = 1000 };

/* Makes the plan of a child that runs as user by then. */
void jail_ground_plan(const struct jail_user *user, const struct jail_ground_limits *limits,
                      struct jail_ground_plan *ret);

/* Prepares the ground, in the child, before exec, with its plan (arg): system calls only. Returns
 * 0, or the errno of what failed. */
int jail_ground_prepare(const void *arg);

/* Tries whether a child of this user can prepare the plan's ground, by forking one. Returns 0 or
 * the errno. */
int jail_ground_try(const struct jail_user *user, const struct jail_ground_plan *plan);

#endif
