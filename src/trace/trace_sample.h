/* trace_sample.h -- which requests are traced. */
#ifndef ANTIPHON_TRACE_TRACE_SAMPLE_H
#define ANTIPHON_TRACE_TRACE_SAMPLE_H

#include "trace/trace_context.h"

struct trace_sampler {
    bool follows_parent; /* what the client has decided holds; else it does not count */
    double share;        /* of those that nobody has decided, 0 to 1 */
};

/* Reads OTEL_TRACES_SAMPLER and its argument (STR_NONE: none), a share. NULL, or what is wrong. */
const char *trace_sampler_read(str name, str argument, struct trace_sampler *ret);

/* A number from 0 to 1; false when it is none. */
bool trace_share_read(str text, double *ret);

/* parent: of the request, or NULL. */
bool trace_sampler_takes(const struct trace_sampler *s, const struct trace_context *parent,
                         const unsigned char trace_id[TRACE_ID_BYTES]);

#endif
