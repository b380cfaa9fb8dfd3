/* buf.c -- grows by doubling, later by a quarter, fails for good. */
#include "base/buf.h"

#include <stdlib.h>

#include "base/budget.h"

enum {
    SMALLEST = 256,
    LARGE = 1024 * 1024, /* from here on the C library moves pages, and copies no bytes */
};

void buf_init(struct buf *b, size_t limit_bytes)
{
    *b = (struct buf){.limit = limit_bytes};
}

void buf_fini(struct buf *b)
{
    size_t limit = b->limit;

    free(b->p);
    budget_give(b->cap);
    *b = (struct buf){.limit = limit};
}

void buf_reset(struct buf *b)
{
    b->len = 0;
    b->failed = b->is_full = false;
}

/* Room for n more bytes, regardless of the limit, which counts content only. */
static bool grow_buf(struct buf *b, size_t n)
{
    size_t cap = b->cap < SMALLEST ? SMALLEST : b->cap;
    char *p;

    while (cap - b->len < n) {
        if (cap > SIZE_MAX / 2)
            return false;
        cap = cap < LARGE ? 2 * cap : cap + cap / 4;
    }
    if (!budget_take(cap - b->cap))
        return false;
    p = realloc(b->p, cap);
    if (p == NULL) {
        budget_give(cap - b->cap);
        return false;
    }
    b->p = p;
    b->cap = cap;
    return true;
}

char *buf_reserve(struct buf *b, size_t n)
{
    if (b->failed)
        return NULL;
    if (b->limit != 0 && (b->len > b->limit || n > b->limit - b->len)) {
        b->failed = b->is_full = true;
        return NULL;
    }
    if ((b->p == NULL || b->cap - b->len < n) && !grow_buf(b, n)) {
        b->failed = true;
        return NULL;
    }
    return b->p + b->len;
}

void buf_c(struct buf *b, const char *s)
{
    buf_append(b, str_from_c(s));
}

void buf_uint(struct buf *b, uint64_t n)
{
    char digits[20];
    char *end = digits + sizeof(digits), *p = end;

    do {
        *--p = (char)('0' + n % 10);
        n /= 10;
    } while (n != 0);
    buf_append(b, str_from(p, (size_t)(end - p)));
}

void buf_hex(struct buf *b, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        buf_char(b, digits[bytes[i] >> 4]);
        buf_char(b, digits[bytes[i] & 15]);
    }
}

void buf_int(struct buf *b, int64_t n)
{
    if (n < 0) {
        buf_char(b, '-');
        buf_uint(b, (uint64_t)0 - (uint64_t)n);
        return;
    }
    buf_uint(b, (uint64_t)n);
}

void buf_consume(struct buf *b, size_t n)
{
    if (n >= b->len) {
        b->len = 0;
        return;
    }
    memmove(b->p, b->p + n, b->len - n);
    b->len -= n;
}

const char *buf_cstr(struct buf *b)
{
    if (b->failed)
        return "";
    if ((b->p == NULL || b->cap == b->len) && !grow_buf(b, 1)) {
        b->failed = true;
        return "";
    }
    b->p[b->len] = '\0';
    return b->p;
}
