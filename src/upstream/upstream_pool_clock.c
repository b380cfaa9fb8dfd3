/* upstream_pool_clock.c -- the time of the pool; a file of its own, so that a test may have another. */
#include "upstream/upstream_pool_internal.h"

uint64_t upstream_pool_now_ms(void)
{
    return uv_hrtime() / 1000000;
}
