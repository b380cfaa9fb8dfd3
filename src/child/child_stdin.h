/* child_stdin.h -- the bounded queue of lines for a child's standard input (MCP 4.5).
 *
 * Knows a descriptor that does not block and no loop: the owner calls
 * child_stdin_write() when there is room again. On the loop's thread. */
#ifndef ANTIPHON_CHILD_CHILD_STDIN_H
#define ANTIPHON_CHILD_CHILD_STDIN_H

#include "base/buf.h"
#include "base/str.h"

struct child_stdin {
    struct buf bytes;
    size_t sent; /* so many of them are out */
    size_t limit_bytes;
};

void child_stdin_init(struct child_stdin *q, size_t limit_bytes);
void child_stdin_fini(struct child_stdin *q);

/* Puts a JSON text at the end as one line: line ends in it, which can only be white
 * space there, become blanks. False, with nothing put, when there is no room. */
bool child_stdin_put(struct child_stdin *q, str json);

/* Writes what fd takes. False when nobody reads it any more. */
bool child_stdin_write(struct child_stdin *q, int fd);

/* Bytes that are not out. */
size_t child_stdin_waiting(const struct child_stdin *q);

#endif
