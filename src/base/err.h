/* err.h -- what went wrong, in the words the client will read.
 *
 * A function that can fail fills a struct err on failure only. Its HTTP face
 * and its face inside a stream come from one table, err.def. */
#ifndef ANTIPHON_BASE_ERR_H
#define ANTIPHON_BASE_ERR_H

#include <stdarg.h>
#include <stdint.h>

#include "base/str.h"

enum err_code {
    ERR_NONE,
#define ERR(symbol, status, type, code, stream_code) ERR_##symbol,
#include "base/err.def"
#undef ERR
    ERR_COUNT,
};

/* CONTRACT 7.3: messages of an upstream are cut to this many bytes. */
enum { ERR_MSG_BYTES = 2048 };

/* Of ERR_CONTEXT_LENGTH, as far as the upstream has told it; 0: unknown. */
struct err_tokens {
    int64_t limit;  /* prompt and answer may have so many together */
    int64_t prompt; /* that of the request had so many */
    int64_t answer; /* so many were asked for, and count as well */
};

struct err {
    enum err_code code;
    int retry_after_s; /* 0: unknown; goes out as Retry-After */
    struct err_tokens tokens;
    char own_code[64]; /* "" or a code to send instead of the table's: an upstream's own */
    char param[96];    /* "" stands for null */
    char msg[ERR_MSG_BYTES + 1];
};

/* Fills *e. Long texts are cut at a character boundary; retry_after_s, tokens
 * and own_code are cleared. e may be NULL. */
void err_set(struct err *e, enum err_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with param set. */
void err_set_param(struct err *e, enum err_code code, const char *param, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Memory ran out, that of the budget (503) or that of the machine (500): the same words
 * everywhere. Returns -1, for callers that return it. */
int err_set_no_memory(struct err *e);

/* What is left of the budget is for what has begun (503). */
void err_set_short_of_memory(struct err *e);

int err_http_status(const struct err *e);
const char *err_type(const struct err *e);        /* "invalid_request_error" ... */
const char *err_wire_code(const struct err *e);   /* own_code or the table's */
const char *err_stream_code(const struct err *e); /* for `error` and `response.failed` */

#endif
