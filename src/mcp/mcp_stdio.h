/* mcp_stdio.h -- a server process and the lines that go to and from it (MCP 4).
 *
 * A transport: it knows lines, not messages. One object is one process; who wants
 * the server again after its end starts another (mcp_backoff.h says when).
 *
 *     mcp_stdio_start -> on_line ... on_line -> on_exit -> on_closed
 *                 \-> mcp_stdio_send            ^    nothing can be sent any more
 *                  \-> mcp_stdio_stop ----------/
 *
 * on_exit comes when the server is of no more use: it has ended, closed a stream,
 * sent too long a line, or could not be started. on_closed comes when nothing is
 * left of it: no process of its group, no zombie, no descriptor. That is often the
 * same moment and never later than MCP_STDIO_STEPS times grace_ms.
 *
 * Everything runs on the loop's thread. Callbacks come from the loop only, never
 * from inside a function below, and may call any of them. The process must ignore
 * SIGPIPE, and must not reap children it does not know. */
#ifndef ANTIPHON_MCP_MCP_STDIO_H
#define ANTIPHON_MCP_MCP_STDIO_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "ev/loop.h"
#include "mcp/mcp_spawn.h"
#include "mcp/mcp_stderr.h"

enum {
    MCP_STDIO_LINE_BYTES = 8 * 1024 * 1024,
    MCP_STDIO_QUEUE_BYTES = 16 * 1024 * 1024,
    MCP_STDIO_GRACE_MS = 2000,
    MCP_STDIO_STEPS = 3, /* close its input, SIGTERM, SIGKILL; each waits for grace_ms */
};

struct mcp_stdio;

struct mcp_stdio_end {
    bool was_asked;     /* mcp_stdio_stop() came first */
    int start_errno;    /* not 0: no program was started; ENOENT and EACCES will not heal soon */
    const char *reason; /* "exited with status 3"; dies when on_exit returns */
};

struct mcp_stdio_handler {
    /* A line of its standard output, not blank, without line end; the view dies
     * when it returns. False: that was no message, and goes into the log. */
    bool (*on_line)(void *arg, str line);
    /* Once. No line follows; calls that wait for an answer have failed. */
    void (*on_exit)(void *arg, const struct mcp_stdio_end *end);
    /* Once, the last word, after on_exit; the object is gone when it returns. */
    void (*on_closed)(void *arg);
};

/* The texts must live until on_closed. 0 stands for the constant above. */
struct mcp_stdio_conf {
    const char *label; /* names the server in the log */
    struct mcp_command command;
    size_t line_bytes;  /* of a message from the server, `maxMessageBytes` */
    size_t queue_bytes; /* waiting for the server to read them */
    uint64_t grace_ms;
    mcp_redact *redact; /* takes secrets out of what goes into the log; or NULL */
    void *redact_arg;
};

/* NULL with *reterr filled when there is no memory, descriptor or process left, and
 * no callback follows. That the program does not exist is told by on_exit. The loop
 * must not end before on_closed. */
struct mcp_stdio *mcp_stdio_start(struct loop *loop, const struct mcp_stdio_conf *conf,
                                  const struct mcp_stdio_handler *handler, void *arg,
                                  struct err *reterr);

/* Sends a JSON text as one line: line ends in it, which can only be white space
 * there, become blanks. False, with nothing sent, when the queue has no room for it
 * or the server is stopping or has ended. */
bool mcp_stdio_send(struct mcp_stdio *m, str json);

/* MCP 4.7. Lines that the server still writes are handed on until it has ended.
 * Stopping again, or what has ended, changes nothing. */
void mcp_stdio_stop(struct mcp_stdio *m);

pid_t mcp_stdio_pid(const struct mcp_stdio *m);

/* Appends the last lines of its standard error (MCP 4.5), also inside on_exit. */
void mcp_stdio_last_stderr(const struct mcp_stdio *m, struct buf *out);

#endif
