/* test_budget.c -- one number for all threads. */
#include "lib/test.h"

#include <uv.h>

#include "base/budget.h"
#include "base/err.h"

enum { KIB = 1024, MIB = 1024 * 1024, STEP = 64 * 1024, REST = 2 * STEP };

static int end_limit(void **state)
{
    (void)state;
    budget_set_limit(0);
    (void)budget_use_for(BUDGET_UNDER_WAY);
    (void)budget_was_refused();
    return 0;
}

static void without_a_limit_it_only_counts(void **state)
{
    size_t before = budget_used();

    (void)state;
    assert_int_equal(budget_limit(), 0);
    assert_true(budget_take(SIZE_MAX / 4));
    assert_true(budget_used() >= before + SIZE_MAX / 4);
    assert_false(budget_is_short());
    budget_give(SIZE_MAX / 4);
    assert_true(budget_used() <= before + REST);
}

static void no_more_is_taken_than_there_is(void **state)
{
    size_t n = 0, n_refusals = budget_refusals();

    (void)state;
    budget_set_limit(budget_used() + MIB);
    while (budget_take(KIB))
        n += KIB;
    assert_true(budget_used() <= budget_limit());
    assert_true(n >= MIB && n <= MIB + REST); /* all of it, and the rest of an earlier step */
    assert_int_equal(budget_refusals(), n_refusals + 1);
    assert_true(budget_was_refused());
    assert_false(budget_was_refused());
    budget_give(n);
    assert_true(budget_take(MIB / 2));
    budget_give(MIB / 2);
}

static void a_huge_piece_is_refused_and_takes_nothing(void **state)
{
    size_t before = budget_used();

    (void)state;
    budget_set_limit(before + MIB);
    assert_false(budget_take(SIZE_MAX));
    assert_false(budget_take(SIZE_MAX - STEP));
    assert_false(budget_take(2 * MIB));
    assert_int_equal(budget_used(), before);
}

static size_t take_all(enum budget_use use)
{
    size_t n = 0;

    (void)budget_use_for(use);
    while (budget_take(KIB))
        n += KIB;
    return n;
}

static void the_last_tenth_is_for_what_has_begun(void **state)
{
    size_t n;

    (void)state;
    budget_set_limit(budget_used() + 20 * MIB);
    assert_false(budget_is_short());
    assert_true(budget_has_room(17 * MIB));
    assert_false(budget_has_room(19 * MIB));
    assert_false(budget_has_room(SIZE_MAX));
    n = take_all(BUDGET_NEW_WORK);
    assert_true(n >= 18 * MIB - REST && n <= 18 * MIB + REST);
    assert_true(budget_is_short());
    n += take_all(BUDGET_CONNECTION);
    assert_true(n >= 19 * MIB - REST && n <= 19 * MIB + REST);
    n += take_all(BUDGET_UNDER_WAY);
    assert_true(n >= 20 * MIB - REST && n <= 20 * MIB + REST);
    assert_int_equal(budget_use_for(BUDGET_NEW_WORK), BUDGET_UNDER_WAY);
    assert_int_equal(budget_use_for(BUDGET_UNDER_WAY), BUDGET_NEW_WORK);
    budget_give(n);
    assert_false(budget_is_short());
}

static void the_peak_is_that_since_it_was_asked_for(void **state)
{
    (void)state;
    (void)budget_peak();
    assert_true(budget_take(8 * MIB));
    budget_give(8 * MIB);
    assert_true(budget_peak() >= 8 * MIB);
    assert_true(budget_peak() <= budget_used());
}

/* A limit that has become smaller than what is in use refuses, and ends when that is given back. */
static void a_smaller_limit_takes_nothing_away(void **state)
{
    (void)state;
    assert_true(budget_take(4 * MIB));
    budget_set_limit(MIB);
    assert_false(budget_take(MIB));
    assert_true(budget_is_short());
    budget_give(4 * MIB);
    assert_false(budget_is_short());
}

static void the_error_names_the_budget(void **state)
{
    struct err e;

    (void)state;
    budget_set_limit(1);
    assert_false(budget_take(MIB));
    err_set_no_memory(&e);
    assert_int_equal(err_http_status(&e), 503);
    assert_string_equal(err_wire_code(&e), "server_is_overloaded");
    assert_non_null(strstr(e.msg, "max_memory"));
    err_set_no_memory(&e);
    assert_int_equal(err_http_status(&e), 500);
}

/* ---- threads */

static void take_and_give(void *arg)
{
    size_t *n_refused = arg;

    for (size_t i = 0; i < 20000; i++) {
        size_t n = 1 + i * 7919 % (200 * KIB);

        if (!budget_take(n)) {
            ++*n_refused;
            continue;
        }
        assert_true(budget_used() <= budget_limit());
        budget_give(n);
    }
}

static void threads_share_it_and_leave_no_more_than_their_rest(void **state)
{
    enum { N = 4 };
    size_t before = budget_used(), n_refused[N] = {0};
    uv_thread_t threads[N];

    (void)state;
    budget_set_limit(before + 512 * KIB);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(uv_thread_create(&threads[i], take_and_give, &n_refused[i]), 0);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(uv_thread_join(&threads[i]), 0);
    assert_true(budget_used() <= before + (size_t)N * REST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(without_a_limit_it_only_counts, end_limit),
        cmocka_unit_test_teardown(no_more_is_taken_than_there_is, end_limit),
        cmocka_unit_test_teardown(a_huge_piece_is_refused_and_takes_nothing, end_limit),
        cmocka_unit_test_teardown(the_last_tenth_is_for_what_has_begun, end_limit),
        cmocka_unit_test_teardown(the_peak_is_that_since_it_was_asked_for, end_limit),
        cmocka_unit_test_teardown(a_smaller_limit_takes_nothing_away, end_limit),
        cmocka_unit_test_teardown(the_error_names_the_budget, end_limit),
        cmocka_unit_test_teardown(threads_share_it_and_leave_no_more_than_their_rest, end_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
