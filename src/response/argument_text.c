/* argument_text.c -- walks to the member, past others, and copies up to its closing quote.
 *
 * The inner text is itself JSON-escaped, so it can be spliced as it is once an
 * escape is complete. Members that are passed over are not checked: whoever
 * writes bad JSON there has still said what the text is. */
#include "response/argument_text.h"

void argument_text_fini(struct argument_text *a)
{
    buf_fini(&a->unit);
}

bool argument_text_has_begun(const struct argument_text *a)
{
    return a->state == ARGUMENT_TEXT || a->state == ARGUMENT_DONE;
}

bool argument_text_is_other(const struct argument_text *a)
{
    return a->state == ARGUMENT_OTHER;
}

/* ---- before the text */

static void begin_name(struct argument_text *a)
{
    a->state = ARGUMENT_NAME;
    a->matched = 0;
}

/* A name with an escape in it is taken for another. */
static void name_byte(struct argument_text *a, char byte)
{
    if (a->after_backslash) {
        a->after_backslash = false;
    } else if (byte == '"') {
        a->state = ARGUMENT_COLON;
    } else if (byte == '\\') {
        a->after_backslash = true;
        a->matched = SIZE_MAX;
    } else if (a->matched != SIZE_MAX) {
        bool fits = byte != '\0' && a->member[a->matched] == byte;

        a->matched = fits ? a->matched + 1 : SIZE_MAX;
    }
}

static void skip_string_byte(struct argument_text *a, char byte)
{
    if (a->after_backslash)
        a->after_backslash = false;
    else if (byte == '\\')
        a->after_backslash = true;
    else
        a->in_string = byte != '"';
}

static void skip_byte(struct argument_text *a, char byte)
{
    if (a->in_string)
        skip_string_byte(a, byte);
    else if (byte == '"')
        a->in_string = true;
    else if (byte == '{' || byte == '[')
        a->depth++;
    else if (byte == ',' && a->depth == 0)
        a->state = ARGUMENT_NEXT;
    else if ((byte == '}' || byte == ']') && a->depth-- == 0)
        a->state = ARGUMENT_OTHER; /* the end of the object */
}

static void value_byte(struct argument_text *a, char byte)
{
    bool is_ours = a->matched != SIZE_MAX && a->member[a->matched] == '\0';

    if (is_ours) {
        a->state = byte == '"' ? ARGUMENT_TEXT : ARGUMENT_OTHER;
        return;
    }
    a->state = ARGUMENT_SKIP;
    a->depth = 0;
    skip_byte(a, byte);
}

static void mark_byte(struct argument_text *a, char byte)
{
    if (a->state == ARGUMENT_OBJECT && byte == '{')
        a->state = ARGUMENT_FIRST;
    else if (a->state == ARGUMENT_FIRST && byte == '}')
        a->state = ARGUMENT_DONE;
    else if ((a->state == ARGUMENT_FIRST || a->state == ARGUMENT_NEXT) && byte == '"')
        begin_name(a);
    else if (a->state == ARGUMENT_COLON && byte == ':')
        a->state = ARGUMENT_VALUE;
    else
        a->state = ARGUMENT_OTHER;
}

static void head_byte(struct argument_text *a, char byte)
{
    if (a->state == ARGUMENT_NAME)
        name_byte(a, byte);
    else if (a->state == ARGUMENT_SKIP)
        skip_byte(a, byte);
    else if (str_is_space(byte))
        return;
    else if (a->state == ARGUMENT_VALUE)
        value_byte(a, byte);
    else
        mark_byte(a, byte);
}

/* ---- the text */

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_escape(str s)
{
    if (s.len == 2)
        return strchr("\"\\/bfnrt", s.p[1]) != NULL && s.p[1] != '\0';
    for (size_t i = 2; i < s.len; i++) {
        if (!is_hex(s.p[i]))
            return false;
    }
    return s.len == 6;
}

/* A byte of an escape; the escape is spliced when its last byte arrives. */
static void escape_byte(struct argument_text *a, char byte, struct buf *out)
{
    str unit;

    buf_char(&a->unit, byte);
    unit = buf_str(&a->unit);
    if (unit.len < 6 && unit.p[1] == 'u')
        return;
    if (is_escape(unit))
        json_text_splice(&a->splice, unit, out);
    else
        json_text_escape(unit, out); /* no JSON, but the model's own words */
    a->unit.len = 0;
}

/* Bytes that stand for themselves. */
static size_t plain_run(str s)
{
    size_t n = 0;

    while (n < s.len && s.p[n] != '\\' && s.p[n] != '"' && (unsigned char)s.p[n] >= 0x20)
        n++;
    return n;
}

/* A byte that ends a plain run. */
static void special_byte(struct argument_text *a, char byte, struct buf *out)
{
    if (byte == '\\') {
        buf_char(&a->unit, byte);
    } else if (byte == '"') {
        a->state = ARGUMENT_DONE;
        json_text_splice_end(&a->splice, out);
    } else {
        json_text_escape(str_from(&byte, 1), out); /* a raw newline inside the string */
    }
}

void argument_text_feed(struct argument_text *a, str plain, struct buf *out)
{
    while (plain.len > 0 && a->state <= ARGUMENT_TEXT) {
        size_t n = 1;

        if (a->state < ARGUMENT_TEXT) {
            head_byte(a, plain.p[0]);
        } else if (a->unit.len > 0) {
            escape_byte(a, plain.p[0], out);
        } else if ((n = plain_run(plain)) > 0) {
            json_text_splice(&a->splice, str_from(plain.p, n), out);
        } else {
            n = 1;
            special_byte(a, plain.p[0], out);
        }
        plain = str_skip(plain, n);
    }
}
