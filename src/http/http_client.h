/* http_client.h -- requests to upstream servers, whichever library sends them.
 *
 * One client per loop; everything here runs on that loop's thread. The hot
 * path of a turn is: start -> on_head -> on_body* -> on_end. Behind this
 * interface http:// and unix: are spoken directly, and libcurl does the rest:
 * https, proxies, URLs with a user or other rarities.
 *
 * URLs: http://, https://, and unix:/path/to.sock[:/prefix] (the request goes
 * to prefix + path over that socket). */
#ifndef ANTIPHON_HTTP_HTTP_CLIENT_H
#define ANTIPHON_HTTP_HTTP_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "net/header.h"

struct http_call;
struct http_client;
struct loop;
struct sockaddr;

struct http_client_conf {
    size_t max_idle_connections; /* kept open for reuse */
    const char *ca_file;         /* NULL: the system's */
    const char *proxy;           /* NULL: none, also not from the environment */
    bool verify_tls;
    bool only_curl; /* libcurl for every URL; so tests compare the two */

    /* Not NULL: a guarded client, for URLs of strangers (MCP 16.3, 16.4). A call
     * connects to an address only if this is true for it and for all others that
     * its host has; else it ends with ERR_UPSTREAM_UNAVAILABLE. Names are looked
     * up by us, and nothing is connected to that was not asked about here.
     * Connections are never shared with other clients. proxy is not used;
     * certificates are verified whatever verify_tls says; unix: URLs and IPv6
     * literals are refused. address_is_public() is made for this. */
    bool (*may_connect)(const struct sockaddr *to);
};

struct http_call_conf {
    const char *method;
    const char *url;                   /* copied */
    const struct http_header *headers; /* copied */
    size_t n_headers;
    str body;                       /* borrowed: must live until on_end or http_call_cancel() */
    const char *peer;               /* what messages call the other end; NULL: "upstream server" */
    const char *prefix;             /* what messages begin with; NULL: nothing */
    bool is_unique;                 /* must not arrive twice: takes no kept connection, since what
                                     * is lost on one is sent again */
    uint64_t connect_timeout_ms;    /* 0: none, like the next three */
    uint64_t first_byte_timeout_ms; /* from start to the response's head */
    uint64_t idle_timeout_ms;       /* between two reads of the body */
    uint64_t total_timeout_ms;      /* whole call */
};

/* What a call reports, on the loop, never from inside http_client_start().
 * Views die when the function returns. Exactly one on_end ends every call that
 * was not cancelled; nothing is reported after it. From inside any of them the
 * caller may pause, cancel, or start other calls. */
struct http_call_handler {
    /* Final status line and headers, names in lower case (1xx are swallowed). */
    void (*on_head)(void *arg, int status, const struct http_header *headers, size_t n_headers);
    /* Body bytes with the transfer coding taken off. */
    void (*on_body)(void *arg, str bytes);
    /* failure is NULL when the response arrived whole, after its on_head; else ERR_UPSTREAM_UNAVAILABLE
     * (not reached: refused, DNS, TLS, reset before the head), ERR_UPSTREAM_TIMEOUT,
     * or ERR_UPSTREAM_ERROR (broke off after the head). Messages name the
     * cause, never a URL's credentials or query. */
    void (*on_end)(void *arg, const struct err *failure);
};

/* NULL when out of memory. conf is copied; loop must outlive the client. The
 * process must ignore SIGPIPE: TLS writes may raise it. */
struct http_client *http_client_new(struct loop *loop, const struct http_client_conf *conf);

/* Cancels what is still running, without reports. Not from inside a report.
 * NULL is fine. */
void http_client_free(struct http_client *client);

/* The one it was made for. */
struct loop *http_client_loop(const struct http_client *client);

/* Is a name being looked up? Then loop_free() waits for that, and so does exit():
 * what hangs in the system's resolver cannot be called off. Lookups of libcurl
 * are not counted, since it leaves them behind. */
bool http_client_is_resolving(const struct http_client *client);

/* Starts a call, or returns NULL with *reterr filled (bad URL, out of memory). */
struct http_call *http_client_start(struct http_client *client, const struct http_call_conf *conf,
                                    const struct http_call_handler *handler, void *arg,
                                    struct err *reterr);

/* Ends a call at once and frees it: its connection is closed; no further
 * report. Does nothing inside the call's own on_end. */
void http_call_cancel(struct http_call *call);

/* Back-pressure: stop and go on reading the body. While paused, no on_body is
 * reported and the idle timeout does not run. */
void http_call_pause(struct http_call *call);
void http_call_resume(struct http_call *call);

/* How far a call has come, also from inside its on_end: "connecting", which is also
 * looking up the name and the handshake of TLS, "first_byte", which is waiting for the
 * head, or "answer". */
const char *http_call_phase(const struct http_call *call);

#endif
