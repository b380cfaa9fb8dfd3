/* span.h -- one span: what was done for a request, from when to when, with its attributes.
 *
 * A span is made where something begins and belongs to one thread at a time: that which fills it, and
 * then the exporter's (trace/export/tracer.h). It never refers to what it was made for: texts are copied,
 * each cut at the limit, and of attributes there are SPAN_ATTRIBUTES at most. What does not fit is counted.
 *
 * Names of attributes are constants, or outlive the span. Texts are UTF-8; malformed bytes are replaced.
 * What there was no memory for is left out: a span is no reason for anything to fail. */
#ifndef ANTIPHON_TRACE_SPAN_H
#define ANTIPHON_TRACE_SPAN_H

#include <stdint.h>

#include "base/buf.h"
#include "trace/trace_context.h"

enum { SPAN_ATTRIBUTES = 40 };

/* Kinds as OTLP numbers them. */
enum span_kind { SPAN_INTERNAL = 1, SPAN_SERVER = 2, SPAN_CLIENT = 3 };

enum span_value { SPAN_TEXT, SPAN_TEXTS, SPAN_INT, SPAN_DOUBLE, SPAN_BOOL };

struct span_limits {
    size_t attributes;  /* 0: SPAN_ATTRIBUTES, which is the most anyway */
    size_t value_bytes; /* of a text, each of several for itself; 0: none */
};

struct span_attribute {
    const char *key;
    enum span_value is;
    union {
        struct {
            size_t at, len; /* in texts; of several: each has its length before it */
        } text;
        int64_t number;
        double fraction;
        bool truth;
    } value;
};

struct span {
    struct span *next; /* in the exporter's queue, or a batch */
    struct trace_context context;
    unsigned char parent[SPAN_ID_BYTES];
    struct trace_context link;                    /* while has_link */
    bool has_parent, has_remote_parent, has_link; /* remote: another process has made it */
    bool is_error;
    enum span_kind kind;
    uint64_t start_ns, end_ns; /* since 1970 */
    struct span_limits limits;
    struct buf texts;
    size_t name_len;  /* at the beginning of texts, and ... */
    size_t state_len; /* ... the tracestate behind it */
    size_t n_attributes, n_dropped;
    size_t content_at,
        content_len; /* of what is read later, in texts (span_content.h), while ... */
    bool has_content;
    struct span_attribute attributes[SPAN_ATTRIBUTES];
};

/* NULL when out of memory. tracestate may be STR_NONE. */
struct span *span_new(const struct span_limits *limits, enum span_kind kind, str name,
                      str tracestate);
void span_free(struct span *s); /* NULL is fine */

str span_name(const struct span *s);
str span_state(const struct span *s); /* the tracestate, or "" */

/* About how many bytes of memory it takes. */
size_t span_bytes(const struct span *s);

/* Add an attribute. s may be NULL, and then nothing happens; nor does it for STR_NONE. */
void span_text(struct span *s, const char *key, str text);
void span_escaped(struct span *s, const char *key, str escaped); /* the content of a JSON string */
void span_int(struct span *s, const char *key, int64_t n);
void span_double(struct span *s, const char *key, double d);
void span_bool(struct span *s, const char *key, bool b);

/* Adds a text to a list: calls with the same key, one right after the other, make one list. */
void span_texts(struct span *s, const char *key, str text);

/* The span has failed: error.type, and the status that says so. */
void span_error(struct span *s, str type);

/* The value of an attribute of texts; and the next of several, cut off from *rest, which is that first. */
str span_value_text(const struct span *s, const struct span_attribute *a);
str span_value_next(str *rest);

#endif
