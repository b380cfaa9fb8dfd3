/* clock_random.c -- the two things the pure core must be handed: time and chance. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "ev/loop.h"

int64_t clock_unix_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec;
}

/* One system call serves a few dozen ids. Up to 256 bytes getrandom() neither
 * blocks half way nor returns short, once the system's pool is ready; before that, early after the
 * machine has started, a signal may end its wait. */
enum { POOL_BYTES = 256 };

static _Thread_local struct {
    unsigned char bytes[POOL_BYTES];
    size_t left; /* unused bytes at the end */
} pool;

static void pool_refill(void)
{
    ssize_t n;

    do
        n = getrandom(pool.bytes, POOL_BYTES, 0);
    while (n == -1 && errno == EINTR);
    if (n != POOL_BYTES) {
        /* Guessable ids would hand out other people's conversations. */
        (void)fputs("antiphon: the system has no random numbers\n", stderr);
        abort();
    }
    pool.left = POOL_BYTES;
}

void random_fill(void *arg, void *p, size_t n)
{
    unsigned char *to = p;

    (void)arg;
    while (n > 0) {
        size_t part;

        if (pool.left == 0)
            pool_refill();
        part = n < pool.left ? n : pool.left;
        memcpy(to, pool.bytes + POOL_BYTES - pool.left, part);
        explicit_bzero(pool.bytes + POOL_BYTES - pool.left, part);
        pool.left -= part;
        to += part;
        n -= part;
    }
}
