/* otlp_post.h -- one HTTP exchange with the receiver of spans after the other, each waited for.
 *
 * For the exporter's thread alone, but for otlp_post_wake(). */
#ifndef ANTIPHON_TRACE_EXPORT_OTLP_POST_H
#define ANTIPHON_TRACE_EXPORT_OTLP_POST_H

#include "base/buf.h"
#include "trace/export/trace_conf.h"

struct otlp_post;

/* What came of a post. */
struct otlp_answer {
    int status; /* 0: there was none, and why says why */
    char why[256];
    uint64_t retry_after_s; /* 0: not said */
    struct buf body;        /* the first 64 KiB; the caller's */
};

/* Makes the connection's side; conf outlives it. NULL when out of memory, or without TLS. */
struct otlp_post *otlp_post_new(const struct trace_conf *conf);
void otlp_post_free(struct otlp_post *p); /* NULL is fine */

/* Sends body, which is compressed already if that is wanted, and waits for the answer: no longer than
 * left_ms(arg) says, which is asked at each sign of life and when somebody wakes. 0 gives it up. */
void otlp_post_send(struct otlp_post *p, str body, uint64_t timeout_ms,
                    uint64_t (*left_ms)(void *arg), void *arg, struct otlp_answer *ret);

/* Waits, until that time has passed or somebody wakes. */
void otlp_post_wait(struct otlp_post *p, uint64_t ms);

/* Ends a wait, or the next one. Any thread, and never blocks. */
void otlp_post_wake(struct otlp_post *p);

#endif
