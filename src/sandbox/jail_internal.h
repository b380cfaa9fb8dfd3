/* jail_internal.h -- what the parts of a jail share. */
#ifndef ANTIPHON_SANDBOX_JAIL_INTERNAL_H
#define ANTIPHON_SANDBOX_JAIL_INTERNAL_H

#include <stdatomic.h>

#include "sandbox/jail.h"
#include "sandbox/jail_cgroup.h"
#include "sandbox/jail_paths.h"

/* The script's path, which tracebacks show as well. */
#define JAIL_SCRIPT "/run/main.py"

struct jail_bwrap {
    const char *program;
    uint64_t major, minor;
    bool is_setuid;
};

/* Finds bwrap on the PATH and asks its version. Returns 0, or -1 with *reterr filled. */
int jail_find_bwrap(const char *const *env, struct arena *a, struct jail_bwrap *ret,
                    struct err *reterr);

struct jail {
    struct arena arena;
    struct jail_conf conf;
    struct jail_bwrap bwrap;
    struct jail_python python;
    struct jail_user user;
    struct buf filter;          /* of system calls */
    struct jail_groups *groups; /* NULL: there are no control groups ... */
    struct err why_no_groups;   /* ... because of this */
    bool has_ground;            /* cells have one ... */
    struct err why_no_ground;   /* ... or this is why not */
    int users_fd;               /* the namespace with users for sandboxes; -1: there is none ... */
    struct err why_no_users;    /* ... because of this */
    unsigned n_users;
    atomic_uint n_cells; /* that were opened */
};

/* Descriptors that bwrap inherits, in their order there: what it reads, and where it writes to. */
enum jail_fd {
    JAIL_FD_FILTER,
    JAIL_FD_SCRIPT,
    JAIL_FD_PASSWD,
    JAIL_FD_GROUP,
    JAIL_FD_HOSTS,
    JAIL_FD_INFO, /* written: which process is the first inside */
    JAIL_FDS,
    JAIL_FD_USERS = JAIL_FDS, /* if there is one; closed before bwrap */
};

/* The number of the first descriptor: bwrap gets them as 4, 5 ... (child_spawn.h). */
enum { JAIL_FIRST_FD = 4 };

/* The size of /dev/shm. */
enum { JAIL_SHARED_BYTES = 64 * 1024 * 1024 };

_Static_assert((int)JAIL_FD_USERS < (int)CHILD_MAX_EXTRA_FDS, "all are handed over");

/* The command line that runs Python with the script and the arguments of a cell; NULL when out of
 * memory. Lives as long as the arena and the jail. */
const char *const *jail_command_line(const struct jail *jail, const struct jail_cell_conf *cell,
                                     struct arena *a);

/* The first process inside, as bwrap has written it to the other end of the pipe; 0: nothing yet.
 */
pid_t jail_init_of(int info_fd);

/* True when this kernel has descriptors of processes. */
bool jail_init_can_be_held(void);

/* Opens a descriptor of init, if that is a child of bwrap's; else returns -1. */
int jail_init_open(pid_t init, pid_t bwrap);

#endif
