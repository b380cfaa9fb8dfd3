/* jail.h -- a program that sees nothing of this machine but programs and libraries.
 *
 * bubblewrap (bwrap) puts a command into namespaces of its own: no network, no process besides its
 * own, the system's directories read only, /mnt/data and /tmp in memory and of limited size, no
 * capability, no further namespaces, no environment but what is named here. libseccomp refuses
 * the system calls that such a program has no use for. A control group, where the gateway may
 * make one, limits what all processes of a sandbox use together; where it may not, each has
 * limits of its own (setrlimit), which the command sets itself before it runs anything foreign.
 *
 * A jail never changes once made; any thread. */
#ifndef ANTIPHON_SANDBOX_JAIL_H
#define ANTIPHON_SANDBOX_JAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "child/child_spawn.h"
#include "sandbox/jail_ground.h"

#define JAIL_WORK_DIRECTORY "/mnt/data"

struct jail;

/* The ground that bwrap is started in (jail_ground.h), at most. */
enum jail_ground { JAIL_GROUND_USERS, JAIL_GROUND_FILES, JAIL_GROUND_NONE };

enum jail_cgroup { JAIL_CGROUP_AUTO, JAIL_CGROUP_REQUIRE, JAIL_CGROUP_OFF };

/* Texts must outlive the jail. */
struct jail_conf {
    enum jail_ground ground;
    const char *python;       /* the name of Python on the PATH of env, or its path */
    const char *const *env;   /* the gateway's environment: only its PATH is read; ends with NULL */
    const char *const *paths; /* further directories that are seen, read only */
    size_t n_paths;
    const char *user; /* whom sandboxes run as when we are root */
    enum jail_cgroup cgroup;
    size_t disk_bytes;  /* of the work directory; /tmp has as much again */
    unsigned max_files; /* the same */
    unsigned max_processes;
    unsigned cpu_percent; /* of one processor; with a control group */
    bool has_egress;      /* cells have a way out */
};

#define JAIL_EGRESS_SOCKET "/run/egress.sock"

/* Finds bwrap, python, user and control groups, and makes the filter of system calls. NULL with
 * *reterr filled: the message says what is missing and how to get it. Whether a command then runs
 * is found out by running one. */
struct jail *jail_new(const struct jail_conf *conf, struct err *reterr);

/* The user that sandboxes run as; 0: the gateway's own. */
uid_t jail_uid(const struct jail *jail);

/* Frees a jail whose last cell was closed. NULL is fine. */
void jail_free(struct jail *jail);

/* Appends one line for the log: "bubblewrap 0.8, control groups v2, Python /usr/bin/python3.11". */
void jail_describe(const struct jail *jail, struct buf *out);

/* The ground that cells are started in. */
enum jail_ground jail_ground_of(const struct jail *jail);

/* Appends a line without end for each promise that cannot be kept here, with a newline between two:
 * what may happen, and what helps. Returns how many there are. */
size_t jail_shortfalls(const struct jail *jail, struct buf *out);

/* True when a control group counts memory and processes of a sandbox; else each process has to set
 * limits for itself. */
bool jail_counts_memory(const struct jail *jail);

/* Appends, when sandboxes cannot be started, what the settings of this machine have to do with it
 * and what helps, "users may not make namespaces here, which takes sysctl ..."; nothing when they
 * are as they should be. */
void jail_advise(struct buf *out);

/* ---- one sandbox */

enum { JAIL_MAX_JOIN_FDS = 3, JAIL_GROUP_BYTES = 160 };

/* What it takes to start a sandbox, and to clean up behind it. It must not move. */
struct jail_cell {
    struct jail *jail;
    struct child_command command; /* runs Python with the script, which gets the arguments */
    struct arena arena;           /* of the command */
    int fds[CHILD_MAX_EXTRA_FDS];
    int join_fds[JAIL_MAX_JOIN_FDS];
    int info_fd; /* tells which process is the first inside */
    int init_fd; /* that process; -1: not known yet */
    struct jail_ground_plan ground;
    char group[JAIL_GROUP_BYTES]; /* name of its control group; "" when it has none */
};

struct jail_cell_conf {
    const char *name;          /* of the sandbox, for its control group: letters, digits, _ */
    size_t memory_bytes;       /* of all its processes and files; see jail_counts_memory() */
    const char *script;        /* Python source, run as a program */
    const char *egress_socket; /* its way out, seen as JAIL_EGRESS_SOCKET; NULL: none */
    const char *const *args;   /* of the script, sys.argv[1:]; ends with NULL; NULL: none */
};

/* Opens a cell; copies what conf names. Returns 0, or -1 with *reterr filled and nothing left
 * behind. The process that starts the command has to do so in a thread that lives as long as the
 * sandbox, which is killed with it. */
int jail_cell_open(struct jail *jail, const struct jail_cell_conf *conf, struct jail_cell *ret,
                   struct err *reterr);

/* Closes what only the child needs, once the command has been started or could not be. */
void jail_cell_started(struct jail_cell *cell);

/* Makes the cell one that jail_cell_kill() can kill. The script runs, and process, which the
 * command was started as, has not been reaped. */
void jail_cell_ready(struct jail_cell *cell, pid_t process);

/* Kills all that runs in the cell, whatever has become of the process outside: the first process
 * inside, with which the kernel ends the rest. */
void jail_cell_kill(const struct jail_cell *cell);

/* Kills what is left in the cell (with a control group) and removes its group. The process itself
 * must have been reaped. */
void jail_cell_close(struct jail_cell *cell);

#endif
