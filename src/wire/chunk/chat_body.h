/* chat_body.h -- the body of an upstream's answer, in any cutting, becomes chunks: Server-Sent
 * Events, or one JSON body from servers that do not stream (CONTRACT 5.1). */
#ifndef ANTIPHON_WIRE_CHUNK_CHAT_BODY_H
#define ANTIPHON_WIRE_CHUNK_CHAT_BODY_H

#include "sse/sse_parse.h"

/* What chat_body_err_unfinished() says of an answer that is no page. */
#define CHAT_BODY_UNFINISHED "ended its answer without a finish reason"

struct chat_body_handler {
    /* A JSON text; event is its SSE event name or "". False when it is not complete JSON. */
    bool (*on_chunk)(void *arg, str json, str event);
    /* The upstream tells an error outside of a chunk. An answer that had finished stands. */
    void (*on_error)(void *arg, const struct err *e);
    /* What comes cannot be read: it is broken, too much, or memory ran out. */
    void (*on_unreadable)(void *arg, const struct err *e);
};

enum chat_body_form { CHAT_BODY_UNKNOWN, CHAT_BODY_EVENTS, CHAT_BODY_WHOLE };

struct chat_body {
    const struct chat_body_handler *handler;
    void *arg;
    enum chat_body_form form;
    bool has_begun; /* a byte has come that is no white space */
    bool is_page;   /* and it was that with which HTML begins */
    struct sse_parser sse;
    struct buf whole;  /* a body that is no event stream */
    bool is_done;      /* [DONE] was seen, or a whole body read */
    unsigned n_broken; /* chunks in a row that were no JSON */
    size_t n_skipped;  /* such chunks in all */
};

/* max_event_bytes: of one event, or of a whole body. form: CHAT_BODY_WHOLE when no stream was asked
 * for; else it is seen by the first byte. */
void chat_body_init(struct chat_body *b, enum chat_body_form form, size_t max_event_bytes,
                    const struct chat_body_handler *handler, void *arg);
void chat_body_fini(struct chat_body *b);

/* The handler is called from inside _feed and _end. */
void chat_body_feed(struct chat_body *b, str bytes);

/* The body has ended. */
void chat_body_end(struct chat_body *b);

/* Nothing that follows is read; also from inside a handler. */
void chat_body_stop(struct chat_body *b);

/* What an answer has failed of that ended without [DONE] and finish_reason. */
void chat_body_err_unfinished(const struct chat_body *b, struct err *reterr);

#endif
