/* otlp_protobuf.c -- ExportTraceServiceRequest of opentelemetry-proto 1.x as protobuf.
 *
 * A message inside another has its length before it, which is known when it has been written: one byte is
 * left for it, and most messages are short enough for that. What is longer is moved. */
#include "base/version.h"
#include "trace/otlp.h"

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

/* Numbers of fields. */
enum { REQUEST_RESOURCE_SPANS = 1 };
enum { RESOURCE_SPANS_RESOURCE = 1, RESOURCE_SPANS_SCOPE_SPANS = 2 };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { SCOPE_SPANS_SCOPE = 1, SCOPE_SPANS_SPANS = 2 };
enum { SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum {
    SPAN_TRACE_ID = 1,
    SPAN_SPAN_ID = 2,
    SPAN_TRACE_STATE = 3,
    SPAN_PARENT_ID = 4,
    SPAN_NAME = 5,
    SPAN_KIND = 6,
    SPAN_START = 7,
    SPAN_END = 8,
    SPAN_ATTRIBUTE = 9,
    SPAN_DROPPED = 10,
    SPAN_LINK = 13,
    SPAN_STATUS = 15,
    SPAN_FLAGS = 16,
};
enum { LINK_TRACE_ID = 1, LINK_SPAN_ID = 2 };
enum { STATUS_CODE = 3, STATUS_ERROR = 2 };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 };
enum { VALUE_STRING = 1, VALUE_BOOL = 2, VALUE_INT = 3, VALUE_DOUBLE = 4, VALUE_ARRAY = 5 };
enum { ARRAY_VALUES = 1 };
enum { PARTIAL_SUCCESS = 1, REJECTED_SPANS = 1 };

/* ---- writing */

enum { MAX_VARINT_BYTES = 10 };

static size_t encode_varint(uint64_t n, char out[MAX_VARINT_BYTES])
{
    size_t len = 0;

    for (; n >= 128; n >>= 7)
        out[len++] = (char)(unsigned char)(n | 128);
    out[len++] = (char)n;
    return len;
}

static void put_varint(uint64_t n, struct buf *out)
{
    char bytes[MAX_VARINT_BYTES];

    if (n < 128)
        buf_char(out, (char)n);
    else
        buf_append(out, str_from(bytes, encode_varint(n, bytes)));
}

static void put_tag(unsigned field, enum wire wire, struct buf *out)
{
    put_varint((uint64_t)field << 3 | wire, out);
}

static void put_number(unsigned field, uint64_t n, struct buf *out)
{
    put_tag(field, VARINT, out);
    put_varint(n, out);
}

static void put_fixed(uint64_t n, size_t n_bytes, struct buf *out)
{
    for (size_t i = 0; i < n_bytes; i++)
        buf_char(out, (char)(unsigned char)(n >> (8 * i)));
}

static void put_fixed64(unsigned field, uint64_t n, struct buf *out)
{
    put_tag(field, FIXED64, out);
    put_fixed(n, sizeof(n), out);
}

static void put_bytes(unsigned field, str bytes, struct buf *out)
{
    put_tag(field, BYTES, out);
    put_varint(bytes.len, out);
    buf_append(out, bytes);
}

static void put_id(unsigned field, const unsigned char *id, size_t n, struct buf *out)
{
    put_bytes(field, str_from((const char *)id, n), out);
}

/* Begins a message in a field; returns where it begins, for end_message(). */
static size_t begin_message(unsigned field, struct buf *out)
{
    put_tag(field, BYTES, out);
    buf_char(out, 0);
    return out->len;
}

static void end_message(size_t at, struct buf *out)
{
    char length[MAX_VARINT_BYTES];
    size_t len, n;

    if (buf_failed(out))
        return;
    len = out->len - at;
    n = encode_varint(len, length);
    if (buf_reserve(out, n - 1) == NULL)
        return;
    if (n > 1)
        memmove(out->p + at + n - 1, out->p + at, len);
    memcpy(out->p + at - 1, length, n);
    out->len += n - 1;
}

/* ---- attributes */

static void put_texts(str texts, struct buf *out)
{
    const size_t array = begin_message(VALUE_ARRAY, out);

    while (texts.len > 0) {
        const size_t value = begin_message(ARRAY_VALUES, out);

        put_bytes(VALUE_STRING, span_value_next(&texts), out);
        end_message(value, out);
    }
    end_message(array, out);
}

static void put_value(const struct span *s, const struct span_attribute *a, struct buf *out)
{
    uint64_t bits;

    switch (a->is) {
    case SPAN_TEXT:
        put_bytes(VALUE_STRING, span_value_text(s, a), out);
        break;
    case SPAN_TEXTS:
        put_texts(span_value_text(s, a), out);
        break;
    case SPAN_INT:
        put_number(VALUE_INT, (uint64_t)a->value.number, out);
        break;
    case SPAN_DOUBLE:
        memcpy(&bits, &a->value.fraction, sizeof(bits));
        put_fixed64(VALUE_DOUBLE, bits, out);
        break;
    case SPAN_BOOL:
        put_number(VALUE_BOOL, a->value.truth, out);
        break;
    }
}

static void put_attributes(const struct span *s, unsigned field, struct buf *out)
{
    for (size_t i = 0; i < s->n_attributes; i++) {
        const struct span_attribute *a = &s->attributes[i];
        const size_t pair = begin_message(field, out);
        size_t value;

        put_bytes(KEY_VALUE_KEY, str_from_c(a->key), out);
        value = begin_message(KEY_VALUE_VALUE, out);
        put_value(s, a, out);
        end_message(value, out);
        end_message(pair, out);
    }
}

/* ---- spans */

static void put_link(const struct trace_context *to, struct buf *out)
{
    const size_t link = begin_message(SPAN_LINK, out);

    put_id(LINK_TRACE_ID, to->trace_id, TRACE_ID_BYTES, out);
    put_id(LINK_SPAN_ID, to->span_id, SPAN_ID_BYTES, out);
    end_message(link, out);
}

static void put_status(struct buf *out)
{
    const size_t status = begin_message(SPAN_STATUS, out);

    put_number(STATUS_CODE, STATUS_ERROR, out);
    end_message(status, out);
}

static void put_span(const struct span *s, struct buf *out)
{
    const size_t span = begin_message(SCOPE_SPANS_SPANS, out);

    put_id(SPAN_TRACE_ID, s->context.trace_id, TRACE_ID_BYTES, out);
    put_id(SPAN_SPAN_ID, s->context.span_id, SPAN_ID_BYTES, out);
    if (s->state_len > 0)
        put_bytes(SPAN_TRACE_STATE, span_state(s), out);
    if (s->has_parent)
        put_id(SPAN_PARENT_ID, s->parent, SPAN_ID_BYTES, out);
    put_bytes(SPAN_NAME, span_name(s), out);
    put_number(SPAN_KIND, s->kind, out);
    put_fixed64(SPAN_START, s->start_ns, out);
    put_fixed64(SPAN_END, s->end_ns, out);
    put_attributes(s, SPAN_ATTRIBUTE, out);
    if (s->n_dropped > 0)
        put_number(SPAN_DROPPED, s->n_dropped, out);
    if (s->has_link)
        put_link(&s->link, out);
    if (s->is_error)
        put_status(out);
    put_tag(SPAN_FLAGS, FIXED32, out);
    put_fixed(otlp_span_flags(s), sizeof(uint32_t), out);
    end_message(span, out);
}

void otlp_protobuf_write(const struct span *resource, const struct span *first, struct buf *out)
{
    const size_t all = begin_message(REQUEST_RESOURCE_SPANS, out);
    const size_t who = begin_message(RESOURCE_SPANS_RESOURCE, out);
    size_t spans, scope;

    put_attributes(resource, RESOURCE_ATTRIBUTES, out);
    end_message(who, out);
    spans = begin_message(RESOURCE_SPANS_SCOPE_SPANS, out);
    scope = begin_message(SCOPE_SPANS_SCOPE, out);
    put_bytes(SCOPE_NAME, STR("antiphon"), out);
    put_bytes(SCOPE_VERSION, STR(ANTIPHON_VERSION), out);
    end_message(scope, out);
    for (const struct span *s = first; s != NULL; s = s->next)
        put_span(s, out);
    end_message(spans, out);
    end_message(all, out);
}

/* ---- reading an answer */

static bool take_varint(str *rest, uint64_t *ret)
{
    uint64_t n = 0;

    for (size_t i = 0; i < rest->len && i < MAX_VARINT_BYTES; i++) {
        const unsigned char byte = (unsigned char)rest->p[i];

        n |= (uint64_t)(byte & 127) << (7 * i);
        if (byte < 128) {
            *ret = n;
            *rest = str_skip(*rest, i + 1);
            return true;
        }
    }
    return false;
}

/* A field with its value: a number, or bytes. False at the end, or where it is malformed. */
static bool take_field(str *rest, unsigned *ret_field, uint64_t *ret_number, str *ret_bytes)
{
    uint64_t tag, n = 0;
    size_t len = 0;

    *ret_bytes = STR_NONE;
    if (!take_varint(rest, &tag))
        return false;
    *ret_field = (unsigned)(tag >> 3);
    if ((tag & 7) == VARINT) {
        return take_varint(rest, ret_number);
    } else if ((tag & 7) == BYTES) {
        if (!take_varint(rest, &n) || n > rest->len)
            return false;
        len = (size_t)n;
        *ret_bytes = str_from(rest->p, len);
    } else if ((tag & 7) == FIXED64) {
        len = sizeof(uint64_t);
    } else if ((tag & 7) == FIXED32) {
        len = sizeof(uint32_t);
    } else {
        return false;
    }
    if (len > rest->len)
        return false;
    *rest = str_skip(*rest, len);
    return true;
}

static uint64_t rejected_of(str partial)
{
    uint64_t n = 0, rejected = 0;
    unsigned field;
    str bytes;

    while (take_field(&partial, &field, &n, &bytes)) {
        if (field == REJECTED_SPANS && str_is_none(bytes))
            rejected = n;
    }
    return rejected > INT64_MAX ? 0 : rejected;
}

uint64_t otlp_protobuf_rejected(str answer)
{
    uint64_t n = 0, rejected = 0;
    unsigned field;
    str bytes;

    while (take_field(&answer, &field, &n, &bytes)) {
        if (field == PARTIAL_SUCCESS && !str_is_none(bytes))
            rejected = rejected_of(bytes);
    }
    return rejected;
}
