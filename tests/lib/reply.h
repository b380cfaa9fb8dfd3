/* reply.h -- calls of our HTTP client in tests, and what they report.
 *
 * Handlers that do more than keep the reports, do it inside the report and pass
 * it on to these. */
#ifndef ANTIPHON_TESTS_LIB_REPLY_H
#define ANTIPHON_TESTS_LIB_REPLY_H

#include "lib/http_fixture.h"

/* What a call has reported. */
struct reply {
    struct http_call *call; /* NULL after its end */
    int status;
    struct buf headers; /* "name=value\n" of each */
    struct buf body;
    unsigned n_reads; /* reports of the body */
    bool ended, failed;
    struct err failure;
};

void reply_on_head(void *arg, int status, const struct http_header *headers, size_t n);
void reply_on_body(void *arg, str bytes);
void reply_on_end(void *arg, const struct err *failure);
extern const struct http_call_handler reply_handler; /* these three */

/* After its end or its cancel, to be called once. */
void reply_fini(struct reply *r);

/* A GET of path from whichever server the test has opened; url is where its URL goes. */
struct http_call_conf reply_conf(char url[160], const char *path);

/* Starts a call: of a conf, of nothing but a path, and the same until its end. */
void reply_start(struct reply *r, const struct http_call_conf *conf,
                 const struct http_call_handler *handler);
void reply_call(struct reply *r, const char *path, const struct http_call_handler *handler);
void reply_fetch(struct reply *r, const char *path);

/* Waits for an answer that is OK_HELLO, and finishes the reply; the same with
 * the call. */
void reply_check_hello(struct reply *r);
void reply_fetch_hello(void);

#endif
