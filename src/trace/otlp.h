/* otlp.h -- spans as OTLP has them: one ExportTraceServiceRequest, as protobuf or as JSON.
 *
 * Both are written from the same spans (span.h). The resource is a span as well, of which only the
 * attributes count: they say who has sent all this. */
#ifndef ANTIPHON_TRACE_OTLP_H
#define ANTIPHON_TRACE_OTLP_H

#include "trace/span.h"

/* Appends the request with the spans of a list that is linked by next. */
void otlp_protobuf_write(const struct span *resource, const struct span *first, struct buf *out);
void otlp_json_write(const struct span *resource, const struct span *first, struct buf *out);

/* The flags of a span: whether it is sampled, and whether its parent is of another process. */
static inline uint32_t otlp_span_flags(const struct span *s)
{
    enum { HAS_IS_REMOTE = 0x100, IS_REMOTE = 0x200 };

    return (s->context.is_sampled ? 1U : 0U) | HAS_IS_REMOTE |
           (s->has_remote_parent ? IS_REMOTE : 0U);
}

/* How many spans the receiver says that it has refused, in an answer with status 200; 0 when it says
 * nothing of the kind, or what is no answer of OTLP. */
uint64_t otlp_protobuf_rejected(str answer);
uint64_t otlp_json_rejected(str answer);

#endif
