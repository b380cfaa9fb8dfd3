/* http_conn.h -- one client connection; shared by the files of the server.
 *
 *     http_server.c   listeners, limits, the list of connections
 *     large_heads.c   a bound on all heads that are unfinished
 *     http_conn.c     reading requests, timeouts, closing: the states below
 *     conn_proxied.c  who the client is, behind proxies
 *     http_request.c  what an owner asks about its request
 *     http_reply.c    the other http_exchange_ functions: writing answers
 *     websocket.c     connections that HTTP has ended on
 *
 *     PROXY -> HANDSHAKE ->                              only where they are spoken
 *     IDLE -> HEAD -> BODY -> ANSWER -> FLUSH -> IDLE ...      keep-alive
 *               `---------------^                                refused at its head, or no body
 *       |       |       |       |         `----> LINGER -.     last answer sent
 *       `-------'-------'-------'------------------------'-> CLOSED
 *                               `-> WEBSOCKET -> LINGER
 *
 * A connection and its exchange are one object. Its memory goes after the
 * batch of events in which it was closed, so whoever still holds a view into
 * it at that moment may finish what it is doing. */
#ifndef ANTIPHON_HTTP_HTTP_CONN_H
#define ANTIPHON_HTTP_HTTP_CONN_H

#include <sys/queue.h>

#include "ev/loop.h"
#include "http/http_server.h"
#include "net/h1.h"
#include "net/listener.h"
#include "net/socket.h"

enum conn_state {
    CONN_PROXY,     /* +proxy: the PROXY header is not complete */
    CONN_HANDSHAKE, /* of TLS: nothing has been heard that HTTP knows */
    CONN_IDLE,      /* no byte of a request yet */
    CONN_HEAD,      /* within the head of a request */
    CONN_BODY,      /* within its body */
    CONN_ANSWER,    /* the owner of the exchange has the word */
    CONN_FLUSH,     /* the answer is complete, the client has not taken all of it */
    CONN_WEBSOCKET, /* frames, and no HTTP any more */
    CONN_LINGER,    /* our side is shut; what the client still sends is thrown away */
    CONN_CLOSED,    /* waiting for its memory to be freed */
};

/* State of a body that came compressed. */
struct decoding {
    struct body_decoder *decoder; /* while it is under way */
    struct buf bytes;
    bool is_over, is_whole;   /* is_whole: and did not fail */
    struct err *failure;      /* in the exchange's arena; NULL: none, or no memory to say which */
    struct loop_timer *timer; /* of the next piece */
    void (*on_decoded)(void *arg);
    void *arg;
};

/* What is counted of an exchange when it is over (http_metrics.h). */
struct exchange_counted {
    bool is_open, is_stream;              /* it is among those that run */
    uint16_t route, model, owner, status; /* 0: none */
    uint64_t start_ms;
};

struct http_exchange {
    struct http_conn *conn;
    struct arena arena;
    struct http_request request;
    struct decoding decoding;       /* of its body, when it came compressed */
    str request_id;                 /* STR_NONE until it is needed */
    str traceparent;                /* that the answer tells, or STR_NONE */
    const struct http_header *told; /* http_exchange_tell() */
    size_t n_told;
    const struct http_exchange_handler *handler; /* NULL: nothing is reported */
    void *arg;
    void *attached; /* http_exchange_attach() */
    void *noted;    /* http_exchange_note() */
    struct http_traffic traffic;
    struct exchange_counted counted;
    uint64_t start_ms;
    bool is_told;     /* its end, to on_end */
    bool is_open;     /* the head has been read; the rest is of use */
    bool has_body;    /* of the answer: not for HEAD, 204, 304 */
    bool chunked;     /* the answer's coding */
    bool close_after; /* the answer is the last on this connection */
};

struct http_conn {
    struct socket socket;
    struct http_server *server;
    struct http_conn *next, **link; /* in the server's list */
    struct loop_timer *timer;       /* one for all timeouts; may fire early and look again */
    uint64_t body_since_ms;         /* CONN_BODY: when the head was complete */
    uint64_t deadline_ms, timer_ms; /* when the state times out; when the timer fires; 0: never */
    enum conn_state state;
    struct h1 h1;
    struct buf ahead; /* bytes of later requests, read during an exchange */
    TAILQ_ENTRY(http_conn) by_large_head;
    size_t large_head_bytes;          /* 0: not among the large heads (large_heads.c) */
    size_t drained_bytes;             /* CONN_LINGER */
    uint64_t linger_since_ms;         /* CONN_LINGER */
    TAILQ_ENTRY(http_conn) by_linger; /* CONN_LINGER, unless refused */
    struct http_exchange x;
    struct websocket *websocket; /* or NULL */
    struct loop_message settle;  /* conn_settle(), when the owner's call has returned */
    bool flush_later;            /* when settling, there are queued bytes to send */
    bool reported_blocked;       /* the owner waits for on_blocked(false) */
    bool refused;                /* over max_connections: gets a 503 and nothing else */
    bool is_memory_free;         /* closed, but settle or the owner still holds it */
    bool is_proxied;             /* a PROXY header came before all else */
    bool is_held;                /* by the owner of the exchange, see http_exchange_hold() */
    bool has_answered;           /* a request */
    unsigned char counted;       /* as what, see http_metrics.c */
    const struct http_listener *listener;
    str certificate; /* see struct http_request */
    char peer[PEER_BYTES];
    uint64_t share_key; /* of the client whose connections it counts among (client_share.h) */
};

struct server_listener {
    struct http_server *server;
    struct listener *listener;  /* NULL: none */
    struct http_listener about; /* of connections as well, which may outlive the listener */
};

struct http_server {
    struct loop *loop;
    struct server_listener listeners[HTTP_SERVER_LISTENERS];
    struct http_server_conf conf;
    struct h1_limits limits;
    http_server_on_head *on_head; /* or NULL */
    http_server_on_request *on_request;
    http_server_on_end *on_end; /* or NULL */
    void *arg;
    struct http_conn *conns;
    TAILQ_HEAD(large_heads, http_conn) large_heads; /* unfinished, the oldest first */
    size_t large_heads_bytes;
    TAILQ_HEAD(lingering, http_conn) lingering; /* that take a place, the oldest first */
    size_t n_open, n_refused, n_exchanges;
    bool draining, closing;
    bool keeps_idle;       /* connections, while it drains */
    bool listeners_wait;   /* see server_balance() */
    uint64_t log_full_ms;  /* until then nothing more is logged about refused connections */
    uint64_t log_proxy_ms; /* the same about PROXY headers */
    struct buf head, body; /* an answer is put together here */
    int64_t date_s;        /* the second that date shows */
    char date[40];
    int port; /* of http_server_open() */
};

/* Takes fd; NULL when out of memory. The listener outlives the connection. */
struct http_conn *conn_open(struct http_server *server, int fd, const char *peer,
                            const struct http_listener *listener);

/* Begins with the handshake of TLS or with HTTP, with the bytes that have come already. False when out of
 * memory: the connection is closed. */
bool conn_begin(struct http_conn *c, str bytes);

/* The client among whose connections one of this peer counts; 0: nobody's, or it is not known yet. */
uint64_t conn_proxied_share_key(const struct http_server *server,
                                const struct http_listener *listener, const char *peer);

/* CONN_PROXY: waits for the header; takes its bytes, and goes on when it is complete; it is late. */
void conn_proxied_await(struct http_conn *c);
void conn_proxied_bytes(struct http_conn *c, str bytes);
void conn_proxied_late(struct http_conn *c);

/* Fills in what proxies say of the request. -1 when out of memory. */
int conn_proxied_read_request(struct http_conn *c);

/* Answers e to a request that cannot be read on, and closes. */
void conn_refuse(struct http_conn *c, const struct err *e);

/* True when bytes of the client wait to be read. */
bool conn_has_bytes(const struct http_conn *c);

/* Closes the socket at once, without a report. */
void conn_close(struct http_conn *c);

/* Closes the socket at once, so that the client sees a reset. */
void conn_reset(struct http_conn *c);

/* Frees what the connection keeps of its request and exchange: HTTP has ended on it. */
void conn_forget_http(struct http_conn *c);

/* Shuts our side, and throws away what the client still sends: its last answer is out, or taken
 * back. */
void conn_linger(struct http_conn *c);

/* The client is lost: closes, and reports to the owner. */
void conn_lose(struct http_conn *c);

/* Has the timer look no later than then; 0: there is nothing to look for. */
void conn_set_deadline(struct http_conn *c, uint64_t due_ms);

/* The moment when a body, or a message, that began at since_ms and has brought these bytes is late,
 * unless more of it comes; UINT64_MAX: never. */
uint64_t conn_body_due_ms(const struct http_conn *c, uint64_t since_ms, uint64_t bytes);

/* Sends the head of a 101, behind which HTTP has ended. False when out of memory: the connection is
 * closed. */
bool conn_switch_protocols(struct http_exchange *x, const struct http_header *headers,
                           size_t n_headers);

/* What a WebSocket has to know of its connection (websocket.c). */
void websocket_on_bytes(struct websocket *ws, str bytes);
void websocket_on_progress(struct websocket *ws);
void websocket_on_time(struct websocket *ws);
void websocket_on_lost(struct websocket *ws);
void websocket_settle(struct websocket *ws);
void websocket_drain(struct websocket *ws);
void websocket_end(struct websocket *ws); /* the server closes: last words */
void websocket_free(struct websocket *ws);

/* Sends a part of the answer; called in CONN_ANSWER. */
void conn_send(struct http_conn *c, const struct iovec *pieces, size_t n_pieces);

/* Sends what the socket has queued after the batch of events. */
void conn_flush_later(struct http_conn *c);

/* The exchange has ended, for whoever watches that: once, while its memory is there. */
void conn_tell_end(struct http_conn *c);

/* The answer is complete: the exchange is over for its owner. */
void conn_answered(struct http_conn *c);

/* An unfinished head has grown; refuses the oldest of the large ones while they hold too much. */
void large_head_note(struct http_conn *c);

/* Forgets a head that is complete, or will never be. */
void large_head_forget(struct http_conn *c);

/* Closes the connection that has lingered longest, unless its client has had no time to read
 * its answer: for a new one, which would find no place. */
void conn_make_place(struct http_server *server);

/* Pauses or resumes the listeners, as the number of connections has changed. */
void server_balance(struct http_server *server);

/* Stops decoding, as the client has left; what is decoded is freed with the exchange. */
void exchange_stop_decoding(struct http_exchange *x);
void exchange_free_decoded(struct http_exchange *x);

/* Frees a closed server when its last connection has gone. */
void server_release(struct http_server *server);

#endif
