/* jsonrpc.h -- messages of JSON-RPC 2.0 as MCP uses them (MCP 3.2, 4.1, 5.3, 5.9).
 *
 * Reading gives views into the text that was read, writing appends one line
 * without a line end. Nothing here knows who sent what: matching an answer with
 * its request is the caller's.
 *
 *     struct jsonrpc_reader r;
 *     struct jsonrpc_message m;
 *     enum jsonrpc_kind kind;
 *
 *     jsonrpc_reader_init(&r, line);
 *     while ((kind = jsonrpc_next(&r, &m)) != JSONRPC_END) ...
 *     jsonrpc_reader_fini(&r);
 */
#ifndef ANTIPHON_MCP_PROTO_JSONRPC_H
#define ANTIPHON_MCP_PROTO_JSONRPC_H

#include <stdint.h>

#include "base/buf.h"
#include "json/json_read.h"
#include "json/json_write.h"

enum jsonrpc_kind {
    JSONRPC_END,          /* nothing more in this text */
    JSONRPC_INVALID,      /* not a message: log it and go on (MCP 4.2) */
    JSONRPC_REQUEST,      /* the peer wants an answer; its ids are not ours (MCP 3.2) */
    JSONRPC_NOTIFICATION, /* no answer */
    JSONRPC_RESULT,       /* an answer; its id may be absent when the peer is sloppy */
    JSONRPC_ERROR,        /* an answer; id may be absent, null or foreign (MCP 5.9) */
};

enum jsonrpc_id_kind {
    JSONRPC_ID_ABSENT,
    JSONRPC_ID_NULL,
    JSONRPC_ID_INT,
    JSONRPC_ID_STRING,
    JSONRPC_ID_OTHER, /* what no id may be */
};

/* An id, or a token that is made like one. */
struct jsonrpc_id {
    enum jsonrpc_id_kind kind;
    int64_t number; /* of JSONRPC_ID_INT */
    str raw;        /* the value as written; STR_NONE when absent */
};

/* All str are views of the text, or of the reader's repaired copy of it. */
struct jsonrpc_message {
    enum jsonrpc_kind kind;
    struct jsonrpc_id id;
    str method;     /* escaped; compare with jsonrpc_is(). STR_NONE in answers */
    str params;     /* raw or STR_NONE */
    str result;     /* raw or STR_NONE */
    int64_t code;   /* of an error; 0 when it has none */
    str message;    /* of an error, escaped or STR_NONE */
    str error_data; /* raw or STR_NONE */
};

/* Codes that mean something to us. What lies between -32000 and -32019 is each
 * server's own (MCP 14.2), but the first two are also what we report ourselves. */
enum jsonrpc_code {
    JSONRPC_METHOD_NOT_FOUND = -32601,
    JSONRPC_INVALID_PARAMS = -32602,
    JSONRPC_INTERNAL_ERROR = -32603,
    MCP_CONNECTION_CLOSED = -32000,
    MCP_REQUEST_TIMEOUT = -32001,
    MCP_HEADER_MISMATCH = -32020,
    MCP_CAPABILITY_MISSING = -32021,
    MCP_VERSION_UNSUPPORTED = -32022,
};

struct jsonrpc_reader {
    struct jr j;
    struct buf repaired; /* the text, when it had malformed UTF-8 */
    bool in_array, done, is_json;
};

/* text is one object, or an array of objects as peers of 2025-03-26 send it; it
 * must outlive the messages. A byte order mark is skipped and malformed UTF-8
 * becomes U+FFFD (MCP 13.4). fini frees the repaired copy, and with it what
 * the messages point into. */
void jsonrpc_reader_init(struct jsonrpc_reader *r, str text);
void jsonrpc_reader_fini(struct jsonrpc_reader *r);

/* The next message. A text that is not JSON as a whole gives JSONRPC_INVALID
 * once and nothing else: no half of it is acted upon. */
enum jsonrpc_kind jsonrpc_next(struct jsonrpc_reader *r, struct jsonrpc_message *ret);

/* True when the message is of this method; some writers escape its slash. */
bool jsonrpc_is(const struct jsonrpc_message *m, str method);

/* An id or token that jr_raw() or jr_member() returned. */
struct jsonrpc_id jsonrpc_id_of(str raw);

/* True when the id is this number, which we gave. */
bool jsonrpc_id_is(const struct jsonrpc_id *id, int64_t number);

/* Begin a message; the caller may write the member params, then ends it. */
struct jw jsonrpc_begin_request(struct buf *out, int64_t id, const char *method);
struct jw jsonrpc_begin_notification(struct buf *out, const char *method);
void jsonrpc_end(struct jw *w);

/* Answers to a peer's request, whose id is repeated as it came. */
void jsonrpc_write_result(struct buf *out, const struct jsonrpc_id *id, str result);
void jsonrpc_write_error(struct buf *out, const struct jsonrpc_id *id, int64_t code,
                         const char *message);

#endif
