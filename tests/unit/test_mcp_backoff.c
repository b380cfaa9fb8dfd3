/* test_mcp_backoff.c -- delays of restarts, by a clock made of numbers. */
#include "lib/test.h"
#include "mcp/session/mcp_backoff.h"

/* The jitter that leaves a delay as it is. */
static uint32_t no_jitter(uint64_t ms)
{
    return (uint32_t)(ms / 5);
}

static void ten_crashes_wait_longer_each_time_up_to_a_minute(void **state)
{
    static const uint64_t seconds[] = {1, 2, 4, 8, 16, 32, 60, 60, 60, 60};
    struct mcp_backoff b = {.failures = 0};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(seconds); i++) {
        uint64_t ms = seconds[i] * 1000;

        mcp_backoff_ready(&b, 5);
        assert_int_equal(mcp_backoff_next_ms(&b, 10, no_jitter(ms)), ms);
    }
}

static void chance_moves_a_delay_by_a_fifth_at_most(void **state)
{
    uint64_t least = UINT64_MAX, most = 0;

    (void)state;
    for (uint32_t jitter = 0; jitter < 100000; jitter++) {
        struct mcp_backoff b = {.failures = 2};
        uint64_t ms = mcp_backoff_next_ms(&b, 10, jitter * 40503);

        least = ms < least ? ms : least;
        most = ms > most ? ms : most;
    }
    assert_int_equal(least, 3200);
    assert_int_equal(most, 4800);
}

static void a_minute_of_health_forgets_failures_and_less_does_not(void **state)
{
    struct mcp_backoff b = {.failures = 5};

    (void)state;
    mcp_backoff_ready(&b, 1000);
    assert_int_equal(mcp_backoff_next_ms(&b, 1000 + MCP_BACKOFF_HEALTHY_MS - 1, no_jitter(32000)),
                     32000);
    mcp_backoff_ready(&b, 1000);
    assert_int_equal(mcp_backoff_next_ms(&b, 1000 + MCP_BACKOFF_HEALTHY_MS, no_jitter(1000)), 1000);
}

static void a_server_that_never_got_ready_was_not_healthy(void **state)
{
    struct mcp_backoff b = {.failures = 0};

    (void)state;
    mcp_backoff_ready(&b, 0);
    (void)mcp_backoff_next_ms(&b, 10, 0);
    assert_int_equal(mcp_backoff_next_ms(&b, 1000000, no_jitter(2000)), 2000);
}

static void a_server_that_was_ready_may_be_hurried_every_few_seconds(void **state)
{
    struct mcp_backoff b = {.failures = 0};

    (void)state;
    assert_int_equal(mcp_backoff_hurry_ms(&b), UINT64_MAX); /* it has not ended */
    mcp_backoff_ready(&b, 1000);
    (void)mcp_backoff_next_ms(&b, 2000, 0);
    assert_int_equal(mcp_backoff_hurry_ms(&b), 0);
    mcp_backoff_hurry(&b, 2500);
    assert_int_equal(mcp_backoff_hurry_ms(&b), UINT64_MAX); /* it is under way */
    mcp_backoff_ready(&b, 2600);
    (void)mcp_backoff_next_ms(&b, 2700, 0);
    assert_int_equal(mcp_backoff_hurry_ms(&b), 2500 + MCP_BACKOFF_HURRY_MS);
    mcp_backoff_hurry(&b, 9000);
    (void)mcp_backoff_next_ms(&b, 9100, 0); /* it did not become ready: its backoff counts */
    assert_int_equal(mcp_backoff_hurry_ms(&b), UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_crashes_wait_longer_each_time_up_to_a_minute),
        cmocka_unit_test(chance_moves_a_delay_by_a_fifth_at_most),
        cmocka_unit_test(a_minute_of_health_forgets_failures_and_less_does_not),
        cmocka_unit_test(a_server_that_was_ready_may_be_hurried_every_few_seconds),
        cmocka_unit_test(a_server_that_never_got_ready_was_not_healthy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
