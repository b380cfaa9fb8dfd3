/* mcp_stdin.h -- the bounded queue of lines for a server's standard input (MCP 4.5).
 *
 * Knows a descriptor that does not block and no loop: the owner calls
 * mcp_stdin_write() when there is room again. On the loop's thread. */
#ifndef ANTIPHON_MCP_MCP_STDIN_H
#define ANTIPHON_MCP_MCP_STDIN_H

#include "base/buf.h"
#include "base/str.h"

struct mcp_stdin {
    struct buf bytes;
    size_t sent; /* so many of them are out */
    size_t limit_bytes;
};

void mcp_stdin_init(struct mcp_stdin *q, size_t limit_bytes);
void mcp_stdin_fini(struct mcp_stdin *q);

/* Puts a JSON text at the end as one line: line ends in it, which can only be white
 * space there, become blanks. False, with nothing put, when there is no room. */
bool mcp_stdin_put(struct mcp_stdin *q, str json);

/* Writes what fd takes. False when nobody reads it any more. */
bool mcp_stdin_write(struct mcp_stdin *q, int fd);

/* Bytes that are not out. */
size_t mcp_stdin_waiting(const struct mcp_stdin *q);

#endif
