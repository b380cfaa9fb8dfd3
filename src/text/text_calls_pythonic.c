/* text_calls_pythonic.c -- calls as Llama 4 writes them, [f(a=1, b="x"), g()], and the literals of
 * Python that JSON has as well. Anything else is text. */
#include "base/num.h"
#include "base/utf8.h"
#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "text/text_calls_grammar.h"

enum { MAX_DEPTH = 64 };

/* A reader of calls; rest has not been read yet. */
struct python {
    struct text_calls *t;
    str rest;
    int depth;
    bool reports;
};

static bool skip_mark(struct python *py, char mark)
{
    py->rest = str_trim_start(py->rest);
    if (py->rest.len == 0 || py->rest.p[0] != mark)
        return false;
    py->rest = str_skip(py->rest, 1);
    return true;
}

static str read_name(struct python *py)
{
    size_t n = 0;
    str name;

    py->rest = str_trim_start(py->rest);
    while (n < py->rest.len && text_is_name_char(py->rest.p[n]))
        n++;
    name = str_from(py->rest.p, n);
    py->rest = str_skip(py->rest, n);
    return name;
}

/* ---- strings */

static const struct {
    char letter, stands_for;
} escapes[] = {{'n', '\n'}, {'t', '\t'}, {'r', '\r'},  {'a', '\a'},  {'b', '\b'},
               {'f', '\f'}, {'v', '\v'}, {'\\', '\\'}, {'\'', '\''}, {'"', '"'}};

/* \xHH, \uHHHH, \UHHHHHHHH: a character by its number. */
static bool read_number_escape(struct python *py, size_t digits, struct buf *out)
{
    uint32_t code = 0;
    char bytes[4];

    if (py->rest.len < digits)
        return false;
    for (size_t i = 0; i < digits; i++) {
        int digit = num_hex_digit(py->rest.p[i]);

        if (digit < 0)
            return false;
        code = code * 16 + (uint32_t)digit;
    }
    py->rest = str_skip(py->rest, digits);
    buf_append(out, str_from(bytes, utf8_encode(code, bytes)));
    return true;
}

/* Reads the escape behind a backslash. One that means nothing stays, as in Python. */
static bool read_escape(struct python *py, struct buf *out)
{
    char c = py->rest.len == 0 ? '\0' : py->rest.p[0];

    if (c == '\0')
        return false;
    py->rest = str_skip(py->rest, 1);
    if (c == 'x' || c == 'u' || c == 'U')
        return read_number_escape(py, c == 'x' ? 2 : c == 'u' ? 4 : 8, out);
    for (size_t i = 0; i < COUNT_OF(escapes); i++) {
        if (c == escapes[i].letter) {
            buf_char(out, escapes[i].stands_for);
            return true;
        }
    }
    if (c != '\n') { /* a line that goes on in the next */
        buf_char(out, '\\');
        buf_char(out, c);
    }
    return true;
}

static bool read_string(struct python *py, struct buf *out)
{
    const char quote = py->rest.p[0], stops[3] = {quote, '\\', '\n'};

    py->rest = str_skip(py->rest, 1);
    for (;;) {
        size_t n = text_find_first(py->rest, stops);
        char stop = n < py->rest.len ? py->rest.p[n] : '\n';

        buf_append(out, str_from(py->rest.p, n));
        py->rest = str_skip(py->rest, n + 1);
        if (stop == quote)
            return true;
        if (stop == '\n' || !read_escape(py, out))
            return false;
    }
}

static bool write_string(struct python *py, struct jw *w)
{
    struct buf text = {.limit = 0};
    bool is_good = read_string(py, &text);

    jw_string(w, buf_str(&text));
    py->t->out_of_memory |= buf_failed(&text);
    buf_fini(&text);
    return is_good && !py->t->out_of_memory;
}

/* ---- values */

static bool write_value(struct python *py, struct jw *w);

static bool write_list(struct python *py, struct jw *w)
{
    skip_mark(py, '[');
    jw_array(w);
    while (!skip_mark(py, ']')) {
        if (!write_value(py, w))
            return false;
        if (!skip_mark(py, ',') && !str_starts_with(py->rest, STR("]")))
            return false;
    }
    jw_array_end(w);
    return true;
}

static bool is_quote(str s)
{
    return s.len > 0 && (s.p[0] == '"' || s.p[0] == '\'');
}

static bool write_dict(struct python *py, struct jw *w)
{
    skip_mark(py, '{');
    jw_object(w);
    while (!skip_mark(py, '}')) {
        if (!is_quote(py->rest) || !write_string(py, w) || !skip_mark(py, ':'))
            return false;
        buf_char(w->out, ':');
        w->comma = false;
        if (!write_value(py, w))
            return false;
        if (!skip_mark(py, ',') && !str_starts_with(py->rest, STR("}")))
            return false;
    }
    jw_object_end(w);
    return true;
}

str text_calls_json_word(str word)
{
    static const struct {
        str python, json;
    } words[] = {
        {STR_INIT("True"), STR_INIT("true")},
        {STR_INIT("False"), STR_INIT("false")},
        {STR_INIT("None"), STR_INIT("null")},
    };

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (str_eq(word, words[i].python))
            return words[i].json;
    }
    return word;
}

/* Writes a number or a constant, of Python or as JSON has them. */
static bool write_word(struct python *py, struct jw *w)
{
    size_t n = 0;
    str word;

    while (n < py->rest.len && (text_is_name_char(py->rest.p[n]) || py->rest.p[n] == '+'))
        n++;
    word = text_calls_json_word(str_from(py->rest.p, n));
    py->rest = str_skip(py->rest, n);
    if (!jr_is_valid(word))
        return false;
    jw_raw(w, word);
    return true;
}

static bool write_nested(struct python *py, struct jw *w, bool is_list)
{
    bool is_good;

    if (py->depth == MAX_DEPTH)
        return false;
    py->depth++;
    is_good = is_list ? write_list(py, w) : write_dict(py, w);
    py->depth--;
    return is_good;
}

static bool write_value(struct python *py, struct jw *w)
{
    py->rest = str_trim_start(py->rest);
    if (py->rest.len == 0)
        return false;
    switch (py->rest.p[0]) {
    case '"':
    case '\'':
        return write_string(py, w);
    case '[':
    case '{':
        return write_nested(py, w, py->rest.p[0] == '[');
    default:
        return write_word(py, w);
    }
}

/* ---- calls */

/* Writes name=value, ... up to the closing parenthesis, as an object. */
static bool write_arguments(struct python *py, struct jw *w)
{
    jw_object(w);
    while (!skip_mark(py, ')')) {
        str key = read_name(py);

        if (key.len == 0 || !skip_mark(py, '='))
            return false;
        jw_string(w, key);
        buf_char(w->out, ':');
        w->comma = false;
        if (!write_value(py, w))
            return false;
        if (!skip_mark(py, ',') && !str_starts_with(py->rest, STR(")")))
            return false;
    }
    jw_object_end(w);
    return true;
}

static bool read_call(struct python *py)
{
    struct text_calls *t = py->t;
    struct jw w = jw_to(&t->arguments);
    str name = read_name(py);

    t->arguments.len = 0;
    if (!text_calls_is_function(t, name) || !skip_mark(py, '(') || !write_arguments(py, &w))
        return false;
    t->out_of_memory |= buf_failed(&t->arguments);
    if (py->reports && !t->out_of_memory)
        text_calls_report(t, name, buf_str(&t->arguments), STR(""));
    return !t->out_of_memory;
}

static bool read_calls(struct python py)
{
    skip_mark(&py, '[');
    do {
        if (!read_call(&py))
            return false;
    } while (skip_mark(&py, ','));
    return skip_mark(&py, ']') && py.rest.len == 0;
}

/* A list is taken only when all of it are calls, so it is read twice. */
static bool take_call_list(struct text_calls *t, str read)
{
    struct python py = {.t = t, .rest = read};

    if (!read_calls(py))
        return false;
    py.reports = true;
    return read_calls(py);
}

enum { LIST = 1 };

static const struct text_step steps[] = {
    [LIST] = {WISH_PYTHON, {ANYWAY(COMPLETE, take_call_list)}, NULL},
};

const struct text_grammar text_grammar_pythonic = {
    .openings = {{STR_INIT("<|python_start|>"), LIST, false, ANYWHERE},
                 {STR_INIT("["), LIST, true, AT_LINE_START}},
    .closings = {STR_INIT("<|python_end|>")},
    .steps = steps,
};
