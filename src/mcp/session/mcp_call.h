/* mcp_call.h -- a call of a session, between mcp_session_call.c and mcp_session_queue.c. */
#ifndef ANTIPHON_MCP_SESSION_MCP_CALL_H
#define ANTIPHON_MCP_SESSION_MCP_CALL_H

#include "mcp/session/mcp_session_internal.h"

enum mcp_call_place { MCP_CALL_QUEUED, MCP_CALL_SENT, MCP_CALL_RELISTING, MCP_CALL_REFUSED };

struct mcp_session_call {
    struct mcp_session *session;
    const struct mcp_session_call_handler *handler;
    void *arg;
    struct mcp_session_call *next;
    struct arena arena; /* of the next five */
    str tool, tool_escaped;
    str arguments;
    str traceparent, tracestate; /* or STR_NONE */
    const struct mcp_mirror *mirrors;

    enum mcp_call_place place;
    bool is_doomed; /* fails with all others that waited when the connection ended */
    struct mcp_pending pending;
    uint64_t idle_ms, total_ms; /* as given */
    int64_t sent_id;            /* of the request that was sent last; 0: none */
    uint64_t sent_ms, idle_until_ms, until_ms;

    bool has_lost_session, has_lost_version, has_relisted; /* and was asked again for it */
    bool is_in_listing; /* MCP_CALL_RELISTING: the listing that runs began after the refusal */
    struct buf refusal; /* MCP_CALL_RELISTING: the error that is reported if nothing helps */
    unsigned n_rounds;
    struct buf responses, state; /* of the last round (MCP 3.4); no bytes: absent */
};

/* ---- mcp_session_call.c */

/* Sends the call, for the first time or again. */
void mcp_call_send(struct mcp_session_call *c, const struct mcp_mirror *mirrors);

/* Reports the failure, its message without secrets, and frees the call. */
void mcp_call_fail(struct mcp_session_call *c, struct mcp_failure f);
void mcp_call_fail_limit(struct mcp_session_call *c, const char *message);
void mcp_call_fail_rpc(struct mcp_session_call *c, int64_t code, str escaped);

/* ---- mcp_session_queue.c */

void mcp_call_place(struct mcp_session_call *c, enum mcp_call_place to);

/* Takes the call out of the list, and out of the requests that wait. */
void mcp_call_unlink(struct mcp_session_call *c);
void mcp_call_free(struct mcp_session_call *c);

#endif
