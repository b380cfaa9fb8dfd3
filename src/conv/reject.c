/* reject.c -- paths and the message patterns of rejected requests. */
#include "conv/reject.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "json/json_text.h"

/* Appends one step to out, of which used bytes are taken; returns the new count. */
static size_t print_step(const struct path *at, struct path_name *out, size_t used)
{
    char *p = out->text + used;
    size_t room = sizeof(out->text) - used;
    int n;

    if (str_is_none(at->member))
        n = snprintf(p, room, "[%zu]", at->index);
    else
        n = snprintf(p, room, "%s%.*s", used > 0 ? "." : "", STR_ARG(at->member));
    return n < 0 || (size_t)n >= room ? sizeof(out->text) - 1 : used + (size_t)n;
}

static size_t print_path(const struct path *at, struct path_name *out)
{
    return at == NULL ? 0 : print_step(at, out, print_path(at->parent, out));
}

struct path_name path_name(const struct path *at)
{
    struct path_name out = {0};

    (void)print_path(at, &out);
    out.text[utf8_cut(str_from_c(out.text), sizeof(out.text) - 1)] = '\0';
    return out;
}

struct shown shown(str escaped)
{
    struct shown out = {0};
    struct buf text = {0};

    json_text_decode(escaped, &text);
    if (!buf_failed(&text) && text.len > 0)
        memcpy(out.text, text.p, utf8_cut(buf_str(&text), sizeof(out.text) - 1));
    buf_fini(&text);
    return out;
}

int reject_type(const struct path *at, const char *expected, const char *got, struct err *reterr)
{
    if (at == NULL)
        err_set(reterr, ERR_INVALID_TYPE,
                "Invalid type for the request body: expected %s, but got %s instead.", expected,
                got);
    else
        err_set_param(reterr, ERR_INVALID_TYPE, path_name(at).text,
                      "Invalid type for '%s': expected %s, but got %s instead.", path_name(at).text,
                      expected, got);
    return -1;
}

int reject_missing(const struct path *at, struct err *reterr)
{
    err_set_param(reterr, ERR_MISSING_PARAMETER, path_name(at).text,
                  "Missing required parameter: '%s'.", path_name(at).text);
    return -1;
}

int reject_unsupported(const struct path *at, struct err *reterr)
{
    err_set_param(reterr, ERR_UNSUPPORTED_PARAMETER, path_name(at).text,
                  "Unsupported parameter: '%s'.", path_name(at).text);
    return -1;
}

int reject_empty(const struct path *at, struct err *reterr)
{
    err_set_param(reterr, ERR_INVALID_VALUE, path_name(at).text,
                  "Invalid '%s': empty string. Expected a string with minimum length 1, but got "
                  "an empty string instead.",
                  path_name(at).text);
    return -1;
}

/* 'a', 'a' and 'b', or 'a', 'b', and 'c' */
static void print_values(const str *values, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && n > 2)
            buf_char(out, ',');
        if (i > 0)
            buf_append(out, i == n - 1 ? STR(" and ") : STR(" "));
        buf_char(out, '\'');
        buf_append(out, values[i]);
        buf_char(out, '\'');
    }
}

int reject_value(const struct path *at, str value, const str *supported, size_t n_supported,
                 struct err *reterr)
{
    struct buf list = {0};

    print_values(supported, n_supported, &list);
    err_set_param(reterr, ERR_INVALID_VALUE, path_name(at).text,
                  "Invalid value: '%s'. Supported values are: %s.", shown(value).text,
                  buf_cstr(&list));
    buf_fini(&list);
    return -1;
}

int check_value(const struct path *at, str value, const str *supported, size_t n_supported,
                struct err *reterr)
{
    if (str_is_none(value))
        return 0;
    for (size_t i = 0; i < n_supported; i++) {
        if (json_text_eq(value, supported[i]))
            return 0;
    }
    return reject_value(at, value, supported, n_supported, reterr);
}
