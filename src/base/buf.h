/* buf.h -- bytes on their way out.
 *
 * Append freely and ask buf_failed() once, before the bytes are used: a buf
 * that ran out of memory or past its limit stays failed and ignores further
 * appends until buf_reset(). A zeroed struct buf is an empty one without a
 * limit. One thread at a time. */
#ifndef ANTIPHON_BASE_BUF_H
#define ANTIPHON_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct buf {
    char *p;
    size_t len, cap;
    size_t limit; /* bytes; 0: none */
    bool failed;
    bool is_full; /* it failed because of the limit */
};

void buf_init(struct buf *b, size_t limit_bytes);

/* Frees the bytes; the buf may be used again, with the same limit. */
void buf_fini(struct buf *b);

/* Empties the buf and clears its failure; keeps the memory. */
void buf_reset(struct buf *b);

/* Makes room for n more bytes and returns where they go, or NULL. The caller
 * writes at most n bytes there and adds what it wrote to b->len. */
char *buf_reserve(struct buf *b, size_t n);

static inline void buf_append(struct buf *b, str s);
static inline void buf_char(struct buf *b, char c);
void buf_c(struct buf *b, const char *s); /* s NUL-terminated */
void buf_uint(struct buf *b, uint64_t n);
void buf_int(struct buf *b, int64_t n);
void buf_hex(struct buf *b, const unsigned char *bytes, size_t n); /* two small digits each */

/* Drops the first n bytes, or all of them. */
void buf_consume(struct buf *b, size_t n);

/* Appends a NUL that does not count, so that b->p is a C string; "" when failed. */
const char *buf_cstr(struct buf *b);

static inline bool buf_failed(const struct buf *b)
{
    return b->failed;
}

/* The content as a view, which dies with the next append. */
static inline str buf_str(const struct buf *b)
{
    return (str){b->p == NULL ? "" : b->p, b->len};
}

static inline void buf_append(struct buf *b, str s)
{
    size_t len = b->len + s.len;
    char *to;

    if (s.len == 0)
        return;
    if (s.len <= b->cap - b->len && (b->limit == 0 || len <= b->limit) && !b->failed)
        to = b->p + b->len; /* the usual case: no more than a copy */
    else
        to = buf_reserve(b, s.len);
    if (to == NULL)
        return;
    memcpy(to, s.p, s.len);
    b->len = len;
}

static inline void buf_char(struct buf *b, char c)
{
    buf_append(b, str_from(&c, 1));
}

#endif
