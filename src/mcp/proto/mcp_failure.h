/* mcp_failure.h -- a call that went wrong, as text and as object (MCP 14).
 *
 * The item's `error` is text by default (CONTRACT 3.1); the object is an option.
 * The model reads "Error: " and the same text (conv/item_mcp.c), and so it does
 * when a client sends the item back. Secrets are the caller's to remove, from
 * what is handed in or from what is written (MCP 16.6). */
#ifndef ANTIPHON_MCP_PROTO_MCP_FAILURE_H
#define ANTIPHON_MCP_PROTO_MCP_FAILURE_H

#include "base/buf.h"
#include "mcp/proto/mcp_message.h"

enum { MCP_FAILURE_MAX_CHARS = 4096 };

enum mcp_cause {
    MCP_FAILED_TOOL,        /* isError: result */
    MCP_FAILED_RPC,         /* JSON-RPC error: code, message */
    MCP_FAILED_HTTP,        /* HTTP 4xx or 5xx without one: code, label */
    MCP_FAILED_UNREACHABLE, /* no connection, TLS, DNS, bad content: label */
    MCP_FAILED_CLOSED,      /* the process ended or the stream broke: label */
    MCP_FAILED_TIMEOUT,     /* tool, seconds */
    MCP_FAILED_ARGUMENTS,   /* the server was not called: message of mcp_arguments() */
    MCP_FAILED_RESULT,      /* an answer that cannot be used: message of its reader */
    MCP_FAILED_LIMIT,       /* not tried: queue full, no such tool ...: message, a sentence */
    MCP_CAUSE_COUNT,
};

/* Members that the cause does not name may be zero. */
struct mcp_failure {
    enum mcp_cause cause;
    int64_t code;
    int64_t seconds;
    str label;   /* plain */
    str tool;    /* plain: the server's own name */
    str message; /* plain */
    const struct mcp_call_result *result;
};

/* The cause in a word, as metrics and spans have it; a constant. */
const char *mcp_failure_word(enum mcp_cause cause);

/* Appends the text of the item, at most MCP_FAILURE_MAX_CHARS characters. */
void mcp_failure_text(const struct mcp_failure *f, struct buf *out);

/* Appends the JSON object that may stand as the item's `error` instead. */
void mcp_failure_object(const struct mcp_failure *f, struct buf *out);

/* True when the failure suggests that the catalogue is out of date (MCP 9.4). */
bool mcp_failure_wants_refresh(const struct mcp_failure *f);

#endif
