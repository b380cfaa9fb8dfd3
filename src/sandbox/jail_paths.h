/* jail_paths.h -- what of this machine a sandbox needs to see: bwrap and Python.
 *
 * Python is wherever the PATH says, which may be a place that sandboxes cannot see or that the
 * user they run as may not enter:
 *
 *     /usr/bin/python3                      a system's: nothing to add
 *     /opt/python/bin/python3.12            its file and its lib are shown besides
 *     /srv/env/bin/python                   a virtual environment: its lib and pyvenv.cfg, and what
 *                                           its link leads to, as above
 *     ~/.pyenv/shims/python3                a shell script that looks for one: passed over, and the
 *                                           next on the PATH taken
 *
 * Only what is listed is shown, never the whole of a prefix, which may be somebody's home. Nothing
 * is asked of Python itself, which would have to be run outside of the sandbox for it. */
#ifndef ANTIPHON_SANDBOX_JAIL_PATHS_H
#define ANTIPHON_SANDBOX_JAIL_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"

/* The user that a sandbox runs as; uid 0: the gateway's own, which is not root then. */
struct jail_user {
    uid_t uid;
    gid_t gid;
};

enum { JAIL_PYTHON_PATHS = 8 };

struct jail_python {
    const char *program; /* what is run, an absolute path */
    const char *link_to; /* the file that program is to be a link to; NULL: none is needed */
    const char *paths[JAIL_PYTHON_PATHS]; /* outside of the system's, to be shown; ends with NULL */
};

/* Finds a program on the PATH of env, or in the usual places; NULL when there is none. */
const char *jail_find_program(const char *name, const char *const *env, struct arena *a);

/* Finds a Python that sandboxes can use. Returns 0, or -1 with *reterr saying what is wrong with
 * the one that was named. */
int jail_find_python(const char *name, const char *const *env, const struct jail_user *user,
                     struct arena *a, struct jail_python *ret, struct err *reterr);

/* Checks whether a directory of the configuration may be shown: absolute, open to the user, and
 * nothing that sandboxes have a version of their own of. Returns 0, or -1 with *reterr filled. */
int jail_check_path(const char *path, const struct jail_user *user, struct err *reterr);

#endif
