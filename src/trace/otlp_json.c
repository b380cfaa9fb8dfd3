/* otlp_json.c -- ExportTraceServiceRequest as JSON: keys in lowerCamelCase, ids in hexadecimal, enums as
 * numbers, 64-bit numbers as strings (OTLP, "JSON Protobuf Encoding"). */
#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "base/version.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "json/json_write.h"
#include "trace/otlp.h"

enum { STATUS_ERROR = 2 };

static void write_key_id(struct jw *w, const char *key, const unsigned char *id, size_t n)
{
    jw_key(w, key);
    jw_open_string(w);
    buf_hex(w->out, id, n);
    jw_close_string(w);
}

static void write_key_number_text(struct jw *w, const char *key, int64_t n)
{
    jw_key(w, key);
    jw_open_string(w);
    buf_int(w->out, n);
    jw_close_string(w);
}

static void write_key_double(struct jw *w, const char *key, double d)
{
    char text[32];

    if (!isfinite(d)) {
        jw_key_string(w, key, STR("NaN"));
        return;
    }
    (void)snprintf(text, sizeof(text), "%.17g", d);
    jw_key_raw(w, key, str_from_c(text));
}

static void write_texts(struct jw *w, str texts)
{
    jw_key(w, "arrayValue");
    jw_object(w);
    jw_key(w, "values");
    jw_array(w);
    while (texts.len > 0) {
        jw_object(w);
        jw_key_string(w, "stringValue", span_value_next(&texts));
        jw_object_end(w);
    }
    jw_array_end(w);
    jw_object_end(w);
}

static void write_value(struct jw *w, const struct span *s, const struct span_attribute *a)
{
    switch (a->is) {
    case SPAN_TEXT:
        jw_key_string(w, "stringValue", span_value_text(s, a));
        break;
    case SPAN_TEXTS:
        write_texts(w, span_value_text(s, a));
        break;
    case SPAN_INT:
        write_key_number_text(w, "intValue", a->value.number);
        break;
    case SPAN_DOUBLE:
        write_key_double(w, "doubleValue", a->value.fraction);
        break;
    case SPAN_BOOL:
        jw_key_bool(w, "boolValue", a->value.truth);
        break;
    }
}

static void write_attributes(struct jw *w, const struct span *s)
{
    jw_key(w, "attributes");
    jw_array(w);
    for (size_t i = 0; i < s->n_attributes; i++) {
        jw_object(w);
        jw_key_string(w, "key", str_from_c(s->attributes[i].key));
        jw_key(w, "value");
        jw_object(w);
        write_value(w, s, &s->attributes[i]);
        jw_object_end(w);
        jw_object_end(w);
    }
    jw_array_end(w);
}

static void write_link(struct jw *w, const struct trace_context *to)
{
    jw_key(w, "links");
    jw_array(w);
    jw_object(w);
    write_key_id(w, "traceId", to->trace_id, TRACE_ID_BYTES);
    write_key_id(w, "spanId", to->span_id, SPAN_ID_BYTES);
    jw_object_end(w);
    jw_array_end(w);
}

static void write_span(struct jw *w, const struct span *s)
{
    jw_object(w);
    write_key_id(w, "traceId", s->context.trace_id, TRACE_ID_BYTES);
    write_key_id(w, "spanId", s->context.span_id, SPAN_ID_BYTES);
    if (s->state_len > 0)
        jw_key_string(w, "traceState", span_state(s));
    if (s->has_parent)
        write_key_id(w, "parentSpanId", s->parent, SPAN_ID_BYTES);
    jw_key_string(w, "name", span_name(s));
    jw_key_int(w, "kind", s->kind);
    write_key_number_text(w, "startTimeUnixNano", (int64_t)s->start_ns);
    write_key_number_text(w, "endTimeUnixNano", (int64_t)s->end_ns);
    write_attributes(w, s);
    if (s->n_dropped > 0)
        jw_key_int(w, "droppedAttributesCount", (int64_t)s->n_dropped);
    if (s->has_link)
        write_link(w, &s->link);
    jw_key(w, "status");
    jw_object(w);
    if (s->is_error)
        jw_key_int(w, "code", STATUS_ERROR);
    jw_object_end(w);
    jw_key_int(w, "flags", otlp_span_flags(s));
    jw_object_end(w);
}

void otlp_json_write(const struct span *resource, const struct span *first, struct buf *out)
{
    struct jw writer = jw_to(out), *w = &writer;

    jw_object(w);
    jw_key(w, "resourceSpans");
    jw_array(w);
    jw_object(w);
    jw_key(w, "resource");
    jw_object(w);
    write_attributes(w, resource);
    jw_object_end(w);
    jw_key(w, "scopeSpans");
    jw_array(w);
    jw_object(w);
    jw_key(w, "scope");
    jw_object(w);
    jw_key_string(w, "name", STR("antiphon"));
    jw_key_string(w, "version", STR(ANTIPHON_VERSION));
    jw_object_end(w);
    jw_key(w, "spans");
    jw_array(w);
    for (const struct span *s = first; s != NULL; s = s->next)
        write_span(w, s);
    jw_array_end(w);
    jw_object_end(w);
    jw_array_end(w);
    jw_object_end(w);
    jw_array_end(w);
    jw_object_end(w);
}

/* A 64-bit number is a string; some write it as a number. */
uint64_t otlp_json_rejected(str answer)
{
    const str partial = jr_is_valid(answer) ? jr_member(answer, STR("partialSuccess")) : STR_NONE;
    const str text = jr_member_string(partial, STR("rejectedSpans"));
    const int64_t number = jr_member_int(partial, STR("rejectedSpans"), 0);
    uint64_t n = number > 0 ? (uint64_t)number : 0;

    if (!str_is_none(text) && (!num_uint(text, &n) || n > INT64_MAX))
        return 0;
    return n;
}
