/* test_rate_table.c -- what users have taken of their limits. */
#include "lib/test.h"

#include <pthread.h>

#include "access/rate_limit.h"
#include "access/rate_table.h"
#include "base/budget.h"
#include "lib/failing_malloc.h"

static struct rate_table *new_table(size_t max_users)
{
    struct err e;
    struct rate_table *t = rate_table_new(max_users, &e);

    assert_non_null(t);
    return t;
}

static void a_request_takes_one_and_its_tokens(void **state)
{
    const struct rate_limits limits = {.rpm = 2, .tpm = 100};
    struct rate_table *t = new_table(8);
    struct rate_answer a = rate_table_take(t, STR("alice"), &limits, 30, 0);

    (void)state;
    assert_int_equal(a.verdict, RATE_TAKEN);
    assert_non_null(a.user);
    assert_int_equal(a.requests.limit, 2);
    assert_int_equal(a.requests.left, 1);
    assert_int_equal(a.requests.full_ms, 30000);
    assert_int_equal(a.tokens.limit, 100);
    assert_int_equal(a.tokens.left, 70);
    assert_int_equal(a.tokens.full_ms, 18000);
    a = rate_table_take(t, STR("bob"), &limits, 1, 0);
    assert_int_equal(a.tokens.left, 99);
    rate_table_free(t);
    rate_table_free(NULL);
}

static void the_first_limit_that_refuses_is_told_and_nothing_is_taken(void **state)
{
    const struct rate_limits limits = {.rpm = 2, .tpm = 100, .concurrency = 1};
    struct rate_table *t = new_table(8);
    struct rate_answer first, a;

    (void)state;
    first = rate_table_take(t, STR("a"), &limits, 10, 0);
    a = rate_table_take(t, STR("a"), &limits, 95, 0);
    assert_int_equal(a.verdict, RATE_OUT_OF_TOKENS);
    assert_null(a.user);
    assert_int_equal(a.wait_ms, 3000);
    assert_int_equal(a.requests.left, 1);
    assert_int_equal(a.tokens.left, 90);
    a = rate_table_take(t, STR("a"), &limits, 10, 0);
    assert_int_equal(a.verdict, RATE_TOO_MANY_AT_ONCE);
    assert_int_equal(a.wait_ms, 1000);
    assert_int_equal(a.tokens.left, 90);
    rate_table_end(t, first.user, 0, 0);
    a = rate_table_take(t, STR("a"), &limits, 10, 0);
    assert_int_equal(a.verdict, RATE_TAKEN);
    a = rate_table_take(t, STR("a"), &limits, 1000, 0);
    assert_int_equal(a.verdict, RATE_OUT_OF_REQUESTS);
    assert_int_equal(a.wait_ms, 30000);
    rate_table_free(t);
}

static void the_end_settles_what_was_really_used(void **state)
{
    const struct rate_limits limits = {.tpm = 100};
    struct rate_table *t = new_table(8);
    struct rate_answer a = rate_table_take(t, STR("a"), &limits, 40, 0);

    (void)state;
    rate_table_end(t, a.user, -30, 0);
    assert_int_equal(rate_table_look(t, STR("a"), &limits, 0).tokens.left, 90);
    a = rate_table_take(t, STR("a"), &limits, 90, 0);
    rate_table_end(t, a.user, 50, 0);
    a = rate_table_take(t, STR("a"), &limits, 1, 0);
    assert_int_equal(a.verdict, RATE_OUT_OF_TOKENS);
    assert_int_equal(a.wait_ms, 30600);
    assert_int_equal(a.tokens.left, 0);
    rate_table_free(t);
}

static void what_was_let_in_before_joins_whatever_runs(void **state)
{
    const struct rate_limits limits = {.concurrency = 1};
    struct rate_table *t = new_table(8);
    struct rate_user *one = rate_table_join(t, STR("a"), &limits, 0);
    struct rate_user *two = rate_table_join(t, STR("a"), &limits, 0);

    (void)state;
    assert_ptr_equal(one, two);
    rate_table_end(t, one, 0, 0);
    assert_int_equal(rate_table_take(t, STR("a"), &limits, 0, 0).verdict, RATE_TOO_MANY_AT_ONCE);
    rate_table_end(t, two, 0, 0);
    assert_int_equal(rate_table_take(t, STR("a"), &limits, 0, 0).verdict, RATE_TAKEN);
    rate_table_free(t);
}

static void without_limits_nothing_is_counted(void **state)
{
    const struct rate_limits none = {.rpm = 0};
    struct rate_table *t = new_table(8);
    struct rate_answer a = rate_table_take(t, STR("a"), &none, 1000, 0);

    (void)state;
    assert_int_equal(a.verdict, RATE_TAKEN);
    assert_null(a.user);
    assert_null(rate_table_join(t, STR("a"), &none, 0));
    assert_int_equal(rate_table_users(t), 0);
    rate_table_free(t);
}

static void a_look_makes_no_place_and_finds_all_of_a_new_user(void **state)
{
    const struct rate_limits limits = {.rpm = 5};
    struct rate_table *t = new_table(8);
    const struct rate_answer a = rate_table_look(t, STR("a"), &limits, 0);

    (void)state;
    assert_int_equal(a.requests.left, 5);
    assert_int_equal(a.tokens.limit, 0);
    assert_int_equal(rate_table_users(t), 0);
    rate_table_free(t);
}

static void a_look_tells_how_many_run(void **state)
{
    const struct rate_limits limits = {.concurrency = 5};
    struct rate_table *t = new_table(8);
    struct rate_answer one = rate_table_take(t, STR("a"), &limits, 0, 0);

    (void)state;
    assert_int_equal(one.n_running, 1);
    assert_int_equal(rate_table_take(t, STR("a"), &limits, 0, 0).n_running, 2);
    assert_int_equal(rate_table_look(t, STR("a"), &limits, 0).n_running, 2);
    rate_table_end(t, one.user, 0, 0);
    assert_int_equal(rate_table_look(t, STR("a"), &limits, 0).n_running, 1);
    assert_int_equal(rate_table_look(t, STR("b"), &limits, 0).n_running, 0);
    rate_table_free(t);
}

static uint64_t left_of(struct rate_table *t, str user, const struct rate_limits *limits)
{
    return rate_table_look(t, user, limits, 0).requests.left;
}

static void who_was_not_seen_for_the_longest_time_is_forgotten_at_rest(void **state)
{
    const struct rate_limits limits = {.rpm = 5};
    struct rate_table *t = new_table(3);
    struct rate_answer runs = rate_table_take(t, STR("runs"), &limits, 0, 0);

    (void)state;
    rate_table_end(t, rate_table_take(t, STR("old"), &limits, 0, 0).user, 0, 0);
    rate_table_end(t, rate_table_take(t, STR("new"), &limits, 0, 0).user, 0, 0);
    rate_table_end(t, rate_table_take(t, STR("next"), &limits, 0, 0).user, 0, 0);
    assert_int_equal(rate_table_users(t), 3);
    assert_int_equal(left_of(t, STR("runs"), &limits), 4);
    assert_int_equal(left_of(t, STR("old"), &limits), 5);
    assert_int_equal(left_of(t, STR("new"), &limits), 4);
    rate_table_end(t, runs.user, 0, 0);
    rate_table_free(t);
}

/* There are no more of them than flights, which others bound. */
static void of_whom_something_runs_is_never_forgotten(void **state)
{
    const struct rate_limits limits = {.rpm = 5};
    struct rate_table *t = new_table(2);
    struct rate_user *users[40];

    (void)state;
    for (int i = 0; i < 40; i++) {
        const char name = (char)('!' + i);

        users[i] = rate_table_take(t, str_from(&name, 1), &limits, 0, 0).user;
        assert_non_null(users[i]);
    }
    assert_int_equal(rate_table_users(t), 40);
    for (int i = 0; i < 40; i++)
        rate_table_end(t, users[i], 0, 0);
    for (int i = 0; i < 4; i++)
        rate_table_end(t, rate_table_take(t, STR("one more"), &limits, 0, 0).user, 0, 0);
    assert_in_range(rate_table_users(t), 1, 25);
    rate_table_free(t);
}

/* ---- threads */

enum { THREADS = 4, EACH = 2000 };

static void *take_many(void *arg)
{
    const struct rate_limits limits = {.rpm = THREADS * EACH, .concurrency = THREADS};

    for (int i = 0; i < EACH; i++) {
        struct rate_answer a = rate_table_take(arg, STR("all"), &limits, 0, 0);

        if (a.user == NULL)
            return arg;
        rate_table_end(arg, a.user, 0, 0);
    }
    return NULL;
}

static void threads_share_what_there_is(void **state)
{
    const struct rate_limits limits = {.rpm = THREADS * EACH};
    struct rate_table *t = new_table(8);
    pthread_t threads[THREADS];
    void *failed;

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_many, t), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(rate_table_take(t, STR("all"), &limits, 0, 0).verdict, RATE_OUT_OF_REQUESTS);
    rate_table_free(t);
}

static void without_memory_nothing_is_taken(void **state)
{
    const struct rate_limits limits = {.rpm = 5};
    struct rate_table *t = new_table(8);
    struct err e;

    (void)state;
    failing_malloc_begin(0, FAILS_FOR_GOOD);
    assert_null(rate_table_new(8, &e));
    assert_true(failing_malloc_end());
    assert_int_equal(e.code, ERR_INTERNAL);
    failing_malloc_begin(0, FAILS_FOR_GOOD);
    assert_int_equal(rate_table_take(t, STR("a"), &limits, 0, 0).verdict, RATE_NO_MEMORY);
    failing_malloc_begin(0, FAILS_FOR_GOOD);
    assert_null(rate_table_join(t, STR("a"), &limits, 0));
    assert_true(failing_malloc_end());
    assert_int_equal(rate_table_users(t), 0);
    rate_table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_takes_one_and_its_tokens),
        cmocka_unit_test(the_first_limit_that_refuses_is_told_and_nothing_is_taken),
        cmocka_unit_test(the_end_settles_what_was_really_used),
        cmocka_unit_test(what_was_let_in_before_joins_whatever_runs),
        cmocka_unit_test(without_limits_nothing_is_counted),
        cmocka_unit_test(a_look_makes_no_place_and_finds_all_of_a_new_user),
        cmocka_unit_test(a_look_tells_how_many_run),
        cmocka_unit_test(who_was_not_seen_for_the_longest_time_is_forgotten_at_rest),
        cmocka_unit_test(of_whom_something_runs_is_never_forgotten),
        cmocka_unit_test(threads_share_what_there_is),
        cmocka_unit_test(without_memory_nothing_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
