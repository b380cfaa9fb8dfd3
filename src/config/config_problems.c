/* config_problems.c -- collects lines, and makes them fit to be shown. */
#include "config/config_problems.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

enum { MAX_TEXT_BYTES = 2048 };

/* A terminal would obey control characters, and a line end would forge a line. */
static bool is_control(str character)
{
    unsigned char c = (unsigned char)character.p[0];

    if (character.len == 1)
        return c < ' ' || c == 0x7F;
    if (character.len == 2)
        return c == 0xC2 && (unsigned char)character.p[1] < 0xA0;
    return str_eq(character, STR("\u2028")) || str_eq(character, STR("\u2029"));
}

static void append_escaped(str bytes, struct buf *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.p[i];

        buf_c(out, "\\x");
        buf_char(out, digits[c >> 4]);
        buf_char(out, digits[c & 15]);
    }
}

/* Everything that is not a visible character or a space becomes \xNN. */
static void append_visible(str s, struct buf *out)
{
    while (s.len > 0) {
        size_t n = utf8_char(s);
        str character = str_from(s.p, n == 0 ? 1 : n);

        if (n == 0 || is_control(character))
            append_escaped(character, out);
        else
            buf_append(out, character);
        s = str_skip(s, character.len);
    }
}

__attribute__((format(printf, 3, 0))) static void add(struct config_problems *p, bool is_warning,
                                                      const char *format, va_list args)
{
    char raw[MAX_TEXT_BYTES + 1];
    struct buf text = {0};
    const char *copy;

    if (p == NULL)
        return;
    *(is_warning ? &p->n_warnings : &p->n_errors) += 1;
    if (p->n_kept == CONFIG_MAX_PROBLEMS)
        return;
    (void)vsnprintf(raw, sizeof(raw), format, args);
    append_visible(str_from(raw, utf8_cut(str_from_c(raw), MAX_TEXT_BYTES)), &text);
    copy = buf_failed(&text) ? NULL : arena_dup(&p->memory, buf_str(&text)).p;
    p->kept[p->n_kept++] =
        (struct config_problem){is_warning, copy == NULL ? "out of memory" : copy};
    buf_fini(&text);
}

void config_error(struct config_problems *p, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add(p, false, format, args);
    va_end(args);
}

void config_warning(struct config_problems *p, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add(p, true, format, args);
    va_end(args);
}

void config_problems_fini(struct config_problems *p)
{
    arena_fini(&p->memory);
    *p = (struct config_problems){.n_kept = 0};
}

static void append_count(size_t n, const char *noun, struct buf *out)
{
    buf_uint(out, n);
    buf_char(out, ' ');
    buf_c(out, noun);
    if (n != 1)
        buf_char(out, 's');
}

void config_problems_print(const struct config_problems *p, struct buf *out)
{
    if (p->n_kept == 0)
        return;
    for (size_t i = 0; i < p->n_kept; i++) {
        buf_c(out, p->kept[i].is_warning ? "antiphon: warning: " : "antiphon: ");
        buf_c(out, p->kept[i].text);
        buf_char(out, '\n');
    }
    buf_c(out, "antiphon: ");
    append_count(p->n_errors, "error", out);
    buf_c(out, ", ");
    append_count(p->n_warnings, "warning", out);
    if (p->n_errors + p->n_warnings > p->n_kept)
        buf_c(out, "; only the first are shown");
    buf_char(out, '\n');
}

struct config_quote config_quote(str value)
{
    size_t whole = value.len, n;
    struct config_quote quote;

    value.len = str_find_char(value, '\0');
    n = value.len <= CONFIG_QUOTE_BYTES ? value.len : utf8_cut(value, CONFIG_QUOTE_BYTES);
    (void)snprintf(quote.text, sizeof(quote.text), "\"%.*s%s\"", (int)n, value.p,
                   n < whole ? "..." : "");
    return quote;
}
