/* argument_end.c -- brackets are counted outside of strings. */
#include "response/argument_end.h"

#include "base/buf.h"
#include "json/json_read.h"
#include "json/json_text.h"

static void look_inside_object(struct argument_end *e, char c)
{
    if (e->after_backslash)
        e->after_backslash = false;
    else if (c == '"')
        e->in_string = !e->in_string;
    else if (e->in_string)
        e->after_backslash = c == '\\';
    else if (c == '{' || c == '[')
        e->depth++;
    else if (c == '}' || c == ']')
        e->depth--;
}

static void look_at_char(struct argument_end *e, char c)
{
    if (e->state == ARGUMENT_END_INSIDE) {
        look_inside_object(e, c);
        if (e->depth == 0)
            e->state = ARGUMENT_END_REACHED;
    } else if (e->state == ARGUMENT_END_BEFORE && c == '{') {
        e->state = ARGUMENT_END_INSIDE;
        e->depth = 1;
    } else if (!str_is_space(c)) {
        e->state = ARGUMENT_END_NEVER;
    }
}

static void decode_text(str escaped, struct buf *plain)
{
    buf_reset(plain);
    json_text_decode(escaped, plain);
}

bool argument_end_is_reached(struct argument_end *e, str escaped)
{
    struct buf plain = {.limit = 0};
    bool was_reached = e->state == ARGUMENT_END_REACHED;

    if (e->state == ARGUMENT_END_NEVER || e->n_seen == escaped.len)
        return was_reached;
    decode_text(str_skip(escaped, e->n_seen), &plain);
    if (buf_failed(&plain)) {
        buf_fini(&plain);
        return false;
    }
    for (size_t i = 0; i < plain.len; i++)
        look_at_char(e, plain.p[i]);
    e->n_seen = escaped.len;
    if (e->state == ARGUMENT_END_REACHED && !was_reached) {
        decode_text(escaped, &plain);
        if (buf_failed(&plain) || !jr_is_valid(buf_str(&plain)))
            e->state = ARGUMENT_END_NEVER;
    }
    buf_fini(&plain);
    return e->state == ARGUMENT_END_REACHED;
}
