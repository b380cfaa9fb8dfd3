/* http_server.h -- HTTP/1.1 server side of one loop: connections and exchanges.
 *
 * A connection carries one exchange at a time (later requests wait in the
 * socket). An exchange begins when the head of a request is complete, which is
 * when it can be refused without reading its body, and ends when its answer has
 * been handed to the kernel. Everything runs on the loop's thread. */
#ifndef ANTIPHON_HTTP_HTTP_SERVER_H
#define ANTIPHON_HTTP_HTTP_SERVER_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/header.h"
#include "base/str.h"
#include "http/cors.h"

/* Most listeners of a server. */
enum { HTTP_SERVER_LISTENERS = 16 };

struct client_share;
struct http_exchange;
struct http_server;
struct loop;
struct trusted_proxies;
struct tls_files;

/* Where a connection has come in: an element of the key `listen`. */
struct http_listener {
    const char *text; /* as it is configured; outlives the server */
    unsigned number;  /* among those of the process, from 0 */
    unsigned marks;   /* of enum listen_mark (base/listen_spec.h) */
    bool is_loopback; /* bound to an address of this machine only */
    bool is_unix;
    struct tls_files *tls; /* its connections speak TLS, with what is in use there; or NULL */
};

/* Limits of one connection; every one is a configuration key. */
struct http_server_conf {
    size_t max_head_bytes; /* request line and headers together: 431 */
    size_t max_headers;    /* number of header fields: 431 */
    size_t max_body_bytes; /* 413 */
    size_t max_body_ratio; /* decoded bytes by those that came: 413; 0: any */
    size_t
        max_large_heads_bytes; /* of all heads over 4 KiB that are unfinished: 503 to the oldest */
    size_t max_connections;    /* of this loop; more are answered 503 */
    struct client_share
        *share; /* of each client, in the whole process; outlives the server; or NULL */
    size_t max_pending_bytes; /* unsent bytes above which on_blocked is reported */
    uint64_t head_timeout_ms; /* from first byte of a request to the end of its head: 408; and as
                               * long a TLS handshake may take */
    uint64_t body_timeout_ms; /* between two reads of a body: 408 */
    uint64_t body_total_ms;   /* from its first byte to its last: 408; 0: never */
    uint64_t body_min_rate;   /* bytes of content that it must bring in each second behind the
                               * first body_timeout_ms: 408; 0, here or there: none */
    uint64_t keep_alive_ms;   /* idle connection between requests */
    uint64_t send_timeout_ms; /* no byte taken by the client: connection closed; 0: never */
    struct cors cors;         /* what every answer says about it */
    const struct trusted_proxies *trusted; /* outlives the server; or NULL */
};

/* Header names are lower case. Views live until the exchange ends. */
struct http_request {
    str method, path, query; /* path without query, not percent-decoded */
    const struct http_header *headers;
    size_t n_headers;
    str body;                   /* as it came; http_exchange_body() takes the coding off */
    bool wants_upgrade;         /* Connection: upgrade with an Upgrade header */
    bool is_http_1_0, has_body; /* has_body: there is one, or will be */
    const struct err *refusal;  /* NULL, or why it is not to be served: it has no length, which
                                * matters only where its method is allowed */
    bool on_loopback; /* the socket it came to is bound to an address of this machine only */
    const struct http_listener *listener; /* NULL: it came to none, as in tests */
    /* Address of the client without port, or "unix"; behind a PROXY header, or proxies that are trusted,
     * what they say. */
    str peer;
    bool is_proxied; /* a PROXY header came before it */
    bool is_https;   /* the client has come by https, to us or to a proxy that is trusted */
    /* The owner that the client's certificate names: "cert:VALUE", a text that stays as long as the
     * process; STR_NONE when there is none. */
    str certificate;
};

/* Value of a header (name in lower case), or STR_NONE. */
str http_request_header(const struct http_request *r, str name);

/* The marks of the listener that the request came to. */
unsigned http_request_marks(const struct http_request *r);

/* True when whoever asks is on this machine, as far as can be known: it came to a loopback address or a
 * Unix socket, and nothing says that it was passed on for somebody else. */
bool http_request_is_local(const struct http_request *r);

/* What has passed of an exchange, or of what is carried otherwise. */
struct http_traffic {
    uint64_t bytes_in, bytes_out; /* of bodies, without what frames them */
    int status;                   /* of the answer; 0: there is none yet */
    bool has_line; /* whoever answers leaves a line in the log that says all of this */
};

/* Reports to the owner of an exchange; both functions are needed. They come from the loop, never
 * from inside an http_exchange_ call. */
struct http_exchange_handler {
    /* The client went away before the answer was complete (also while it is
     * awaited). The exchange is dead: no call on it is allowed any more. */
    void (*on_gone)(void *arg);
    /* Pending bytes passed max_pending_bytes (true), or all were sent (false). */
    void (*on_blocked)(void *arg, bool blocked);
};

/* Called for every whole request. The owner answers now or later, with
 * http_exchange_respond(), or _start(), _write()*, _end(). */
typedef void http_server_on_request(void *arg, struct http_exchange *x,
                                    const struct http_request *request);

/* Called once for every request, when its head is complete and before any of its body is kept;
 * the body in *head is still empty. The owner lets it go on and returns true: on_request follows
 * when the body is there, unless the client leaves before. Or it answers at once, with
 * http_exchange_respond() or _respond_error(), and returns false: when a body was announced the
 * answer says Connection: close, and what the client sends of it is thrown away. */
typedef bool http_server_on_head(void *arg, struct http_exchange *x,
                                 const struct http_request *head);

/* Called once for every request whose head was read, or refused: its answer has been handed to the kernel,
 * or the client has left; also when HTTP ends on its connection. What on_head and on_request were given is
 * still there. */
typedef void http_server_on_end(void *arg, struct http_exchange *x);

/* A server without a listener; NULL with *reterr filled. */
struct http_server *http_server_new(struct loop *loop, const struct http_server_conf *conf,
                                    http_server_on_request *on_request, void *arg,
                                    struct err *reterr);

/* Goes by other limits from now on; times that run already end as they were set. */
void http_server_configure(struct http_server *server, const struct http_server_conf *conf);

/* Lets on_head judge the heads of requests; before the first connection. */
void http_server_judge_heads(struct http_server *server, http_server_on_head *on_head);

/* Tells of the ends of exchanges; before the first connection. */
void http_server_watch_ends(struct http_server *server, http_server_on_end *on_end);

/* Accepts connections on a socket that listens (listen_address.h), besides those
 * given before. Takes fd, also if it fails. Returns 0, or -1 with *reterr filled. */
int http_server_listen(struct http_server *server, int fd, struct err *reterr);

/* Accepts on a listener of this text, number and marks; what the socket itself tells is found out. */
int http_server_listen_as(struct http_server *server, int fd, const struct http_listener *listener,
                          struct err *reterr);

/* A server with one listener, for a TCP address ("127.0.0.1:8080", "[::1]:0"). NULL with *reterr
 * filled. */
struct http_server *http_server_open(struct loop *loop, const char *address,
                                     const struct http_server_conf *conf,
                                     http_server_on_request *on_request, void *arg,
                                     struct err *reterr);

/* Port that was bound by http_server_open(), for address "...:0". */
int http_server_port(const struct http_server *server);

/* Number of open connections, and of exchanges whose answer has not been handed
 * to the kernel whole. */
size_t http_server_connections(const struct http_server *server);
size_t http_server_exchanges(const struct http_server *server);

/* Number of connections on which a request is coming in, or has come and was not read; with_new: and of
 * those that have carried none yet. It looks at all of them. */
size_t http_server_coming(const struct http_server *server, bool with_new);

/* Idle connections count as new ones, and a drain leaves them open. */
void http_server_keep_idle(struct http_server *server);

/* Counts the open connections by what they carry. It looks at all of them. */
struct http_server_counts {
    size_t n_idle, n_active, n_websockets;
};
struct http_server_counts http_server_count(const struct http_server *server);

/* Stops accepting, behind those that wait in the kernel by now, and closes idle connections; running
 * exchanges go on and answer with Connection: close, as do requests that are coming in; WebSockets,
 * which count as exchanges, hear of it. */
void http_server_drain(struct http_server *server);

/* Drains a server that stays: listeners that are for others than clients go on. Served again,
 * connections are kept open again, and what listens is to be given anew. */
void http_server_rest(struct http_server *server);
void http_server_serve(struct http_server *server);

/* Closes the listeners and all connections, without reports. */
void http_server_close(struct http_server *server);

/* The body of the request with its Content-Encoding taken off; a view that lives
 * like those of the request. Returns 0, or -1 with *reterr filled: 400, 413,
 * 415, 500 (body_decode.h). */
int http_exchange_body(struct http_exchange *x, str *ret, struct err *reterr);

/* Decodes the body ahead, a piece in each turn of the loop: http_exchange_body() then has what came
 * out. Returns false when that is so at once, else true: then on_decoded(arg) is called from the
 * loop, and nothing is asked of the exchange before. If the client leaves meanwhile it is not
 * called at all. */
bool http_exchange_decode(struct http_exchange *x, void (*on_decoded)(void *arg), void *arg);

/* Keeps the request's views and the exchange's memory until http_exchange_release(), also when the
 * client leaves meanwhile: for work on another thread, which may use http_exchange_body() and
 * http_request_header() and nothing else. In between nothing else of the exchange may be called,
 * and on_gone is reported as ever. */
void http_exchange_hold(struct http_exchange *x);
void http_exchange_release(struct http_exchange *x);

/* The exchange's memory: what the answer needs may be taken from it. */
struct arena *http_exchange_arena(struct http_exchange *x);

/* Keeps what on_head has found out, in the exchange's memory, for on_request; NULL when nothing was
 * attached. */
void http_exchange_attach(struct http_exchange *x, void *found);
void *http_exchange_attached(const struct http_exchange *x);

/* Keeps what is told of the exchange in the end (http_server_on_end); NULL when nothing was noted. */
void http_exchange_note(struct http_exchange *x, void *noted);
void *http_exchange_noted(const struct http_exchange *x);

/* The request, its traffic, and when its head was complete; they live as long as the exchange's memory. */
const struct http_request *http_exchange_request(const struct http_exchange *x);
struct http_traffic *http_exchange_traffic(struct http_exchange *x);
uint64_t http_exchange_start_ms(const struct http_exchange *x);

/* The x-request-id that the answer will carry: the client's or a new one. */
str http_exchange_request_id(struct http_exchange *x);

/* What the exchange is counted as: words of METRIC_DOMAIN_ROUTE, _OWNER and _MODEL, which are 0 if they
 * are not told. Before its answer is over. */
void http_exchange_count_route(struct http_exchange *x, uint16_t route);
void http_exchange_count_owner(struct http_exchange *x, uint16_t owner);
void http_exchange_count_model(struct http_exchange *x, uint16_t model);

/* The answer will have this in its header traceparent; copied. */
void http_exchange_tell_trace(struct http_exchange *x, const char *traceparent);

/* The answer will have these headers besides, whoever gives it, in place of those that were told before; copied.
 * None of them when out of memory. */
void http_exchange_tell(struct http_exchange *x, const struct http_header *headers, size_t n);

/* Sets who gets the reports; before this call nobody does. */
void http_exchange_watch(struct http_exchange *x, const struct http_exchange_handler *handler,
                         void *arg);

/* Sends the whole answer: Content-Length, Connection and Date are added. The exchange is over for
 * the caller. HEAD gets no body. */
void http_exchange_respond(struct http_exchange *x, int status, const struct http_header *headers,
                           size_t n_headers, str body);

/* Sends the error body of CONTRACT 7.1 with its status, Retry-After (429, 503), Accept-Encoding
 * (415 for a coding) and the given further headers. */
void http_exchange_respond_error(struct http_exchange *x, const struct err *e,
                                 const struct http_header *headers, size_t n_headers);

/* Starts an answer of unknown length. The head leaves with the first write (or
 * http_exchange_flush()), in the same system call. Each write becomes one chunk and one system
 * call; bytes the socket refuses are kept. */
void http_exchange_start(struct http_exchange *x, int status, const struct http_header *headers,
                         size_t n_headers);
void http_exchange_write(struct http_exchange *x, str bytes);
void http_exchange_flush(struct http_exchange *x);

/* Send many bytes without a copy: the buf is empty afterwards. */
void http_exchange_respond_taken(struct http_exchange *x, int status,
                                 const struct http_header *headers, size_t n_headers,
                                 struct buf *body);
void http_exchange_write_taken(struct http_exchange *x, struct buf *bytes);

/* Writes bytes that may wait for the end of the batch of events at hand, to leave together with
 * what is written until then. */
void http_exchange_write_soon(struct http_exchange *x, str bytes);

/* Sends the last bytes, which may be none, and the end, in one system call; the exchange is over
 * for the caller. */
void http_exchange_end(struct http_exchange *x, str bytes);

/* Breaks the connection: for an answer that cannot be completed honestly. */
void http_exchange_abort(struct http_exchange *x);

#endif
