/* child_line.h -- cut what a child process writes into lines (MCP 4.1, 4.5).
 *
 * LF ends a line and a CR before it belongs to the end; blank lines are left
 * out. Pure: bytes in, lines out, however they were cut on the way. */
#ifndef ANTIPHON_CHILD_CHILD_LINE_H
#define ANTIPHON_CHILD_CHILD_LINE_H

#include "base/buf.h"
#include "base/str.h"

struct child_line {
    struct buf held; /* the start of a line that crosses a read */
    size_t limit_bytes;
    bool cuts; /* a line over the limit is cut, else it is an error */
    bool failed;
};

/* The view dies when the function returns. */
typedef void child_line_on_line(void *arg, str line);

/* Starts a cutter. The limit is one without the end of the line, at least 1. */
void child_line_init(struct child_line *l, size_t limit_bytes, bool cuts);
void child_line_fini(struct child_line *l);

/* Sets another limit, also from inside on_line. A line that has begun fails with its next byte if
 * it is over a lower one. */
void child_line_set_limit(struct child_line *l, size_t limit_bytes);

/* Feed the next bytes. Returns 0, or -1 when a line passed the limit or memory
 * ran out; then every later call returns -1 as well. Lines before the long one
 * have been handed out. A cutter that cuts hands out the first limit_bytes of a
 * long line and drops the rest; it fails only for want of memory. */
int child_line_feed(struct child_line *l, str bytes, child_line_on_line *on_line, void *arg);

/* The stream has ended: a last line without its end counts. */
int child_line_end(struct child_line *l, child_line_on_line *on_line, void *arg);

#endif
