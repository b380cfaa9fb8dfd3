/* trace_context.h -- which trace a request belongs to (W3C Trace Context).
 *
 *     traceparent: 00-<32 hex digits: trace>-<16: span>-<2: flags>
 *     tracestate: vendor=value,other=value
 *
 * Of the flags only "sampled" is known here. What is written is version 00. */
#ifndef ANTIPHON_TRACE_TRACE_CONTEXT_H
#define ANTIPHON_TRACE_TRACE_CONTEXT_H

#include <stdbool.h>

#include "base/id.h"
#include "base/str.h"

enum {
    TRACE_ID_BYTES = 16,
    SPAN_ID_BYTES = 8,
    TRACEPARENT_CHARS = 55,
    TRACESTATE_MAX_CHARS = 512,
    TRACESTATE_MAX_MEMBERS = 32,
};

struct trace_context {
    unsigned char trace_id[TRACE_ID_BYTES], span_id[SPAN_ID_BYTES];
    bool is_sampled;
};

/* Reads a traceparent of version 00 to fe; what stands behind the flags of a later one is skipped. False
 * when it is malformed, or an id is zero. */
bool trace_context_read(str traceparent, struct trace_context *ret);

/* Writes it, with a NUL. */
void trace_context_write(const struct trace_context *c, char out[TRACEPARENT_CHARS + 1]);

/* May a tracestate be passed on? Not when it is malformed, or passes the limits above. */
bool trace_state_is_valid(str tracestate);

/* Ids that are not zero. */
void trace_id_make(const struct id_source *source, unsigned char out[TRACE_ID_BYTES]);
void span_id_make(const struct id_source *source, unsigned char out[SPAN_ID_BYTES]);

#endif
