/* rate_limit.h -- how much of a rate is left: buckets that are one minute deep and refill all the time
 * (OPERATIONS 5.3).
 *
 * A bucket is counted in parts, of which one request or token has 60000: so each millisecond brings as many
 * parts as the limit is high, and nothing is lost by rounding, however often somebody looks.
 *
 * Pure: the time is handed in, and may be that of several clocks that are a little apart. */
#ifndef ANTIPHON_ACCESS_RATE_LIMIT_H
#define ANTIPHON_ACCESS_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct buf;

/* The highest limit, of any kind, and the most that counts of what is taken at once. */
enum { RATE_MOST = 1000000000 };

/* A zeroed one has no limit yet. */
struct rate_bucket {
    uint64_t limit;  /* in a minute; 0: none, and nothing of what follows counts */
    int64_t parts;   /* that are left; below 0 when more was used than was left */
    uint64_t now_ms; /* as of when */
};

/* Brings it up to date, under this limit from now on. One that had none is full. */
void rate_bucket_refill(struct rate_bucket *b, uint64_t limit, uint64_t now_ms);

/* How long until n are there, or the bucket is full, when it never holds as many; 0: they are. */
uint64_t rate_bucket_wait_ms(const struct rate_bucket *b, uint64_t n);

/* Takes n, whatever is left; below 0 it gives them back. */
void rate_bucket_take(struct rate_bucket *b, int64_t n);

/* What is left, whole and never below 0, and how long until it is full. */
uint64_t rate_bucket_left(const struct rate_bucket *b);
uint64_t rate_bucket_full_ms(const struct rate_bucket *b);

/* Appends a time for headers, rounded up: "12ms", "1.2s", "6m0s", "1h0m0s". */
void rate_time_write(uint64_t ms, struct buf *out);

/* The same in milliseconds or seconds alone, which is what clients look for in a message: "360s". */
void rate_wait_write(uint64_t ms, struct buf *out);

/* For Retry-After: whole seconds, rounded up, at least 1. */
int rate_retry_after_s(uint64_t ms);

#endif
