/* mcp_env_file.c -- reads NAME=value lines, with the quotes people put there. */
#include "mcp/conf/mcp_env_file.h"

#include "base/buf.h"

struct reader {
    mcp_env_file_on_var *on_var;
    void *arg;
    struct buf value; /* what a double-quoted value becomes */
};

static bool is_name_char(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

static bool is_name(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!is_name_char(s.p[i]))
            return false;
    }
    return s.len > 0;
}

static bool is_escape(char c)
{
    const str escapes = STR_INIT("nrt\"\\$");

    return str_find_char(escapes, c) < escapes.len;
}

static char unescape(char c)
{
    switch (c) {
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return c;
    }
}

/* Behind a value there may be a comment only. */
static bool is_blank_or_comment(str s)
{
    s = str_trim(s);
    return s.len == 0 || s.p[0] == '#';
}

/* The functions below return NULL, or what is wrong. */

/* Unknown escapes stay as they stand, so that "C:\dir" means what it says. */
static const char *read_double_quoted(struct reader *r, str s, str *ret)
{
    size_t i = 1;

    buf_reset(&r->value);
    for (; i < s.len && s.p[i] != '"'; i++) {
        bool escaped = s.p[i] == '\\' && i + 1 < s.len && is_escape(s.p[i + 1]);

        if (escaped)
            i++;
        buf_char(&r->value, escaped ? unescape(s.p[i]) : s.p[i]);
    }
    if (i >= s.len || !is_blank_or_comment(str_skip(s, i + 1)))
        return "the value does not end with its quote";
    if (buf_failed(&r->value))
        return "out of memory";
    *ret = buf_str(&r->value);
    return NULL;
}

static const char *read_single_quoted(str s, str *ret)
{
    str inner = str_skip(s, 1);
    size_t n = str_find_char(inner, '\'');

    if (n == inner.len || !is_blank_or_comment(str_skip(inner, n + 1)))
        return "the value does not end with its quote";
    *ret = str_from(inner.p, n);
    return NULL;
}

static str read_bare(str s)
{
    for (size_t i = 1; i < s.len; i++) {
        if (s.p[i] == '#' && str_is_space(s.p[i - 1]))
            return str_trim(str_from(s.p, i));
    }
    return s;
}

static const char *read_value(struct reader *r, str s, str *ret)
{
    if (s.len > 0 && s.p[0] == '"')
        return read_double_quoted(r, s, ret);
    if (s.len > 0 && s.p[0] == '\'')
        return read_single_quoted(s, ret);
    *ret = s.len > 0 && s.p[0] == '#' ? STR("") : read_bare(s);
    return NULL;
}

static const char *read_line(struct reader *r, str line)
{
    size_t equals;
    const char *wrong;
    str name, value;

    line = str_trim(line);
    if (is_blank_or_comment(line))
        return NULL;
    if (memchr(line.p, '\0', line.len) != NULL)
        return "there is a NUL byte in it";
    if (str_starts_with(line, STR("export ")))
        line = str_trim_start(str_skip(line, 7));
    equals = str_find_char(line, '=');
    name = str_trim(str_from(line.p, equals));
    if (equals == line.len || !is_name(name))
        return "expected NAME=value";
    wrong = read_value(r, str_trim(str_skip(line, equals + 1)), &value);
    if (wrong == NULL && !r->on_var(r->arg, name, value))
        return "out of memory";
    return wrong;
}

int mcp_env_file_read(str text, mcp_env_file_on_var *on_var, void *arg, struct err *reterr)
{
    struct reader r = {.on_var = on_var, .arg = arg};
    const char *wrong = NULL;
    size_t number = 0;

    if (str_starts_with(text, STR("\xEF\xBB\xBF")))
        text = str_skip(text, 3);
    while (text.len > 0 && wrong == NULL) {
        size_t n = str_find_char(text, '\n');

        number++;
        wrong = read_line(&r, str_from(text.p, n));
        text = str_skip(text, n + 1);
    }
    buf_fini(&r.value);
    if (wrong == NULL)
        return 0;
    err_set(reterr, ERR_INTERNAL, "envFile line %zu: %s", number, wrong);
    return -1;
}
