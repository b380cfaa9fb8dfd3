/* mcp_backoff.c -- doubling delays with chance in them.
 *
 * Only being ready counts as health: a server that takes two minutes to fail
 * its handshake has failed all the same. */
#include "mcp/session/mcp_backoff.h"

void mcp_backoff_ready(struct mcp_backoff *b, uint64_t now_ms)
{
    b->is_ready = true;
    b->ready_at_ms = now_ms;
}

static uint64_t doubled_delay(unsigned failures)
{
    uint64_t ms = MCP_BACKOFF_FIRST_MS;

    for (unsigned i = 0; i < failures && ms < MCP_BACKOFF_MOST_MS; i++)
        ms *= 2;
    return ms < MCP_BACKOFF_MOST_MS ? ms : MCP_BACKOFF_MOST_MS;
}

uint64_t mcp_backoff_next_ms(struct mcp_backoff *b, uint64_t now_ms, uint32_t jitter)
{
    uint64_t ms;

    if (b->is_ready && now_ms - b->ready_at_ms >= MCP_BACKOFF_HEALTHY_MS)
        b->failures = 0;
    b->was_ready = b->is_ready;
    b->is_ready = false;
    ms = doubled_delay(b->failures);
    if (ms < MCP_BACKOFF_MOST_MS)
        b->failures++; /* no further than needed, so it never overflows */
    return ms - ms / 5 + jitter % (2 * (ms / 5) + 1);
}

uint64_t mcp_backoff_hurry_ms(const struct mcp_backoff *b)
{
    if (!b->was_ready)
        return UINT64_MAX;
    return b->has_hurried ? b->hurried_at_ms + MCP_BACKOFF_HURRY_MS : 0;
}

void mcp_backoff_hurry(struct mcp_backoff *b, uint64_t now_ms)
{
    b->was_ready = false;
    b->has_hurried = true;
    b->hurried_at_ms = now_ms;
}
