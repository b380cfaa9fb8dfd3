/* child_stderr.h -- what a child process says besides the protocol (MCP 4.2, 4.5).
 *
 * Its standard error goes into the log line by line, and the last lines are kept
 * to explain its end. Lines on its standard output that are no messages go into
 * the log as well. Both are limited in length and rate: a server may be broken. On
 * the loop's thread. */
#ifndef ANTIPHON_CHILD_CHILD_STDERR_H
#define ANTIPHON_CHILD_CHILD_STDERR_H

#include <sys/types.h>

#include "base/buf.h"
#include "child/child_line.h"
#include "ev/log_rate.h"
#include "ev/loop.h"

enum { CHILD_STDERR_LINE_BYTES = 4096, CHILD_STDERR_KEPT_LINES = 20, CHILD_NOISE_BYTES = 200 };

/* Appends text to out without the secrets of the server (MCP 16.6). A line of which nothing is left
 * is not logged. */
typedef void child_redact(void *arg, str text, struct buf *out);

struct child_stderr {
    const struct loop *loop; /* for its clock */
    const char *kind;        /* "mcp": begins the names of its events in the log */
    const char *label;       /* the owner's */
    pid_t pid;
    child_redact *redact; /* or NULL */
    void *redact_arg;
    struct child_line lines;
    struct log_rate rate, noise_rate;
    struct buf kept[CHILD_STDERR_KEPT_LINES]; /* a ring, redacted */
    size_t n_lines;                           /* all so far */
};

void child_stderr_init(struct child_stderr *s, const struct loop *loop, const char *kind,
                       const char *label, child_redact *redact, void *redact_arg);
void child_stderr_fini(struct child_stderr *s);

/* The next bytes of standard error, and its end. */
void child_stderr_feed(struct child_stderr *s, str bytes);
void child_stderr_end(struct child_stderr *s);

/* A line of standard output that is not a message. */
void child_stderr_noise(struct child_stderr *s, str line);

/* Appends the last lines, the oldest first, each with LF behind it. */
void child_stderr_last(const struct child_stderr *s, struct buf *out);

#endif
