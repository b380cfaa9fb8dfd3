/* mcp_backoff.h -- when to start a server again (MCP 4.6).
 *
 * Pure: clock and chance are handed in. A zeroed backoff has not failed yet. The owner's use:
 *
 *     server is ready    ->  mcp_backoff_ready()
 *     server has ended   ->  start again after mcp_backoff_next_ms()
 *                            or when it is wanted, from mcp_backoff_hurry_ms() on
 *     cannot be started  ->  start again after MCP_BACKOFF_HOPELESS_MS
 */
#ifndef ANTIPHON_MCP_SESSION_MCP_BACKOFF_H
#define ANTIPHON_MCP_SESSION_MCP_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

enum {
    MCP_BACKOFF_FIRST_MS = 1000,
    MCP_BACKOFF_MOST_MS = 60 * 1000,
    MCP_BACKOFF_HEALTHY_MS = 60 * 1000,  /* ready for so long: failures before are forgotten */
    MCP_BACKOFF_HURRY_MS = 5 * 1000,     /* between starts before their time */
    MCP_BACKOFF_HOPELESS_MS = 60 * 1000, /* no such command, or not allowed to run it */
};

struct mcp_backoff {
    unsigned failures; /* since the server was last healthy */
    bool is_ready;
    bool was_ready; /* before it ended */
    bool has_hurried;
    uint64_t hurried_at_ms;
    uint64_t ready_at_ms;
};

void mcp_backoff_ready(struct mcp_backoff *b, uint64_t now_ms);

/* The server has ended, or did not become ready. Returns how long to wait: 1, 2,
 * 4 ... 60 s, each up to a fifth shorter or longer. jitter is any number; all
 * values alike likely spread the delays evenly. */
uint64_t mcp_backoff_next_ms(struct mcp_backoff *b, uint64_t now_ms, uint32_t jitter);

/* The time from which the server may be started before its delay is over: one that was ready before
 * it ended, and that was not hurried just before. Else UINT64_MAX. */
uint64_t mcp_backoff_hurry_ms(const struct mcp_backoff *b);

/* Notes that the server is started before its delay is over. */
void mcp_backoff_hurry(struct mcp_backoff *b, uint64_t now_ms);

#endif
