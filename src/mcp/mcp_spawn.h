/* mcp_spawn.h -- start a process as MCP 4.3 wants it.
 *
 *     mcp_spawn_open_pipes()  ->  watch the ends in ours[]  ->  mcp_spawn_fork()
 *                                                               mcp_spawn_close_pipes()
 *
 * so that nothing can fail once there is a process. Nothing here waits for the
 * child: whether its program could be started is known when it has ended, from
 * mcp_spawn_why_ended(). Any thread. */
#ifndef ANTIPHON_MCP_MCP_SPAWN_H
#define ANTIPHON_MCP_MCP_SPAWN_H

#include <signal.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* The pipes to a child: its standard streams, and the one that says why there is
 * no program. All descriptors close on exec. */
enum mcp_pipe { MCP_PIPE_IN, MCP_PIPE_OUT, MCP_PIPE_ERR, MCP_PIPE_REPORT, MCP_PIPE_COUNT };

struct mcp_pipes {
    int ours[MCP_PIPE_COUNT];   /* do not block; -1: given away or not open */
    int theirs[MCP_PIPE_COUNT]; /* block */
};

/* Everything is borrowed for the duration of a call. */
struct mcp_command {
    const char *const *argv; /* argv[0] is looked for on the PATH of env, never given to a shell */
    const char *const *env;  /* all that the child sees */
    const char *cwd;         /* NULL: the gateway's */
};

/* Returns 0, or -1 with *reterr filled and nothing open. */
int mcp_spawn_open_pipes(struct mcp_pipes *ret, struct err *reterr);

/* Closes what is not -1 and sets it to -1. */
void mcp_spawn_close_pipes(int ends[MCP_PIPE_COUNT]);

/* The process, or -1 with *reterr filled. It leads a session of its own, has
 * descriptors 0, 1, 2 and no others, no blocked signal and no changed reaction to
 * one. It is the caller's to reap. */
pid_t mcp_spawn_fork(const struct mcp_command *command, const struct mcp_pipes *pipes,
                     struct err *reterr);

/* When the process has ended, as waitid() says in died: appends why, as "exited with
 * status 3". Returns 0, or the errno of what failed if it never became the program. */
int mcp_spawn_why_ended(const struct mcp_command *command, int report_fd, const siginfo_t *died,
                        struct buf *out);

#endif
