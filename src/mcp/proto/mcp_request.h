/* mcp_request.h -- what we say to an MCP server, in both eras (MCP 2.2 to 2.4, 3.2,
 * 3.4, 6.6, 8.2, 8.5, 9.2).
 *
 * One struct holds all that any message may need; which members each method
 * takes is a table in mcp_request.c. What is written is one line of JSON
 * without its line end, whatever white space the pieces had. */
#ifndef ANTIPHON_MCP_PROTO_MCP_REQUEST_H
#define ANTIPHON_MCP_PROTO_MCP_REQUEST_H

#include "base/buf.h"
#include "base/err.h"
#include "mcp/proto/jsonrpc.h"
#include "mcp/proto/mcp_version.h"

enum mcp_method {
    MCP_INITIALIZE,  /* legacy: the version offered is always MCP_NEWEST_LEGACY */
    MCP_INITIALIZED, /* legacy, notification */
    MCP_PING,        /* legacy */
    MCP_DISCOVER,    /* modern */
    MCP_LIST_TOOLS,
    MCP_CALL_TOOL,
    MCP_LISTEN,    /* modern: tell us when the tools change */
    MCP_CANCELLED, /* notification */
    MCP_METHOD_COUNT,
};

/* The name of a method; also what the header Mcp-Method says (MCP 6.1). */
const char *mcp_method_name(enum mcp_method method);

/* A zeroed member is absent, but for id and cancelled_id. */
struct mcp_request {
    enum mcp_method method;
    enum mcp_version version; /* of the connection; decides the form */
    int64_t id;               /* never used before on this connection (MCP 8.2) */
    str cursor;               /* LIST_TOOLS: escaped, as a page gave it; STR_NONE for the first */
    str tool;                 /* CALL_TOOL: the server's own name, escaped */
    str arguments;            /* CALL_TOOL: raw, an object; see mcp_arguments() */
    int64_t progress_token;   /* CALL_TOOL: above 0; 0 asks for no progress */
    str traceparent;          /* plain, or STR_NONE; likewise tracestate */
    str tracestate;
    str input_responses;  /* CALL_TOOL again after input_required: raw (MCP 3.4) */
    str request_state;    /* CALL_TOOL again: raw, as it was given */
    int64_t cancelled_id; /* CANCELLED: the request that nobody waits for any more */
    const char *reason;   /* CANCELLED: or NULL */
};

/* Appends the message. The method must exist in the version's era. */
void mcp_request_write(const struct mcp_request *r, struct buf *out);

/* Appends the answer to a legacy server's request: ping gets a result, all else is refused
 * (MCP 3.2). m is a JSONRPC_REQUEST. */
void mcp_request_answer(const struct jsonrpc_message *m, struct buf *out);

/* The arguments of a call as a model wrote them, plain text. *ret is a view of
 * them, or {} when there are none. Returns 0, or -1 when they are not a JSON
 * object; the message of *reterr then completes "Invalid arguments: ". */
int mcp_arguments(str text, str *ret, struct err *reterr);

/* Answers to inputRequests (raw) of an input_required result: every elicitation
 * is declined. Returns 0 with an object appended to out, or -1 when the server
 * wants anything else, which we have not (MCP 3.4). STR_NONE appends nothing. */
int mcp_decline_inputs(str input_requests, struct buf *out, struct err *reterr);

#endif
