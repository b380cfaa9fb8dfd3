/* rate_limit.c -- buckets in whole numbers. */
#include "access/rate_limit.h"

#include "base/buf.h"

enum { MINUTE_MS = 60000, PARTS = MINUTE_MS, MS_PER_S = 1000 };

/* Nobody owes more than so much, which is far more than any request uses. */
static const int64_t most_owed = (int64_t)1000 * RATE_MOST * PARTS;

static int64_t parts_of(uint64_t n)
{
    return (int64_t)n * PARTS;
}

/* ---- buckets */

/* The time until so many parts are there. */
static uint64_t ms_until(const struct rate_bucket *b, int64_t parts)
{
    const uint64_t missing = parts > b->parts ? (uint64_t)(parts - b->parts) : 0;

    return b->limit == 0 ? 0 : (missing + b->limit - 1) / b->limit;
}

/* A clock that is behind the one before takes nothing away. */
static void pass_time(struct rate_bucket *b, uint64_t now_ms)
{
    const uint64_t passed_ms = now_ms > b->now_ms ? now_ms - b->now_ms : 0;

    if (passed_ms >= rate_bucket_full_ms(b))
        b->parts = parts_of(b->limit);
    else
        b->parts += (int64_t)(passed_ms * b->limit);
    b->now_ms += passed_ms;
}

void rate_bucket_refill(struct rate_bucket *b, uint64_t limit, uint64_t now_ms)
{
    if (b->limit == 0)
        *b = (struct rate_bucket){.limit = limit, .parts = parts_of(limit), .now_ms = now_ms};
    else
        pass_time(b, now_ms);
    b->limit = limit;
    if (b->parts > parts_of(limit))
        b->parts = parts_of(limit);
}

uint64_t rate_bucket_wait_ms(const struct rate_bucket *b, uint64_t n)
{
    return ms_until(b, parts_of(n < b->limit ? n : b->limit));
}

void rate_bucket_take(struct rate_bucket *b, int64_t n)
{
    const int64_t most = n < -RATE_MOST ? -RATE_MOST : n > RATE_MOST ? RATE_MOST : n;

    b->parts -= most * PARTS;
    if (b->parts > parts_of(b->limit))
        b->parts = parts_of(b->limit);
    if (b->parts < -most_owed)
        b->parts = -most_owed;
}

uint64_t rate_bucket_left(const struct rate_bucket *b)
{
    return b->parts < 0 ? 0 : (uint64_t)b->parts / PARTS;
}

uint64_t rate_bucket_full_ms(const struct rate_bucket *b)
{
    return ms_until(b, parts_of(b->limit));
}

/* ---- times */

/* Seconds with one digit behind the point, unless that is 0. */
static void write_seconds(uint64_t tenths, struct buf *out)
{
    buf_uint(out, tenths / 10);
    if (tenths % 10 != 0) {
        buf_char(out, '.');
        buf_uint(out, tenths % 10);
    }
    buf_char(out, 's');
}

static uint64_t tenths_of(uint64_t ms)
{
    return (ms + 99) / 100;
}

void rate_time_write(uint64_t ms, struct buf *out)
{
    enum { TENTHS_PER_MINUTE = 600 };
    const uint64_t tenths = tenths_of(ms), minutes = tenths / TENTHS_PER_MINUTE;

    if (minutes == 0) {
        rate_wait_write(ms, out);
        return;
    }
    if (minutes >= 60) {
        buf_uint(out, minutes / 60);
        buf_char(out, 'h');
    }
    buf_uint(out, minutes % 60);
    buf_char(out, 'm');
    write_seconds(tenths % TENTHS_PER_MINUTE, out);
}

void rate_wait_write(uint64_t ms, struct buf *out)
{
    if (ms >= MS_PER_S) {
        write_seconds(tenths_of(ms), out);
        return;
    }
    buf_uint(out, ms);
    buf_c(out, "ms");
}

int rate_retry_after_s(uint64_t ms)
{
    const uint64_t s = (ms + MS_PER_S - 1) / MS_PER_S;

    return s == 0 ? 1 : s > INT32_MAX ? INT32_MAX : (int)s;
}
