/* test_log_rate.c -- lines that a peer may cause in the log, by a clock made of numbers. */
#include "ev/log_rate.h"
#include "lib/test.h"

static unsigned taken(struct log_rate *r, uint64_t now_ms, unsigned n)
{
    unsigned n_taken = 0;
    uint64_t n_refused;

    while (n-- > 0)
        n_taken += log_rate_take(r, now_ms, &n_refused);
    return n_taken;
}

static void a_burst_passes_and_then_a_few_lines_a_second(void **state)
{
    struct log_rate r = {.spent_ms = 0};

    (void)state;
    assert_int_equal(taken(&r, 0, 1000), LOG_RATE_BURST);
    assert_int_equal(taken(&r, 1000, 1000), LOG_RATE_PER_S);
    assert_int_equal(taken(&r, 1000000, 1000), LOG_RATE_BURST);
}

static void the_next_line_tells_how_many_were_left_out(void **state)
{
    struct log_rate r = {.spent_ms = 0};
    uint64_t n_refused = 0;

    (void)state;
    (void)taken(&r, 0, LOG_RATE_BURST + 7);
    assert_true(log_rate_take(&r, 1000, &n_refused));
    assert_int_equal(n_refused, 7);
    assert_true(log_rate_take(&r, 1000, &n_refused));
    assert_int_equal(n_refused, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_passes_and_then_a_few_lines_a_second),
        cmocka_unit_test(the_next_line_tells_how_many_were_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
