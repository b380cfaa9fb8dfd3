/* test_rate_limit.c -- what buckets hold as time goes by, and how times are written. */
#include "lib/test.h"

#include "access/rate_limit.h"
#include "base/buf.h"

enum { MINUTE_MS = 60000 };

static struct rate_bucket full_bucket(uint64_t limit, uint64_t now_ms)
{
    struct rate_bucket b = {.limit = 0};

    rate_bucket_refill(&b, limit, now_ms);
    return b;
}

static void a_bucket_begins_full_and_is_one_minute_deep(void **state)
{
    struct rate_bucket b = full_bucket(60, 1000);

    (void)state;
    assert_int_equal(rate_bucket_left(&b), 60);
    assert_int_equal(rate_bucket_full_ms(&b), 0);
    rate_bucket_refill(&b, 60, 1000 + 10 * MINUTE_MS);
    assert_int_equal(rate_bucket_left(&b), 60);
}

static void it_refills_all_the_time(void **state)
{
    struct rate_bucket b = full_bucket(60, 0);

    (void)state;
    rate_bucket_take(&b, 60);
    assert_int_equal(rate_bucket_left(&b), 0);
    assert_int_equal(rate_bucket_wait_ms(&b, 1), 1000);
    assert_int_equal(rate_bucket_full_ms(&b), MINUTE_MS);
    rate_bucket_refill(&b, 60, 999);
    assert_int_equal(rate_bucket_left(&b), 0);
    assert_int_equal(rate_bucket_wait_ms(&b, 1), 1);
    rate_bucket_refill(&b, 60, 1000);
    assert_int_equal(rate_bucket_left(&b), 1);
    assert_int_equal(rate_bucket_wait_ms(&b, 1), 0);
    assert_int_equal(rate_bucket_wait_ms(&b, 2), 1000);
}

/* 7 a minute is no whole number in any millisecond. */
static void nothing_is_lost_by_looking_often(void **state)
{
    struct rate_bucket b = full_bucket(7, 0);

    (void)state;
    rate_bucket_take(&b, 7);
    for (uint64_t ms = 1; ms < MINUTE_MS; ms++)
        rate_bucket_refill(&b, 7, ms);
    assert_int_equal(rate_bucket_left(&b), 6);
    assert_int_equal(rate_bucket_full_ms(&b), 1);
    rate_bucket_refill(&b, 7, MINUTE_MS);
    assert_int_equal(rate_bucket_left(&b), 7);
}

static void more_may_be_used_than_there_is_and_delays_the_next(void **state)
{
    struct rate_bucket b = full_bucket(600, 0);

    (void)state;
    rate_bucket_take(&b, 900);
    assert_int_equal(rate_bucket_left(&b), 0);
    assert_int_equal(rate_bucket_wait_ms(&b, 1), 30100);
    assert_int_equal(rate_bucket_full_ms(&b), 90000);
    rate_bucket_take(&b, -400);
    assert_int_equal(rate_bucket_left(&b), 100);
    rate_bucket_take(&b, -1000);
    assert_int_equal(rate_bucket_left(&b), 600);
}

static void what_no_minute_brings_waits_until_it_is_full(void **state)
{
    struct rate_bucket b = full_bucket(100, 0);

    (void)state;
    assert_int_equal(rate_bucket_wait_ms(&b, 5000), 0);
    rate_bucket_take(&b, 1);
    assert_int_equal(rate_bucket_wait_ms(&b, 5000), 600);
}

static void a_clock_that_is_behind_takes_nothing_away(void **state)
{
    struct rate_bucket b = full_bucket(60, 5000);

    (void)state;
    rate_bucket_take(&b, 10);
    rate_bucket_refill(&b, 60, 3000);
    assert_int_equal(rate_bucket_left(&b), 50);
    rate_bucket_refill(&b, 60, 6000);
    assert_int_equal(rate_bucket_left(&b), 51);
}

static void another_limit_holds_from_the_next_look_on(void **state)
{
    struct rate_bucket b = full_bucket(60, 0);

    (void)state;
    rate_bucket_take(&b, 50);
    rate_bucket_refill(&b, 5, 0);
    assert_int_equal(rate_bucket_left(&b), 5);
    rate_bucket_refill(&b, 120, 0);
    assert_int_equal(rate_bucket_left(&b), 5);
    rate_bucket_refill(&b, 120, 1000);
    assert_int_equal(rate_bucket_left(&b), 7);
    rate_bucket_refill(&b, 0, 1000);
    assert_int_equal(rate_bucket_wait_ms(&b, 1), 0);
    rate_bucket_refill(&b, 60, 1000);
    assert_int_equal(rate_bucket_left(&b), 60);
}

static void the_largest_numbers_do_not_overflow(void **state)
{
    struct rate_bucket b = full_bucket(RATE_MOST, 0);

    (void)state;
    for (int i = 0; i < 2000; i++)
        rate_bucket_take(&b, INT64_MAX);
    assert_int_equal(rate_bucket_left(&b), 0);
    assert_int_equal(rate_bucket_full_ms(&b), 1001ULL * MINUTE_MS);
    rate_bucket_refill(&b, RATE_MOST, UINT64_MAX / 2);
    assert_int_equal(rate_bucket_left(&b), RATE_MOST);
    rate_bucket_take(&b, INT64_MIN);
    assert_int_equal(rate_bucket_left(&b), RATE_MOST);
    b = full_bucket(1, 0);
    for (int i = 0; i < 2000; i++)
        rate_bucket_take(&b, RATE_MOST);
    assert_int_equal(rate_retry_after_s(rate_bucket_wait_ms(&b, 1)), INT32_MAX);
}

/* What a client gets in ten minutes that asks as often as it can, and when it is refused comes back after
 * the whole seconds it was told, in percent of the limit; the minute that the bucket holds comes first. */
static uint64_t percent_of_the_limit(uint64_t limit)
{
    const uint64_t end_ms = 11 * MINUTE_MS;
    struct rate_bucket b = full_bucket(limit, 0);
    uint64_t n = 0, now_ms = 0;

    while (now_ms < end_ms) {
        uint64_t wait_ms;

        rate_bucket_refill(&b, limit, now_ms);
        wait_ms = rate_bucket_wait_ms(&b, 1);
        if (wait_ms == 0) {
            rate_bucket_take(&b, 1);
            n++;
        } else {
            now_ms += 1000 * (uint64_t)rate_retry_after_s(wait_ms);
        }
    }
    return 100 * n / (11 * limit);
}

static void who_obeys_retry_after_reaches_the_limit(void **state)
{
    static const uint64_t limits[] = {1, 7, 50, 60, 61, 1000, 99991};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++)
        assert_in_range(percent_of_the_limit(limits[i]), 98, 110);
}

/* Who spaces its requests evenly is hardly ever refused. */
static void who_keeps_to_the_rate_sees_no_more_than_two_refusals_a_minute(void **state)
{
    static const uint64_t limits[] = {1, 7, 60, 61, 1000};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct rate_bucket b = full_bucket(limits[i], 0);
        unsigned n_refused = 0;

        for (uint64_t n = 0; n < 10 * limits[i]; n++) {
            rate_bucket_refill(&b, limits[i], n * MINUTE_MS / limits[i]);
            if (rate_bucket_wait_ms(&b, 1) > 0)
                n_refused++;
            else
                rate_bucket_take(&b, 1);
        }
        assert_in_range(n_refused, 0, 20);
    }
}

static void times_are_written_as_durations(void **state)
{
    static const struct {
        uint64_t ms;
        const char *time, *wait;
    } cases[] = {
        {0, "0ms", "0ms"},
        {12, "12ms", "12ms"},
        {999, "999ms", "999ms"},
        {1000, "1s", "1s"},
        {1101, "1.2s", "1.2s"},
        {1200, "1.2s", "1.2s"},
        {59900, "59.9s", "59.9s"},
        {59901, "1m0s", "60s"},
        {60000, "1m0s", "60s"},
        {90500, "1m30.5s", "90.5s"},
        {360000, "6m0s", "360s"},
        {3600000, "1h0m0s", "3600s"},
        {7384000, "2h3m4s", "7384s"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf time = {.limit = 0}, wait = {.limit = 0};

        rate_time_write(cases[i].ms, &time);
        rate_wait_write(cases[i].ms, &wait);
        assert_str_c(buf_str(&time), cases[i].time);
        assert_str_c(buf_str(&wait), cases[i].wait);
        buf_fini(&time);
        buf_fini(&wait);
    }
}

static void retry_after_is_rounded_up_and_at_least_a_second(void **state)
{
    (void)state;
    assert_int_equal(rate_retry_after_s(0), 1);
    assert_int_equal(rate_retry_after_s(1), 1);
    assert_int_equal(rate_retry_after_s(1000), 1);
    assert_int_equal(rate_retry_after_s(1001), 2);
    assert_int_equal(rate_retry_after_s(60000), 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bucket_begins_full_and_is_one_minute_deep),
        cmocka_unit_test(it_refills_all_the_time),
        cmocka_unit_test(nothing_is_lost_by_looking_often),
        cmocka_unit_test(more_may_be_used_than_there_is_and_delays_the_next),
        cmocka_unit_test(what_no_minute_brings_waits_until_it_is_full),
        cmocka_unit_test(a_clock_that_is_behind_takes_nothing_away),
        cmocka_unit_test(another_limit_holds_from_the_next_look_on),
        cmocka_unit_test(the_largest_numbers_do_not_overflow),
        cmocka_unit_test(who_obeys_retry_after_reaches_the_limit),
        cmocka_unit_test(who_keeps_to_the_rate_sees_no_more_than_two_refusals_a_minute),
        cmocka_unit_test(times_are_written_as_durations),
        cmocka_unit_test(retry_after_is_rounded_up_and_at_least_a_second),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
