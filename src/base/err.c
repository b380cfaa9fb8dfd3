/* err.c -- the error table and its accessors. */
#include "base/err.h"

#include <stdio.h>

#include "base/budget.h"
#include "base/utf8.h"

static const struct {
    int status;
    const char *type, *code, *stream_code;
} faces[ERR_COUNT] = {
    [ERR_NONE] = {500, "server_error", "server_error", "server_error"},
#define ERR(symbol, status, type, code, stream_code)                                               \
    [ERR_##symbol] = {status, type, code, stream_code},
#include "base/err.def"
#undef ERR
};

__attribute__((format(printf, 3, 0))) static void fill_err(struct err *e, enum err_code code,
                                                           const char *format, va_list args)
{
    int n;

    e->code = code;
    e->retry_after_s = e->told_status = 0;
    e->tokens = (struct err_tokens){.limit = 0};
    e->own_code[0] = e->param[0] = '\0';
    n = vsnprintf(e->msg, sizeof(e->msg), format, args);
    if (n >= (int)sizeof(e->msg))
        e->msg[utf8_cut(str_from_c(e->msg), sizeof(e->msg) - 1)] = '\0';
}

void err_set(struct err *e, enum err_code code, const char *format, ...)
{
    va_list args;

    if (e == NULL)
        return;
    va_start(args, format);
    fill_err(e, code, format, args);
    va_end(args);
}

void err_set_param(struct err *e, enum err_code code, const char *param, const char *format, ...)
{
    va_list args;

    if (e == NULL)
        return;
    va_start(args, format);
    fill_err(e, code, format, args);
    va_end(args);
    (void)snprintf(e->param, sizeof(e->param), "%s", param);
    e->param[utf8_cut(str_from_c(e->param), sizeof(e->param) - 1)] = '\0';
}

void err_set_short_of_memory(struct err *e)
{
    err_set(e, ERR_OVERLOADED,
            "The gateway has no memory left for this now (max_memory). Please try again.");
}

int err_set_no_memory(struct err *e)
{
    if (budget_was_refused())
        err_set_short_of_memory(e);
    else
        err_set(e, ERR_INTERNAL, "The gateway ran out of memory.");
    return -1;
}

int err_http_status(const struct err *e)
{
    return faces[e->code].status;
}

const char *err_type(const struct err *e)
{
    return faces[e->code].type;
}

const char *err_wire_code(const struct err *e)
{
    return e->own_code[0] != '\0' ? e->own_code : faces[e->code].code;
}

const char *err_stream_code(const struct err *e)
{
    return faces[e->code].stream_code;
}
