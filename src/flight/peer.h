/* peer.h -- who waits for the answer of a flight: the client of an HTTP exchange, or of whatever else
 * carries requests.
 *
 * A peer is a small value: what it can (a table of operations), and whom it is about. A flight has one
 * from its beginning until the answer is complete or the client gone, and says all that it has to say
 * through it; nothing below flight/ and turn/ knows what is on the other side. An answer is either whole
 * (peer_respond_taken(), peer_respond_error()), or a stream: peer_start(), any number of writes, and
 * peer_end() or peer_abort(). With the end of the answer the peer is over for the caller.
 *
 * Nobody has to be there: operations that do nothing make a peer for work whose outcome is only stored.
 *
 * One indirect call is all that a peer costs. Loop's thread alone, but for peer_body() while it is
 * held. */
#ifndef ANTIPHON_FLIGHT_PEER_H
#define ANTIPHON_FLIGHT_PEER_H

#include "http/http_server.h"

struct peer_context;

/* What such a client is given, and may ask for. */
struct peer_manners {
    bool sends_messages; /* response.create over WebSocket (CONTRACT 6.3): it gets events, always */
    bool has_comments;   /* signs of life that are no events */
    bool has_error_events; /* `error` before response.failed, where the configuration has it */
    bool has_dialects;     /* the legacy one may be asked for */
};

/* of: whom it is about. Those about contexts may be NULL: then it keeps none. */
struct peer_ops {
    struct peer_manners manners;

    /* See the functions below. */
    void (*watch)(void *of, const struct http_exchange_handler *handler, void *arg);
    str (*request_id)(void *of);
    struct http_traffic *(*traffic)(void *of);
    void (*tell_trace)(void *of, const char *traceparent); /* or NULL: it cannot be told */
    void (*tell_headers)(void *of, const struct http_header *headers, size_t n); /* the same */
    int (*body)(void *of, str *ret, struct err *reterr);
    void (*hold)(void *of);
    void (*release)(void *of);
    void (*count_model)(void *of, uint16_t model); /* NULL: requests are not counted one by one */

    void (*respond)(void *of, int status, const struct http_header *headers, size_t n, str body);
    void (*respond_taken)(void *of, int status, const struct http_header *headers, size_t n,
                          struct buf *body);
    void (*respond_error)(void *of, const struct err *e);

    void (*start)(void *of, int status, const struct http_header *headers, size_t n);
    void (*flush)(void *of);
    void (*write)(void *of, str bytes);
    void (*write_soon)(void *of, str bytes);
    void (*write_taken)(void *of, struct buf *bytes);
    void (*end)(void *of, str bytes);
    void (*abort)(void *of);

    struct peer_context *(*find_context)(void *of, str response_id);
    void (*keep_context)(void *of, str response_id, struct peer_context *context);
};

struct peer {
    const struct peer_ops *ops; /* NULL: there is none, or not any more */
    void *of;
};

/* The client of an exchange. */
struct peer peer_of_exchange(struct http_exchange *x);

static inline bool peer_is_there(struct peer p)
{
    return p.ops != NULL;
}

/* Sets who hears that it has left, or reads slowly; never from inside a call on the peer. */
static inline void peer_watch(struct peer p, const struct http_exchange_handler *handler, void *arg)
{
    p.ops->watch(p.of, handler, arg);
}

/* A name for the request, to find it in logs. */
static inline str peer_request_id(struct peer p)
{
    return p.ops->request_id(p.of);
}

/* What has passed between the client and us; lives as long as the peer, and after the end of its answer
 * until the caller returns to the loop. */
static inline struct http_traffic *peer_traffic(struct peer p)
{
    return p.ops->traffic(p.of);
}

/* The answer will say which span the request is; before it begins. */
static inline void peer_tell_trace(struct peer p, const char *traceparent)
{
    if (p.ops->tell_trace != NULL)
        p.ops->tell_trace(p.of, traceparent);
}

/* The answer will have these headers besides (http_exchange_tell()); before it begins. */
static inline void peer_tell_headers(struct peer p, const struct http_header *headers, size_t n)
{
    if (p.ops->tell_headers != NULL)
        p.ops->tell_headers(p.of, headers, n);
}

/* The body of the request, without its coding; a view that lives as long as the peer. Returns 0, or -1
 * with *reterr filled. */
static inline int peer_body(struct peer p, str *ret, struct err *reterr)
{
    return p.ops->body(p.of, ret, reterr);
}

/* Keeps the request until peer_release(), also when the client leaves meanwhile: for work on the pool of
 * threads, which may read it, and nothing else is asked of the peer. */
static inline void peer_hold(struct peer p)
{
    p.ops->hold(p.of);
}

static inline void peer_release(struct peer p)
{
    p.ops->release(p.of);
}

/* The model that the request is counted with (metrics/metric_word.h). Before the answer is over. */
static inline void peer_count_model(struct peer p, uint16_t model)
{
    if (p.ops != NULL && p.ops->count_model != NULL)
        p.ops->count_model(p.of, model);
}

/* ---- whole answers */

static inline void peer_respond(struct peer p, int status, const struct http_header *headers,
                                size_t n, str body)
{
    p.ops->respond(p.of, status, headers, n, body);
}

/* Responds without a copy: the buf is empty afterwards. */
static inline void peer_respond_taken(struct peer p, int status, const struct http_header *headers,
                                      size_t n, struct buf *body)
{
    p.ops->respond_taken(p.of, status, headers, n, body);
}

static inline void peer_respond_error(struct peer p, const struct err *e)
{
    p.ops->respond_error(p.of, e);
}

/* ---- streams */

/* Begins one; the head leaves with the first write, or with peer_flush(). */
static inline void peer_start(struct peer p, int status, const struct http_header *headers,
                              size_t n)
{
    p.ops->start(p.of, status, headers, n);
}

static inline void peer_flush(struct peer p)
{
    p.ops->flush(p.of);
}

/* Writes whole events, or what else the answer consists of. */
static inline void peer_write(struct peer p, str bytes)
{
    p.ops->write(p.of, bytes);
}

/* Writes bytes that may wait for the end of the batch of events at hand. */
static inline void peer_write_soon(struct peer p, str bytes)
{
    p.ops->write_soon(p.of, bytes);
}

/* Writes without a copy: the buf is empty afterwards. */
static inline void peer_write_taken(struct peer p, struct buf *bytes)
{
    p.ops->write_taken(p.of, bytes);
}

/* The last bytes, which may be none, and the end. */
static inline void peer_end(struct peer p, str bytes)
{
    p.ops->end(p.of, bytes);
}

/* Ends an answer that cannot be completed honestly. */
static inline void peer_abort(struct peer p)
{
    p.ops->abort(p.of);
}

/* ---- what came before (peer_context.h) */

/* What the client's connection keeps of a response: a reference of the caller's. NULL: it keeps nothing
 * of that id, and the store is to be asked. */
static inline struct peer_context *peer_find_context(struct peer p, str response_id)
{
    return p.ops->find_context == NULL ? NULL : p.ops->find_context(p.of, response_id);
}

/* Whether it keeps what stored responses do not: then each that ends well is given to it. */
static inline bool peer_keeps_contexts(struct peer p)
{
    return p.ops->keep_context != NULL;
}

/* A response has ended well, and can be continued from the store, or with this context; the peer takes
 * a reference of its own. Before its last event is written. */
static inline void peer_keep_context(struct peer p, str response_id, struct peer_context *context)
{
    p.ops->keep_context(p.of, response_id, context);
}

#endif
