/* custom_input.c -- a matcher for {"input":" and then a copy up to the closing quote.
 *
 * The inner text is itself JSON-escaped, so it can be spliced as it is once an
 * escape is complete. */
#include "response/custom_input.h"

/* What has to come before the text; white space may stand where a space is. */
static const char head[] = " { \"input\" : \"";

void custom_input_fini(struct custom_input *c)
{
    buf_fini(&c->unit);
}

bool custom_input_is_unpacked(const struct custom_input *c)
{
    return c->state == INPUT_TEXT || c->state == INPUT_DONE;
}

static void head_byte(struct custom_input *c, char byte)
{
    if (head[c->matched] == ' ') {
        if (str_is_space(byte))
            return;
        c->matched++;
    }
    if (head[c->matched] != byte) {
        c->state = INPUT_OTHER;
        return;
    }
    if (head[++c->matched] == '\0')
        c->state = INPUT_TEXT;
}

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
static void escape_byte(struct custom_input *c, char byte, struct buf *out)
{
    str unit;

    buf_char(&c->unit, byte);
    unit = buf_str(&c->unit);
    if (unit.len < 6 && unit.p[1] == 'u')
        return;
    if (is_escape(unit))
        json_text_splice(&c->splice, unit, out);
    else
        json_text_escape(unit, out); /* no JSON, but the model's own words */
    c->unit.len = 0;
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
static void special_byte(struct custom_input *c, char byte, struct buf *out)
{
    if (byte == '\\') {
        buf_char(&c->unit, byte);
    } else if (byte == '"') {
        c->state = INPUT_DONE;
        json_text_splice_end(&c->splice, out);
    } else {
        json_text_escape(str_from(&byte, 1), out); /* a raw newline inside the string */
    }
}

void custom_input_feed(struct custom_input *c, str plain, struct buf *out)
{
    while (plain.len > 0 && c->state <= INPUT_TEXT) {
        size_t n = 1;

        if (c->state == INPUT_HEAD) {
            head_byte(c, plain.p[0]);
        } else if (c->unit.len > 0) {
            escape_byte(c, plain.p[0], out);
        } else if ((n = plain_run(plain)) > 0) {
            json_text_splice(&c->splice, str_from(plain.p, n), out);
        } else {
            n = 1;
            special_byte(c, plain.p[0], out);
        }
        plain = str_skip(plain, n);
    }
}
