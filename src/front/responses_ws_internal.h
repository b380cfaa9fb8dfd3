/* responses_ws_internal.h -- what the files of a WebSocket on /v1/responses share.
 *
 * responses_ws.c         the connection: its beginning, its end
 * responses_ws_arrival.c messages as they come
 * responses_ws_lane.c    lanes: what runs, what waits, what may not
 * responses_ws_peer.c    a request that runs, as its turn knows it; the contexts that are kept
 * ws_message.c           messages as bytes
 *
 * A create (a message response.create) waits in its connection, in the order in which all have come, and
 * runs when nothing else of its lane does and few enough of the connection. Its turn ends it by its peer;
 * what follows from that, the next create or the end of the connection, is done after the batch of events
 * (settle), when nobody up the stack uses it any more.
 *
 * Memory: a connection goes when it is closed and its last part has gone. A create goes when it has
 * ended, or with its connection, unless the pool of threads still reads it. */
#ifndef ANTIPHON_FRONT_RESPONSES_WS_INTERNAL_H
#define ANTIPHON_FRONT_RESPONSES_WS_INTERNAL_H

#include "base/id.h"
#include "flight/flight.h"
#include "flight/peer_context.h"
#include "flight/worker.h"
#include "front/responses_ws.h"
#include "front/ws_message.h"
#include "http/websocket.h"

/* A response that a lane has made, or is making. */
struct ws_response {
    struct id id;                 /* "": none */
    struct peer_context *context; /* a reference; NULL: the store has it, or nobody */
};

struct ws_lane {
    struct responses_ws *of;
    struct ws_lane *next;
    struct buf name;           /* of the stream; "": it has none */
    struct buf end;            /* of each of its messages */
    struct ws_create *running; /* or NULL */
    struct ws_response last;   /* that has ended well */
    struct id begun;           /* the response that was begun last */
};

/* One message response.create, and the peer of its turn. */
struct ws_create {
    struct responses_ws *of;
    struct ws_lane *lane;
    struct ws_create *next; /* of those that wait, or that have ended */
    struct buf text;
    struct http_request request;
    struct http_traffic traffic;
    str previous_id; /* escaped, in the text; or STR_NONE */
    struct buf request_id;
    const struct http_exchange_handler *handler;
    void *arg;       /* of that */
    bool names_last; /* it continues the last response of its lane, which is kept here alone */
    bool is_begun;   /* its response has */
    bool ended_well; /* so has that: what it continued is replaced */
    bool is_over;    /* its turn has nothing to say any more */
    bool is_held;    /* the pool of threads reads it */
};

/* Why a connection takes no more requests. */
enum ws_ending {
    WS_OPEN,
    WS_ENDING_OLD,      /* too old, or the gateway ends: 1001 */
    WS_ENDING_KEYLESS,  /* its key was removed: 1008 */
    WS_ENDING_NONSENSE, /* nothing but malformed messages: 1008, at once */
    WS_ENDING_UNREAD,   /* what is refused is not read either: 1008, at once */
    WS_ENDING_BROKEN,   /* an answer could not be completed: 1011, at once */
};

struct ws_arrival;

struct responses_ws {
    struct worker *worker;
    struct websocket *ws; /* NULL: closed */
    struct caller caller;
    struct arena memory;                     /* of what follows */
    struct http_header headers[2];           /* of its handshake, that count for its requests */
    char traceparent[TRACEPARENT_CHARS + 1]; /* of the span of that; a request's is linked to it */
    size_t n_headers;
    const struct http_listener *listener; /* of the handshake; or NULL */
    str authorization;                    /* one of them, or STR_NONE */
    str certificate;                      /* as in that request */
    str request_id, client;
    struct ws_lane *lanes; /* the one without a name is the first */
    size_t n_lanes;
    struct ws_create *waiting, **waiting_end; /* in the order in which they came */
    struct ws_create *ended;                  /* to be freed */
    size_t n_waiting, waiting_bytes, n_running;
    struct ws_arrival *arrivals, **arrivals_end; /* messages that wait to be read; the first is */
    size_t arrival_bytes;                        /* with what each takes beside its text */
    size_t n_parts; /* creates and arrivals that exist: it is not freed before them */
    uint64_t n_requests;
    unsigned n_malformed; /* in a row */
    size_t refused_bytes; /* of refusals, since nothing was unsent when there was one */
    struct peer_account *account;
    struct loop_timer *timer; /* of its age */
    struct loop_message settle;
    struct worker_watcher watcher;
    enum ws_ending ending;
    bool is_blocked;
};

/* ---- responses_ws.c */

/* Ends the connection when its key is not good any more, once what runs has ended; else its caller is as the
 * keys have it now. */
void responses_ws_check_key(struct responses_ws *of);

/* Sends an error in place of a response. */
void responses_ws_refuse(struct responses_ws *of, str stream_id, const struct err *e);

/* Sends a message that was put together in a buf, which is emptied. */
void responses_ws_send(struct responses_ws *of, struct buf *message);

/* The connection ends, at once or when its last response has. */
void responses_ws_end(struct responses_ws *of, enum ws_ending why);

/* What follows from the end of a create is done soon. */
void responses_ws_settle(struct responses_ws *of);

/* True when nothing is to be said any more: it closes as soon as that can be. */
bool responses_ws_is_over(const struct responses_ws *of);

/* ---- responses_ws_arrival.c */

/* Takes a message from inside on_message. */
void ws_arrival_take(struct responses_ws *of, str text);

/* The client is gone: what waits to be read is not any more. */
void ws_arrival_drop_all(struct responses_ws *of);

/* ---- responses_ws_lane.c */

/* Takes a create: it runs, waits, or is refused. text: its bytes, of which it takes possession unless it is
 * refused; NULL: it is the connection's message at hand. */
void ws_lane_create(struct responses_ws *of, const struct ws_message *m, struct buf *text);

/* Starts what may run. */
void ws_lane_start_waiting(struct responses_ws *of);

/* Refuses all that waits. */
void ws_lane_refuse_waiting(struct responses_ws *of);

/* True for a response of this connection, running or last of its lane; the id is escaped. */
bool ws_lane_knows(const struct responses_ws *of, str response_id);

/* The client is gone: its turns hear of it. Frees all lanes. */
void ws_lane_drop_all(struct responses_ws *of);

/* Frees what has ended. */
void ws_lane_free_ended(struct responses_ws *of);

/* ---- responses_ws_peer.c */

/* The peer of the turn of a create. */
struct peer ws_create_peer(struct ws_create *c);

void ws_create_free(struct ws_create *c);

/* Forgets what is kept of a response. */
void ws_response_forget(struct ws_response *r);

#endif
