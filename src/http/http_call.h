/* http_call.h -- one call of the HTTP client, however it travels.
 *
 *     http_client.c      the life of a call: start, reports, time, pause, cancel
 *     http_call.c        what goes wrong with a call, in the caller's words
 *     client_direct.c    the transport for http:// and unix:, over conn_pool.c
 *     client_curl.c      the transport for all the rest, over curl_call.c and curl_pump.c
 *
 * A transport allocates the call inside a struct of its own, with struct
 * http_call first; it reports through the call_on_ functions and is told what
 * the caller wants through struct call_transport. */
#ifndef ANTIPHON_HTTP_HTTP_CALL_H
#define ANTIPHON_HTTP_HTTP_CALL_H

#include "http/http_call_conf.h"

struct http_call;
struct http_client;
struct loop;
struct loop_timer;

enum {
    CALL_MAX_HEAD_BYTES = 256 * 1024, /* of an answer */
    CALL_WHERE_BYTES = 280,
    CALL_CAUSE_BYTES = 128,
};

struct call_transport {
    /* The caller has paused or resumed the call: call->paused says which. */
    void (*on_paused)(struct http_call *call);
    /* Leaves the call and frees it, at once or later; it must not report any more. */
    void (*drop)(struct http_call *call);
    /* True when the request could be sent. */
    bool (*is_connected)(const struct http_call *call);
    /* See http_call_connect_time(). */
    bool (*connect_time)(const struct http_call *call, uint64_t *ret_ms);
    /* Writes "host:port", or the socket's path; never user, path or query of a URL. */
    void (*where)(const struct http_call *call, char out[CALL_WHERE_BYTES]);
};

struct http_call {
    const struct call_transport *transport;
    struct http_client *client;
    struct http_call *next, **link; /* all calls of the client */
    struct http_call_handler handler;
    void *arg;

    struct loop_timer *timer;
    uint64_t started_ms, last_read_ms, timer_ms;
    const char *peer, *prefix; /* of the conf, never NULL */
    uint64_t connecting_ms;    /* since when; 0: not, or the transport watches over it itself */
    uint64_t connect_timeout_ms, first_byte_timeout_ms, idle_timeout_ms, total_timeout_ms;

    bool head_done; /* on_head has been reported */
    bool paused;    /* by the caller */
    bool ended;     /* on_end is being reported */
};

/* ---- http_client.c: reports of a transport, never from inside its own start.
 * The caller may cancel the call from inside each, and then it has been dropped
 * when they return. */

void call_on_head(struct http_call *call, int status, const struct http_header *headers,
                  size_t n_headers);
void call_on_body(struct http_call *call, str bytes);

/* Reports the end and drops the call. failure is NULL when the answer is whole. */
void call_on_end(struct http_call *call, const struct err *failure);

/* Looks at the limits of time again, as connecting_ms has changed. */
void call_watch_time(struct http_call *call);

/* ---- http_call.c */

/* True for a request that announces a body, be it empty. */
bool call_sends_body(const struct http_call_conf *conf);

/* True when the fields can be sent as they are; otherwise *reterr is filled. */
bool call_check_headers(const struct http_call_conf *conf, struct err *reterr);

/* Causes, as call_describe() wants them: the end of a sentence, without its stop. */
#define CAUSE_NO_NAME     "its name cannot be resolved"
#define CAUSE_NOT_ALLOWED "it has an address to which this gateway does not connect"
#define CAUSE_NO_ANSWER   "it closed the connection without an answer"
#define CAUSE_CLOSED      "it closed the connection"
#define CAUSE_CUT         "it closed the connection before the end"
#define CAUSE_NOT_HTTP    "it does not speak HTTP/1.1"
#define CAUSE_LARGE_HEAD  "the head of its answer is too large, or memory ran out"

/* The system's words for an errno, written to out. */
const char *call_cause_of_errno(int error, char out[CALL_CAUSE_BYTES]);

#define CALL_BROKE_OFF "broke off: "

/* Describes a failure of the upstream: before the head it is not reachable, after it the answer
 * broke off. */
void call_describe(const struct http_call *call, const char *cause, struct err *ret);

/* Describes a limit that has passed; what is the end of "did not answer in time (%s)". */
#define CALL_NOT_CONNECTED "no connection within"
#define CALL_NOT_COMPLETE  "not complete after"
void call_describe_timeout(const struct http_call *call, const char *what, uint64_t limit_ms,
                           struct err *ret);

#endif
