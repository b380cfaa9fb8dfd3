/* curl_call.h -- one call as libcurl sees it: URL, options, callbacks, errors.
 *
 * What becomes of the call is client_curl.c's business. */
#ifndef ANTIPHON_HTTP_CURL_CALL_H
#define ANTIPHON_HTTP_CURL_CALL_H

#include <curl/curl.h>

#include "base/buf.h"
#include "http/http_call.h"
#include "net/resolve.h"

struct curl_client;

struct curl_call {
    struct http_call call; /* first: they are converted into each other */
    struct curl_client *client;
    struct curl_call *next_changed; /* those that wait for libcurl to be left */

    CURL *easy;
    CURLU *url;
    struct curl_slist *headers;
    char *socket_path; /* NULL unless the URL is unix: */
    char *host;        /* of a guarded call, like the next four; libcurl's string */
    bool (*may_connect)(const struct sockaddr *to);
    struct resolve_wait wait;
    struct curl_slist *pins; /* see curl_guard.c */
    const char *refusal;     /* why libcurl does not get to see the call, or NULL */
    char error_text[CURL_ERROR_SIZE];

    str body; /* the caller's */
    size_t body_sent;
    struct buf head; /* lines of the answer's head, each with a NUL behind it */
    size_t n_lines;
    size_t
        head_bytes; /* of all heads, those of 1xx answers too, and of trailers, which nobody gets */

    bool added;     /* to libcurl */
    bool changed;   /* is in the client's list of these */
    bool held;      /* libcurl keeps bytes that came during a pause */
    bool cancelled; /* freed as soon as libcurl is left */
    bool is_counted;
};

/* Fills easy, url, headers and the copies. What was made before a failure is
 * released by curl_call_fini(). */
int curl_call_setup(struct curl_call *call, const struct http_client_conf *client_conf,
                    const struct http_call_conf *conf, struct err *reterr);
void curl_call_fini(struct curl_call *call);

/* Writes where the call goes, as call_transport.where does. */
void curl_call_where(const struct curl_call *call, char out[CALL_WHERE_BYTES]);

/* Describes what libcurl's verdict means for the caller. */
void curl_call_describe(const struct curl_call *call, CURLcode result, struct err *ret);

#endif
