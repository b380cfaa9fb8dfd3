/* mcp_message.h -- what an MCP server says (MCP 2.3, 2.4, 2.8, 3.3, 3.4, 5.7, 9).
 *
 * Each reader takes the raw result of an answer, which JSON-RPC has found to be
 * valid JSON, and gives views of it: they die with the text. Members of a type
 * that nobody expects count as absent, unless nothing sensible is left.
 *
 * Readers return 0, or -1 with *reterr saying in one sentence, for logs and for
 * `mcp_protocol_error`, what is wrong. */
#ifndef ANTIPHON_MCP_PROTO_MCP_MESSAGE_H
#define ANTIPHON_MCP_PROTO_MCP_MESSAGE_H

#include "base/arena.h"
#include "base/err.h"
#include "mcp/proto/jsonrpc.h"
#include "mcp/proto/mcp_version.h"

/* How long a result stays good (modern); -1: not said. */
struct mcp_cache {
    int64_t ttl_ms;
    bool is_public; /* may be shared between credentials */
};

/* What a server says of itself, from initialize or server/discover. */
struct mcp_server_info {
    enum mcp_version version; /* what is spoken from now on */
    bool has_tools;           /* else there is nothing to list (MCP 9.1) */
    bool has_tools_changed;   /* it tells when its tools change */
};

/* Fails on a version that we do not speak, naming both (MCP 2.3). */
int mcp_read_initialize(str result, struct mcp_server_info *ret, struct err *reterr);

/* Fails on what is no answer to server/discover. version is the newest that both
 * speak, perhaps a legacy one, or MCP_VERSION_NONE (MCP 2.5). */
int mcp_read_discover(str result, struct mcp_server_info *ret, struct err *reterr);

struct mcp_tool {
    str name;                /* escaped, not empty */
    str title, description;  /* escaped or STR_NONE */
    str schema, annotations; /* raw or STR_NONE: inputSchema as the server wrote it */
    bool needs_task;         /* not to be offered (MCP 3.5) */
    bool is_read_only;       /* readOnlyHint */
};

/* One page of tools/list. */
struct mcp_tool_page {
    struct mcp_tool *tools; /* in the arena */
    size_t n;
    size_t n_nameless; /* left out, to be warned about (MCP 10.8) */
    str next_cursor;   /* escaped, perhaps empty; STR_NONE: this was the last page */
    struct mcp_cache cache;
};

int mcp_read_tools(str result, struct arena *a, struct mcp_tool_page *ret, struct err *reterr);

/* A result of tools/call. */
struct mcp_call_result {
    bool needs_input;   /* input_required: only the last two members are set (MCP 3.4) */
    bool is_error;      /* the tool failed, content says how */
    str content;        /* raw array, or STR_NONE when there is only structured */
    str structured;     /* raw, not null, or STR_NONE */
    str input_requests; /* raw object or STR_NONE: ask again at once */
    str request_state;  /* raw string or STR_NONE */
};

int mcp_read_call(str result, struct mcp_call_result *ret, struct err *reterr);

enum mcp_notice_kind {
    MCP_NOTICE_OTHER,         /* to be ignored silently */
    MCP_NOTICE_PROGRESS,      /* id is the progress token */
    MCP_NOTICE_CANCELLED,     /* id is the request that the server gives up */
    MCP_NOTICE_TOOLS_CHANGED, /* list them again */
    MCP_NOTICE_ACKNOWLEDGED,  /* subscriptions/listen has begun */
    MCP_NOTICE_LOG,           /* for our log at debug level, rate limited */
};

struct mcp_notice {
    enum mcp_notice_kind kind;
    struct jsonrpc_id id;
    struct jsonrpc_id subscription; /* id of our subscriptions/listen (MCP 6.6) */
    str level;                      /* LOG: escaped or STR_NONE */
    str text;                       /* LOG: raw */
};

/* m is a JSONRPC_NOTIFICATION. */
struct mcp_notice mcp_read_notification(const struct jsonrpc_message *m);

/* True when the server has forgotten the session that a request was sent in (MCP 5.7). message is
 * that of its JSON-RPC error, escaped, or STR_NONE. */
bool mcp_is_lost_session(int http_status, bool had_session, str message);

#endif
