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

/* An upstream has told an error, and neither its status nor a code that stands for one. */
enum { ERR_TOLD_WITHOUT_STATUS = -1 };

/* Token counts of ERR_CONTEXT_LENGTH, as far as the upstream has told them; 0: unknown. */
struct err_tokens {
    int64_t limit;  /* the most that prompt and answer may have together */
    int64_t prompt; /* tokens of the request's prompt */
    int64_t answer; /* tokens asked for as answer; they count as well */
};

struct err {
    enum err_code code;
    int retry_after_s; /* 0: unknown; goes out as Retry-After */
    int told_status;   /* of an error that an upstream tells: its HTTP status, or the one that its
                        * code stands for, or ERR_TOLD_WITHOUT_STATUS; 0: nobody has told it */
    struct err_tokens tokens;
    char own_code[64]; /* "" or a code to send instead of the table's: an upstream's own */
    char param[96];    /* "" stands for null */
    char msg[ERR_MSG_BYTES + 1];
};

/* Fills *e. Long texts are cut at a character boundary; retry_after_s, told_status,
 * tokens and own_code are cleared. e may be NULL. */
void err_set(struct err *e, enum err_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* err_set() with param set. */
void err_set_param(struct err *e, enum err_code code, const char *param, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Fills *e when memory ran out, that of the budget (503) or that of the machine (500): the same
 * words everywhere. Returns -1, for callers that return it. */
int err_set_no_memory(struct err *e);

/* Fills *e when what is left of the budget is for work that has begun (503). */
void err_set_short_of_memory(struct err *e);

int err_http_status(const struct err *e);
const char *err_type(const struct err *e);        /* "invalid_request_error" ... */
const char *err_wire_code(const struct err *e);   /* own_code or the table's */
const char *err_stream_code(const struct err *e); /* for `error` and `response.failed` */

#endif
