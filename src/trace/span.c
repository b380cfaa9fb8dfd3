/* span.c -- making a span, and its attributes. */
#include "trace/span.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "json/json_text.h"

enum { LENGTH_BYTES = sizeof(uint32_t) };

struct span *span_new(const struct span_limits *limits, enum span_kind kind, str name,
                      str tracestate)
{
    struct span *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    s->limits = *limits;
    if (s->limits.attributes == 0 || s->limits.attributes > SPAN_ATTRIBUTES)
        s->limits.attributes = SPAN_ATTRIBUTES;
    s->kind = kind;
    utf8_repair(name, &s->texts);
    s->name_len = s->texts.len;
    buf_append(&s->texts, tracestate);
    s->state_len = s->texts.len - s->name_len;
    if (buf_failed(&s->texts)) {
        span_free(s);
        return NULL;
    }
    return s;
}

void span_free(struct span *s)
{
    if (s == NULL)
        return;
    buf_fini(&s->texts);
    free(s);
}

str span_name(const struct span *s)
{
    return str_from(s->texts.p == NULL ? "" : s->texts.p, s->name_len);
}

str span_state(const struct span *s)
{
    return s->state_len == 0 ? STR("") : str_from(s->texts.p + s->name_len, s->state_len);
}

size_t span_bytes(const struct span *s)
{
    return sizeof(*s) + s->texts.cap;
}

/* ---- attributes */

/* NULL when there is no span, or no place left. */
static struct span_attribute *add_attribute(struct span *s, const char *key, enum span_value is)
{
    struct span_attribute *a;

    if (s == NULL)
        return NULL;
    if (s->n_attributes == s->limits.attributes) {
        s->n_dropped++;
        return NULL;
    }
    a = &s->attributes[s->n_attributes++];
    *a = (struct span_attribute){.key = key, .is = is};
    return a;
}

/* What memory failed for is as if it had not been there; so is what it would have been. */
static void drop_attribute(struct span *s, size_t texts_len)
{
    s->n_attributes--;
    s->n_dropped++;
    s->texts.len = texts_len;
    s->texts.failed = s->texts.is_full = false;
}

static size_t cut_text(const struct span *s, str text)
{
    return s->limits.value_bytes == 0 ? text.len : utf8_cut(text, s->limits.value_bytes);
}

/* Appends what of a text fits; the text may be malformed. Returns its length. */
static size_t append_text(struct span *s, str text)
{
    const size_t before = s->texts.len;

    utf8_repair(str_from(text.p, cut_text(s, text)), &s->texts);
    if (!buf_failed(&s->texts)) /* what replaces a byte is longer than that */
        s->texts.len = before + cut_text(s, str_from(s->texts.p + before, s->texts.len - before));
    return s->texts.len - before;
}

void span_text(struct span *s, const char *key, str text)
{
    struct span_attribute *a = str_is_none(text) ? NULL : add_attribute(s, key, SPAN_TEXT);

    if (a == NULL)
        return;
    a->value.text.at = s->texts.len;
    a->value.text.len = append_text(s, text);
    if (buf_failed(&s->texts))
        drop_attribute(s, a->value.text.at);
}

/* Of what is long only as much is decoded as can be kept: no escape is longer than six bytes for one. */
static str decode_head(const struct span *s, str escaped, struct buf *out)
{
    enum { MOST_FOR_ONE = 6 };
    size_t most = s->limits.value_bytes;

    if (most != 0 && escaped.len / MOST_FOR_ONE > most) {
        most *= MOST_FOR_ONE;
        /* An escape is not cut: behind a backslash that is not escaped itself stand five more. */
        for (size_t i = 0; i < escaped.len; i += escaped.p[i] == '\\' ? 2 : 1) {
            if (i >= most) {
                escaped.len = i;
                break;
            }
        }
    }
    json_text_decode(escaped, out);
    return buf_str(out);
}

void span_escaped(struct span *s, const char *key, str escaped)
{
    struct buf plain = {.limit = 0};

    if (s == NULL || str_is_none(escaped))
        return;
    if (str_find_char(escaped, '\\') == escaped.len)
        span_text(s, key, escaped);
    else
        span_text(s, key, decode_head(s, escaped, &plain));
    buf_fini(&plain);
}

void span_texts(struct span *s, const char *key, str text)
{
    struct span_attribute *a;
    size_t before;
    uint32_t len;

    if (s == NULL || str_is_none(text))
        return;
    a = s->n_attributes == 0 ? NULL : &s->attributes[s->n_attributes - 1];
    if (a == NULL || a->is != SPAN_TEXTS || a->key != key) {
        a = add_attribute(s, key, SPAN_TEXTS);
        if (a == NULL)
            return;
        a->value.text.at = s->texts.len;
    }
    before = s->texts.len;
    buf_append(&s->texts, str_from("\0\0\0\0", LENGTH_BYTES));
    len = (uint32_t)append_text(s, text);
    if (buf_failed(&s->texts)) {
        drop_attribute(s, a->value.text.at);
        return;
    }
    memcpy(s->texts.p + before, &len, LENGTH_BYTES);
    a->value.text.len = s->texts.len - a->value.text.at;
}

void span_int(struct span *s, const char *key, int64_t n)
{
    struct span_attribute *a = add_attribute(s, key, SPAN_INT);

    if (a != NULL)
        a->value.number = n;
}

void span_double(struct span *s, const char *key, double d)
{
    struct span_attribute *a = add_attribute(s, key, SPAN_DOUBLE);

    if (a != NULL)
        a->value.fraction = d;
}

void span_bool(struct span *s, const char *key, bool b)
{
    struct span_attribute *a = add_attribute(s, key, SPAN_BOOL);

    if (a != NULL)
        a->value.truth = b;
}

/* A client that has left, or has cancelled, is no error. */
void span_error(struct span *s, str type)
{
    if (s == NULL || s->is_error)
        return;
    span_text(s, "error.type", type);
    s->is_error = !str_eq(type, STR("client_gone")) && !str_eq(type, STR("cancelled"));
}

/* ---- values */

str span_value_text(const struct span *s, const struct span_attribute *a)
{
    return str_from(s->texts.p + a->value.text.at, a->value.text.len);
}

str span_value_next(str *rest)
{
    uint32_t len;
    str text;

    memcpy(&len, rest->p, LENGTH_BYTES);
    text = str_from(rest->p + LENGTH_BYTES, len);
    *rest = str_skip(*rest, LENGTH_BYTES + len);
    return text;
}
