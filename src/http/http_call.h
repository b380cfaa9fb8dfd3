/* http_call.h -- one call of the HTTP client; shared by the client's files.
 *
 *     http_client.c    the life of a call: start, reports, time, cancel
 *     http_call.c      the call as libcurl sees it: URL, options, callbacks, errors
 *     client_curl.c    libcurl on the loop */
#ifndef ANTIPHON_HTTP_HTTP_CALL_H
#define ANTIPHON_HTTP_HTTP_CALL_H

#include <curl/curl.h>

#include "base/buf.h"
#include "http/http_client.h"

struct loop_timer;

struct http_call {
    struct http_client *client;
    struct http_call *next, **link; /* all calls of the client */
    struct http_call *next_changed; /* those that wait for libcurl to be left */
    struct http_call_handler handler;
    void *arg;

    CURL *easy;
    CURLU *url;
    struct curl_slist *headers;
    char *socket_path; /* NULL unless the URL is unix: */
    char error_text[CURL_ERROR_SIZE];

    str body; /* the caller's */
    size_t body_sent;
    struct buf head; /* lines of the answer's head, each with a NUL behind it */
    size_t n_lines;

    struct loop_timer *timer;
    uint64_t started_ms, last_read_ms, timer_ms;
    uint64_t connect_timeout_ms, first_byte_timeout_ms, idle_timeout_ms, total_timeout_ms;

    bool added;     /* to libcurl */
    bool changed;   /* is in the client's list of these */
    bool head_done; /* on_head has been reported */
    bool paused;    /* by the caller */
    bool held;      /* libcurl keeps bytes that came during the pause */
    bool cancelled; /* freed as soon as libcurl is left */
    bool ended;     /* on_end is being reported */
};

/* Fills easy, url, headers and the copies. What was made before a failure is
 * released by call_fini(). */
int call_setup(struct http_call *call, const struct http_client_conf *client_conf,
               const struct http_call_conf *conf, struct err *reterr);
void call_fini(struct http_call *call);

/* What libcurl's verdict means for the caller. */
void call_describe_failure(const struct http_call *call, CURLcode result, struct err *ret);

/* A limit of ours has passed; what is the end of "did not answer in time (%s)". */
void call_describe_timeout(const struct http_call *call, const char *what, uint64_t limit_ms,
                           struct err *ret);

/* http_client.c: the head is whole; bytes of the body. */
void call_on_head(struct http_call *call, int status, const struct http_header *headers,
                  size_t n_headers);
void call_on_body(struct http_call *call, str bytes);

#endif
