/* tracer.h -- spans on their way to the receiver: a queue, and the thread at its end.
 *
 *     worker -> tracer_take() -> queue -> batch -> OTLP over HTTP
 *                  |                        |
 *                  full: dropped_queue      not to be had: dropped_export; the end: dropped_shutdown
 *
 * Who gives a span away never waits, takes no lock and allocates nothing: the span is the message. A queue
 * is full by its number of spans, or by TRACER_QUEUE_BYTES of them.
 *
 * A batch is sent when there are enough spans, or after a while. What the receiver has no time for (429,
 * 502, 503, 504), or what does not reach it, is sent again after 1, 2, 4 and 8 seconds, or when it says;
 * all else is final. One line a minute in the log says that spans are dropped. */
#ifndef ANTIPHON_TRACE_EXPORT_TRACER_H
#define ANTIPHON_TRACE_EXPORT_TRACER_H

#include "base/err.h"
#include "trace/export/trace_conf.h"

struct tracer;

enum { TRACER_QUEUE_BYTES = 16 * 1024 * 1024 };

/* Starts the thread; conf outlives it. NULL with *reterr filled. */
struct tracer *tracer_open(const struct trace_conf *conf, struct err *reterr);

/* Sends what there is, no longer than that, and ends the thread. No span is given to it any more. NULL is
 * fine. */
void tracer_close(struct tracer *t, uint64_t within_ms);

const struct trace_conf *tracer_conf(const struct tracer *t);

/* Takes a span that has ended; NULL is fine, and without a tracer it is freed. Any thread. */
void tracer_take(struct tracer *t, struct span *s);

/* What has become of all spans of the process until now. Any thread. */
struct trace_counts {
    uint64_t exported, dropped_queue, dropped_export, dropped_shutdown;
    size_t queue_length, queue_bytes; /* at this moment */
};

struct trace_counts trace_counts(void);

#endif
