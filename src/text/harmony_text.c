/* harmony_text.c -- find special tokens and break them, in place.
 *
 * Texts without any, nearly all, are only looked through. Else the text moves up by the bytes
 * that it is going to grow, and then piece by piece back down to where it belongs. */
#include "text/harmony_text.h"

/* Names of the special tokens, between <| and |>. */
static const str names[] = {
    STR_INIT("start"),       STR_INIT("end"),         STR_INIT("message"), STR_INIT("channel"),
    STR_INIT("constrain"),   STR_INIT("return"),      STR_INIT("call"),    STR_INIT("endoftext"),
    STR_INIT("startoftext"), STR_INIT("endofprompt"),
};

static const str reserved = STR_INIT("reserved_");
static const str first_reserved = STR_INIT("200000"), last_reserved = STR_INIT("201088");

static const str zero_width_space = STR_INIT("\xe2\x80\x8b");

static bool is_reserved_name(str name)
{
    str number = str_skip(name, reserved.len);

    if (!str_starts_with(name, reserved) || number.len != first_reserved.len)
        return false;
    for (size_t i = 0; i < number.len; i++) {
        if (number.p[i] < '0' || number.p[i] > '9')
            return false;
    }
    return str_order(number, first_reserved) >= 0 && str_order(number, last_reserved) <= 0;
}

/* Does s begin with a special token? */
static bool begins_token(str s)
{
    enum { LONGEST_NAME = sizeof("reserved_200000") - 1 };
    str name = str_skip(s, 2);

    if (!str_starts_with(s, STR("<|")))
        return false;
    if (name.len > LONGEST_NAME + 1)
        name.len = LONGEST_NAME + 1;
    name.len = str_find_char(name, '|');
    if (!str_starts_with(str_skip(s, 2 + name.len), STR("|>")))
        return false;
    return str_is_one_of(name, LIST_OF(names)) || is_reserved_name(name);
}

/* Position of the next token, or s.len. */
static size_t find_token(str s)
{
    size_t i = str_find_char(s, '<');

    while (i < s.len && !begins_token(str_skip(s, i)))
        i += 1 + str_find_char(str_skip(s, i + 1), '<');
    return i;
}

static size_t count_tokens(str s)
{
    size_t n = 0;

    for (size_t i = find_token(s); i < s.len; i = find_token(s)) {
        s = str_skip(s, i + 1);
        n++;
    }
    return n;
}

static char *move_down(char *to, str s)
{
    memmove(to, s.p, s.len);
    return to + s.len;
}

/* Copies text down to `to`, broken: to is as many bytes below text as are going to be added. */
static void break_tokens(str text, char *to)
{
    while (text.len > 0) {
        size_t i = find_token(text);

        if (i == text.len) {
            (void)move_down(to, text);
            return;
        }
        to = move_down(to, str_from(text.p, i + 1));
        to = move_down(to, zero_width_space);
        text = str_skip(text, i + 1);
    }
}

void harmony_neutralise_from(size_t from, struct buf *out)
{
    str text = str_skip(buf_str(out), from);
    size_t added = count_tokens(text) * zero_width_space.len;
    char *start;

    if (added == 0 || buf_reserve(out, added) == NULL)
        return;
    start = out->p + from;
    memmove(start + added, start, text.len);
    break_tokens(str_from(start + added, text.len), start);
    out->len += added;
}

void harmony_neutralise(str plain, struct buf *out)
{
    size_t from = out->len;

    buf_append(out, plain);
    harmony_neutralise_from(from, out);
}
