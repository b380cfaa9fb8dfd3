/* child_spawn.h -- start a process as MCP 4.3 wants it, and every other child gets it.
 *
 *     child_spawn_open_pipes()  ->  watch the ends in ours[]  ->  child_spawn_fork()
 *                                                               child_spawn_close_pipes()
 *
 * so that nothing can fail once there is a process. Nothing here waits for the
 * child: whether its program could be started is known when it has ended, from
 * child_spawn_why_ended(). Any thread. */
#ifndef ANTIPHON_CHILD_CHILD_SPAWN_H
#define ANTIPHON_CHILD_CHILD_SPAWN_H

#include <signal.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

enum { CHILD_MAX_EXTRA_FDS = 7 };

/* The pipes to a child: its standard streams, and the one that says why there is
 * no program. All descriptors close on exec. */
enum child_pipe {
    CHILD_PIPE_IN,
    CHILD_PIPE_OUT,
    CHILD_PIPE_ERR,
    CHILD_PIPE_REPORT,
    CHILD_PIPE_COUNT
};

struct child_pipes {
    int ours[CHILD_PIPE_COUNT];   /* do not block; -1: given away or not open */
    int theirs[CHILD_PIPE_COUNT]; /* block */
};

/* A program and how it is started. Everything is borrowed for the duration of a call. */
struct child_command {
    const char *const *argv; /* argv[0] is looked for on the PATH of env, never given to a shell */
    const char *const *env;  /* all that the child sees */
    const char *cwd;         /* NULL: the gateway's */
    const int *extra_fds;    /* become its descriptors 4, 5 ...; stay open here */
    size_t n_extra_fds;      /* at most CHILD_MAX_EXTRA_FDS */
    const int *join_fds;     /* what it writes "0" to before: cgroup.procs of a control group */
    size_t n_join_fds;
    bool ends_with_us; /* its group is ended when we are killed (child_keeper.h) */
    bool goes_first;   /* when the machine runs out of memory, and not we */
    bool dies_with_us; /* SIGKILL when the thread that has started it ends */
    uid_t uid;         /* whom it runs as, without further groups; 0: as we do */
    gid_t gid;
    /* Runs last, before the child becomes the program; returns 0, or the errno of what failed. As
     * after fork() in a process with threads: system calls only. NULL: nothing. */
    int (*prepare)(const void *arg);
    const void *prepare_arg;
};

/* Returns 0, or -1 with *reterr filled and nothing open. */
int child_spawn_open_pipes(struct child_pipes *ret, struct err *reterr);

/* Closes what is not -1 and sets it to -1. */
void child_spawn_close_pipes(int ends[CHILD_PIPE_COUNT]);

/* Starts the process and returns it, or -1 with *reterr filled. It leads a session of its own, has
 * descriptors 0, 1, 2, what extra_fds names and no others, no blocked signal and no changed
 * reaction to one. Until it is the program it ends with the caller. It is the caller's to reap. */
pid_t child_spawn_fork(const struct child_command *command, const struct child_pipes *pipes,
                       struct err *reterr);

/* Appends why a process has ended, as waitid() says in died: "exited with status 3". Returns 0, or
 * the errno of what failed if it never became the program. */
int child_spawn_why_ended(const struct child_command *command, int report_fd, const siginfo_t *died,
                          struct buf *out);

/* The value of a variable, with a NUL behind; STR_NONE when it is not set. It may be empty.
 * env ends with NULL; NULL: empty. */
str child_env_get(const char *const *env, str name);

#endif
