/* dotenv.c -- one line after the other; what is no NAME=VALUE is passed over and counted. */
#include "config/dotenv.h"

struct dotenv dotenv_of(str text)
{
    return (struct dotenv){.rest = text, .line = 1};
}

/* ---- steps */

static void skip_bytes(struct dotenv *d, size_t n)
{
    for (size_t i = 0; i < n; i++)
        d->line += d->rest.p[i] == '\n';
    d->rest = str_skip(d->rest, n);
}

static char next_char(const struct dotenv *d)
{
    return d->rest.len == 0 ? '\n' : d->rest.p[0];
}

static void skip_blanks(struct dotenv *d)
{
    while (d->rest.len > 0 && str_is_space(next_char(d)) && next_char(d) != '\n')
        skip_bytes(d, 1);
}

static void skip_line(struct dotenv *d)
{
    size_t n = str_find_char(d->rest, '\n');

    skip_bytes(d, n < d->rest.len ? n + 1 : n);
}

/* To the first line that says something. */
static void skip_nothing(struct dotenv *d)
{
    while (d->rest.len > 0 && (str_is_space(next_char(d)) || next_char(d) == '#')) {
        if (next_char(d) == '#')
            skip_line(d);
        else
            skip_bytes(d, 1);
    }
}

static void count_bad(struct dotenv *d, size_t line)
{
    if (d->n_bad++ == 0)
        d->bad_line = line;
}

/* ---- names */

static str take_word(struct dotenv *d)
{
    str word = d->rest;
    size_t n = 0;

    while (n < word.len && !str_is_space(word.p[n]) && word.p[n] != '=' && word.p[n] != '#')
        n++;
    word.len = n;
    skip_bytes(d, n);
    skip_blanks(d);
    return word;
}

static str take_name(struct dotenv *d)
{
    str name = take_word(d);

    if (str_eq(name, STR("export")) && next_char(d) != '=' && next_char(d) != '\n')
        name = take_word(d);
    return name;
}

/* ---- values */

/* What \c stands for between double quotes; 0: for itself, with the backslash. */
static char escaped_char(char c)
{
    static const char names[] = "abfnrtv\\\"'", meant[] = "\a\b\f\n\r\t\v\\\"'";
    const char *at = strchr(names, c);

    return c == '\0' || at == NULL ? '\0' : meant[at - names];
}

static void append_escape(char quote, char c, struct buf *out)
{
    char meant = escaped_char(c);

    if (quote == '\'' && c != '\'' && c != '\\')
        meant = '\0';
    if (meant == '\0')
        buf_char(out, '\\');
    buf_char(out, meant == '\0' ? c : meant);
}

/* Behind the opening quote. False when it is not closed, or something stands behind it. */
static bool take_quoted(struct dotenv *d, char quote, struct buf *out)
{
    const str text = d->rest;
    size_t i = 0;

    while (i < text.len && text.p[i] != quote) {
        if (text.p[i] == '\\' && i + 1 < text.len) {
            append_escape(quote, text.p[i + 1], out);
            i += 2;
        } else {
            buf_char(out, text.p[i++]);
        }
    }
    if (i == text.len)
        return false;
    skip_bytes(d, i + 1);
    skip_blanks(d);
    return next_char(d) == '\n' || next_char(d) == '#';
}

/* To the end of the line, or to a # behind white space. */
static void take_plain(struct dotenv *d, struct buf *out)
{
    str value = str_from(d->rest.p, str_find_char(d->rest, '\n'));

    if (str_starts_with(value, STR("#")))
        value.len = 0;
    for (size_t i = 1; i < value.len; i++) {
        if (value.p[i] == '#' && str_is_space(value.p[i - 1]))
            value.len = i;
    }
    buf_append(out, str_trim(value));
}

/* ---- ${NAME} and ${NAME:-default} */

/* The length of what stands at the beginning of a text, and replaces it; 0: it is nothing of that. */
static size_t expand_one(str text, dotenv_look *look, void *arg, struct buf *out)
{
    size_t end = str_find_char(text, '}');
    str name, value, fallback;

    if (!str_starts_with(text, STR("${")) || end == text.len)
        return 0;
    name = str_skip(str_from(text.p, end), 2);
    value = name;
    name.len = str_find_char(name, ':');
    fallback = str_skip(value, name.len);
    if (fallback.len > 0 && !str_starts_with(fallback, STR(":-")))
        return 0;
    value = look(arg, name);
    buf_append(out, str_is_none(value) ? str_skip(fallback, 2) : value);
    return end + 1;
}

static void expand_value(str text, dotenv_look *look, void *arg, struct buf *out)
{
    while (text.len > 0) {
        size_t n = expand_one(text, look, arg, out);

        if (n == 0)
            buf_char(out, text.p[0]);
        text = str_skip(text, n == 0 ? 1 : n);
    }
}

/* ---- lines */

/* Behind the =. False when the rest of the line makes no sense. */
static bool take_value(struct dotenv *d, struct buf *raw)
{
    const char c = next_char(d);

    if (d->rest.len == 0 || (c != '\'' && c != '"')) {
        take_plain(d, raw);
        return true;
    }
    skip_bytes(d, 1);
    return take_quoted(d, c, raw);
}

bool dotenv_next(struct dotenv *d, dotenv_look *look, void *arg, str *ret_name, struct buf *value)
{
    struct buf raw = {.limit = 0};
    bool is_found = false;

    for (skip_nothing(d); d->rest.len > 0 && !is_found; skip_nothing(d)) {
        const size_t line = d->line;

        *ret_name = take_name(d);
        buf_reset(&raw);
        if (ret_name->len > 0 && next_char(d) == '=' && d->rest.len > 0) {
            skip_bytes(d, 1);
            skip_blanks(d);
            is_found = take_value(d, &raw);
        }
        if (!is_found)
            count_bad(d, line);
        skip_line(d);
    }
    if (is_found)
        expand_value(buf_str(&raw), look, arg, value);
    if (buf_failed(&raw))
        value->failed = true;
    buf_fini(&raw);
    return is_found;
}
