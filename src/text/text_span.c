/* text_span.c -- brackets and strings. */
#include "text/text_span.h"

/* Passes the rest of a string as far as there is one; true when it ended. */
static bool string_ended(struct text_span *s, str text, size_t *at)
{
    const char stops[3] = {s->quote, '\\', s->quote};

    while (*at < text.len) {
        if (s->is_escaped) {
            s->is_escaped = false;
            ++*at;
            continue;
        }
        *at += text_find_first(str_skip(text, *at), stops);
        if (*at == text.len)
            return false;
        s->is_escaped = text.p[*at] == '\\';
        ++*at;
        if (!s->is_escaped) {
            s->quote = 0;
            return true;
        }
    }
    return false;
}

/* ---- JSON */

static bool is_in_object(const struct text_span *s)
{
    return s->depth > 0 && (s->kinds[(s->depth - 1) / 8] >> ((s->depth - 1) % 8) & 1) != 0;
}

static bool open_container(struct text_span *s, char c)
{
    unsigned char bit = (unsigned char)(1 << s->depth % 8);

    if (s->depth == TEXT_SPAN_DEPTH)
        return false;
    if (c == '{')
        s->kinds[s->depth / 8] |= bit;
    else
        s->kinds[s->depth / 8] &= (unsigned char)~bit;
    s->depth++;
    s->expected = c == '{' ? SPAN_KEY_OR_END : SPAN_VALUE_OR_END;
    return true;
}

static bool close_container(struct text_span *s, char c)
{
    if (c != (is_in_object(s) ? '}' : ']'))
        return false;
    s->depth--;
    s->expected = SPAN_NEXT;
    return true;
}

static bool may_end(const struct text_span *s)
{
    return s->expected == SPAN_NEXT || s->expected == SPAN_KEY_OR_END ||
           s->expected == SPAN_VALUE_OR_END;
}

static bool is_word_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '+' || c == '.' ||
           c == 'E';
}

static bool begin_value(struct text_span *s, char c)
{
    if (c == '{' || c == '[')
        return open_container(s, c);
    if (c == '"')
        s->quote = c;
    s->expected = c == '"' ? SPAN_NEXT : SPAN_WORD;
    return c == '"' || is_word_char(c);
}

/* Takes one byte outside of strings; false when it does not fit. */
static bool json_char(struct text_span *s, char c)
{
    if (s->expected == SPAN_WORD && is_word_char(c))
        return true;
    if (s->expected == SPAN_WORD)
        s->expected = SPAN_NEXT;
    if (str_is_space(c) && s->expected != SPAN_BEGIN)
        return true;
    if ((c == '}' || c == ']') && may_end(s))
        return close_container(s, c);
    switch (s->expected) {
    case SPAN_BEGIN:
        return (c == '{' || c == '[') && open_container(s, c);
    case SPAN_VALUE:
    case SPAN_VALUE_OR_END:
        return begin_value(s, c);
    case SPAN_KEY:
    case SPAN_KEY_OR_END:
        s->quote = c;
        s->expected = SPAN_COLON;
        return c == '"';
    case SPAN_COLON:
        s->expected = SPAN_VALUE;
        return c == ':';
    case SPAN_NEXT:
        s->expected = is_in_object(s) ? SPAN_KEY : SPAN_VALUE;
        return c == ',';
    case SPAN_WORD:
        break;
    }
    return false;
}

/* Notes a value, neither an array nor an object, that stands before any name: there is none. */
static void note_nameless(struct text_span *s, char c, size_t at)
{
    bool is_scalar = c != '{' && c != '[' && c != ']' && !str_is_space(c);

    if (s->name_end == 0 && is_scalar &&
        (s->expected == SPAN_VALUE || s->expected == SPAN_VALUE_OR_END))
        s->name_at = s->name_end = at;
}

static void note_first_name(struct text_span *s, size_t at)
{
    if (s->name_end == 0 && s->expected == SPAN_COLON && s->quote != 0)
        s->name_at = at;
    else if (s->name_end == 0 && s->expected == SPAN_COLON)
        s->name_end = at - 1;
}

enum text_match text_span_json(struct text_span *s, str text, size_t *at)
{
    while (*at < text.len) {
        char c = text.p[*at];

        if (s->quote != 0) {
            if (!string_ended(s, text, at))
                return TEXT_MAY_MATCH;
            note_first_name(s, *at);
            continue;
        }
        note_nameless(s, c, *at);
        if (!json_char(s, c))
            return TEXT_DIFFERS;
        ++*at;
        note_first_name(s, *at);
        if (s->depth == 0)
            return TEXT_MATCHES;
    }
    return TEXT_MAY_MATCH;
}

/* ---- Python */

/* Takes one byte up to the parenthesis of the first call, before which only a name may stand. */
static bool python_name_char(struct text_span *s, char c, size_t at)
{
    if (s->depth == 0) {
        s->depth = 1;
        s->name_at = at + 1;
        return c == '[';
    }
    if (c == '(') {
        s->name_end = at;
        s->depth = 2;
        return at > s->name_at;
    }
    if (str_is_space(c) && at == s->name_at)
        s->name_at++;
    return at < s->name_at || text_is_name_char(c);
}

/* Brackets are only counted: the reader finds those that do not fit. */
static void python_char(struct text_span *s, char c)
{
    if (c == '(' || c == '[' || c == '{')
        s->depth++;
    else if (c == ')' || c == ']' || c == '}')
        s->depth--;
    else if (c == '"' || c == '\'')
        s->quote = c;
}

enum text_match text_span_python(struct text_span *s, str text, size_t *at)
{
    while (*at < text.len) {
        char c = text.p[*at];

        if (s->quote != 0) {
            if (!string_ended(s, text, at))
                return TEXT_MAY_MATCH;
            continue;
        }
        if (s->name_end > 0)
            python_char(s, c);
        else if (!python_name_char(s, c, *at))
            return TEXT_DIFFERS;
        ++*at;
        if (s->depth == 0)
            return TEXT_MATCHES;
    }
    return TEXT_MAY_MATCH;
}
