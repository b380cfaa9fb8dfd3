/* mcp_stderr.h -- what a server process says besides the protocol (MCP 4.2, 4.5).
 *
 * Its standard error goes into the log line by line, and the last lines are kept
 * to explain its end. Lines on its standard output that are no messages go into
 * the log as well. Both are limited in length and rate: a server may be broken. On
 * the loop's thread. */
#ifndef ANTIPHON_MCP_MCP_STDERR_H
#define ANTIPHON_MCP_MCP_STDERR_H

#include <sys/types.h>

#include "base/buf.h"
#include "ev/loop.h"
#include "mcp/mcp_line.h"
#include "mcp/mcp_rate.h"

enum { MCP_STDERR_LINE_BYTES = 4096, MCP_STDERR_KEPT_LINES = 20, MCP_NOISE_BYTES = 200 };

/* Appends text to out without the secrets of the server (MCP 16.6). */
typedef void mcp_redact(void *arg, str text, struct buf *out);

struct mcp_stderr {
    const struct loop *loop; /* for its clock */
    const char *label;       /* the owner's */
    pid_t pid;
    mcp_redact *redact; /* or NULL */
    void *redact_arg;
    struct mcp_line lines;
    struct mcp_rate rate, noise_rate;
    struct buf kept[MCP_STDERR_KEPT_LINES]; /* a ring, redacted */
    size_t n_lines;                         /* all so far */
};

void mcp_stderr_init(struct mcp_stderr *s, const struct loop *loop, const char *label,
                     mcp_redact *redact, void *redact_arg);
void mcp_stderr_fini(struct mcp_stderr *s);

/* The next bytes of standard error, and its end. */
void mcp_stderr_feed(struct mcp_stderr *s, str bytes);
void mcp_stderr_end(struct mcp_stderr *s);

/* A line of standard output that is not a message. */
void mcp_stderr_noise(struct mcp_stderr *s, str line);

/* Appends the last lines, the oldest first, each with LF behind it. */
void mcp_stderr_last(const struct mcp_stderr *s, struct buf *out);

#endif
