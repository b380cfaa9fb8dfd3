/* span_content.h -- what was said to a model, as attributes (OPERATIONS 2.4).
 *
 * A request for the upstream may be large, and to take it apart is work: so the span of a question keeps the
 * bytes, as many as can matter, and whoever sends it takes them apart, on a thread of its own. */
#ifndef ANTIPHON_TRACE_SPAN_CONTENT_H
#define ANTIPHON_TRACE_SPAN_CONTENT_H

#include "trace/span.h"

/* Bytes of a request that are kept: values are cut sooner, by their limit. */
enum { SPAN_CONTENT_BYTES = 512 * 1024 };

/* Keeps the head of a Chat Completions request. s may be NULL. */
void span_content_keep(struct span *s, str request);

/* Makes of it gen_ai.system_instructions, gen_ai.input.messages and gen_ai.tool.definitions; nothing when
 * nothing was kept. Any thread that owns the span. */
void span_content_read(struct span *s);

#endif
