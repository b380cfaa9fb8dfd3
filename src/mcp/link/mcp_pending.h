/* mcp_pending.h -- the requests that wait for an answer, by id (MCP 3.2, 5.9, 8.2).
 *
 * A place is part of whoever asks and is in the table while it waits. The table is a
 * list: no more wait than calls may be under way, and a handful besides. */
#ifndef ANTIPHON_MCP_LINK_MCP_PENDING_H
#define ANTIPHON_MCP_LINK_MCP_PENDING_H

#include "mcp/link/mcp_link.h"

/* What became of a request: a result, an error, or no answer at all. */
struct mcp_reply {
    const struct jsonrpc_message *m;        /* NULL: there is none, failure says why */
    const struct mcp_link_failure *failure; /* NULL when there is an answer */
    int http_status;                        /* of either; 0: none */
};

struct mcp_pending {
    int64_t id; /* 0: not in the table */
    enum mcp_method method;
    uint64_t epoch; /* of the session it was sent in, see mcp_session_internal.h */
    uint64_t asked_ms;
    bool is_timed; /* its time is to be counted yet */
    /* The place is out of the table when this is called, and may be used again. */
    void (*on_answer)(void *arg, const struct mcp_reply *reply);
    void *arg;
    struct mcp_pending *next;
};

struct mcp_pending_table {
    struct mcp_pending *first;
    int64_t last_id; /* given to a request; none is given twice */
};

/* Puts a place into the table under a new id. */
void mcp_pending_add(struct mcp_pending_table *t, struct mcp_pending *p);

/* Takes a place out; fine when it is not in the table. */
void mcp_pending_remove(struct mcp_pending_table *t, struct mcp_pending *p);

struct mcp_pending *mcp_pending_find(const struct mcp_pending_table *t, int64_t id);

/* The request that a message answers, or NULL: nobody waits for it, or not any more.
 * carrier as in mcp_link.h. */
struct mcp_pending *mcp_pending_match(const struct mcp_pending_table *t,
                                      const struct jsonrpc_message *m, int64_t carrier);

#endif
