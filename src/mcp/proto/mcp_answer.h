/* mcp_answer.h -- the body of an HTTP answer, cut into the messages it holds (MCP 5.3
 * to 5.6).
 *
 * JSON is one message or an array of them, known when the body has ended; a stream of
 * events tells each message as it comes. An answer that breaks off may go on in
 * another body, so what was learned for that stays: the last event's id and the time
 * to wait. Pure. */
#ifndef ANTIPHON_MCP_PROTO_MCP_ANSWER_H
#define ANTIPHON_MCP_PROTO_MCP_ANSWER_H

#include "mcp/proto/jsonrpc.h"
#include "sse/sse_parse.h"

enum {
    MCP_RETRY_MS = 1000, /* when the server says nothing */
    MCP_RETRY_LEAST_MS = 50,
    MCP_RETRY_MOST_MS = 60 * 60 * 1000,
};

enum mcp_body { MCP_BODY_NONE, MCP_BODY_JSON, MCP_BODY_EVENTS, MCP_BODY_OTHER };

/* The body that a Content-Type announces; STR_NONE: the answer has none. */
enum mcp_body mcp_body_of(str content_type);

/* Views handed over die when the function returns; both functions may stop the answer. */
struct mcp_answer_handler {
    void (*on_message)(void *arg, const struct jsonrpc_message *m);
    /* An event with a name other than "message". May be NULL. */
    void (*on_event)(void *arg, str name, str data);
};

struct mcp_answer {
    const struct mcp_answer_handler *handler;
    void *arg;
    size_t max_bytes;
    enum mcp_body body;
    struct buf text; /* of JSON */
    struct sse_parser events;
    bool is_stopped;
    bool has_progress; /* a message or an id has come since this body began */

    struct buf last_id; /* of the last event that had one */
    bool has_id;
    bool has_retry;
    uint64_t retry_ms;
};

/* max_bytes limits one message. */
void mcp_answer_init(struct mcp_answer *a, size_t max_bytes,
                     const struct mcp_answer_handler *handler, void *arg);
void mcp_answer_fini(struct mcp_answer *a);

/* Begins a body: the first, or one that continues an answer that broke off. */
void mcp_answer_begin(struct mcp_answer *a, enum mcp_body body);

/* The next bytes, and the end of the body. Return 0, or -1 when a message is larger
 * than it may be; then nothing more of this body is of use. */
int mcp_answer_feed(struct mcp_answer *a, str bytes);
int mcp_answer_end(struct mcp_answer *a);

/* Stops the answer: no callback is made from now on. */
void mcp_answer_stop(struct mcp_answer *a);

#endif
