/* child.h -- a child process and the lines that go to and from it (MCP 4).
 *
 * A transport: it knows lines, not messages. One object is one process; who wants
 * it again after its end starts another (mcp_backoff.h says when).
 *
 *     child_start -> on_line ... on_line -> on_exit -> on_closed
 *                 \-> child_send            ^    nothing can be sent any more
 *                  \-> child_stop ----------/
 *
 * on_exit comes when it is of no more use: it has ended, closed a stream,
 * sent too long a line, or could not be started. on_closed comes when nothing is
 * left of it: no process of its group, no zombie, no descriptor. That is often the
 * same moment and never later than CHILD_STEPS times grace_ms.
 *
 * Everything runs on the loop's thread. Callbacks come from the loop only, never
 * from inside a function below, and may call any of them. The process must ignore
 * SIGPIPE, and must not reap children it does not know. */
#ifndef ANTIPHON_CHILD_CHILD_H
#define ANTIPHON_CHILD_CHILD_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "child/child_spawn.h"
#include "child/child_stderr.h"
#include "ev/loop.h"

enum {
    CHILD_LINE_BYTES = 8 * 1024 * 1024,
    CHILD_QUEUE_BYTES = 16 * 1024 * 1024,
    CHILD_GRACE_MS = 2000,
    CHILD_STEPS = 3, /* close its input, SIGTERM, SIGKILL; each waits for grace_ms */
};

struct child;

struct child_end {
    bool was_asked;     /* child_stop() came first */
    int start_errno;    /* not 0: no program was started; ENOENT and EACCES will not heal soon */
    const char *reason; /* "exited with status 3"; dies when on_exit returns */
    int signal; /* that ended it, or of which its status (128 and the signal) tells; 0: none */
};

struct child_handler {
    /* A line of its standard output, not blank, without line end; the view dies
     * when it returns. False: that was no message, and goes into the log. */
    bool (*on_line)(void *arg, str line);
    /* Runs once. No line follows; calls that wait for an answer have failed. */
    void (*on_exit)(void *arg, const struct child_end *end);
    /* Runs once, as the last word, after on_exit; the object is gone when it returns. */
    void (*on_closed)(void *arg);
};

/* How a child is started. The texts must live until on_closed. 0 stands for the constant above. */
struct child_conf {
    const char *kind;  /* of what it is, for the log: "mcp" */
    const char *label; /* names it in the log */
    struct child_command command;
    size_t line_bytes;  /* of a message from it, `maxMessageBytes` */
    size_t queue_bytes; /* waiting for it to read them */
    uint64_t grace_ms;
    child_redact *redact; /* takes secrets out of what goes into the log; or NULL */
    void *redact_arg;
};

/* Starts a child. NULL with *reterr filled when there is no memory, descriptor or process left, and
 * no callback follows. That the program does not exist is told by on_exit. The loop must not end
 * before on_closed. */
struct child *child_start(struct loop *loop, const struct child_conf *conf,
                          const struct child_handler *handler, void *arg, struct err *reterr);

/* Sends a JSON text as one line: line ends in it, which can only be white space
 * there, become blanks. False, with nothing sent, when the queue has no room for it
 * or it is stopping or has ended. */
bool child_send(struct child *m, str json);

/* Stops the process by the steps of MCP 4.7. Lines that it still writes are handed on until it has
 * ended. Stopping again, or what has ended, changes nothing. */
void child_stop(struct child *m);

/* Kills the process without asking, and without the steps of child_stop(). on_exit and on_closed
 * follow as ever. */
void child_kill(struct child *m);

/* Sets another line_bytes, at least 1: for those who know how long the next line may be. */
void child_limit_lines(struct child *m, size_t line_bytes);

pid_t child_pid(const struct child *m);

/* Appends the last lines of the child's standard error (MCP 4.5), also inside on_exit. */
void child_last_stderr(const struct child *m, struct buf *out);

#endif
