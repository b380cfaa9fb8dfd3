/* http_call_conf.h -- what a caller says of a client and of a call, and what the call reports
 * (http_client.h). */
#ifndef ANTIPHON_HTTP_HTTP_CALL_CONF_H
#define ANTIPHON_HTTP_HTTP_CALL_CONF_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/header.h"
#include "base/str.h"

struct sockaddr;

struct http_client_conf {
    size_t max_idle_connections; /* kept open for reuse */
    const char *ca_file;         /* NULL: the system's */
    const char *client_cert,
        *client_key;   /* of https servers that ask who calls: files, PEM; NULL: none */
    const char *proxy; /* NULL: none, also not from the environment */
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

/* Counts connections as they come, go, and change between idle and active, on the loop's thread. Outlives
 * the client. */
struct http_connection_count {
    void (*move)(void *arg, bool is_idle, int n);
    void *arg;
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
    const struct http_connection_count *count; /* of connections that it makes; NULL: none */
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
    /* failure is NULL when the response arrived whole, after its on_head; else
     * ERR_UPSTREAM_UNAVAILABLE (not reached: refused, DNS, TLS, reset before the head),
     * ERR_UPSTREAM_TIMEOUT, or ERR_UPSTREAM_ERROR (broke off after the head). Messages name the
     * cause, never a URL's credentials or query. */
    void (*on_end)(void *arg, const struct err *failure);
};

#endif
