/* test_upstream_retry.c -- when a round is asked again, where and after what wait (OPERATIONS 4.7). */
#include "lib/test.h"
#include "lib/test_seed.h"

#include "upstream/upstream_retry.h"

enum { LAST_CHANCE = -1 }; /* as uint32_t the largest: the whole of a backoff */

#define BIT(word) (1U << METRIC_RETRY_##word)

static const unsigned retry_on_default =
    BIT(CONNECT) | BIT(RESET) | BIT(429) | BIT(502) | BIT(503) | BIT(504) | BIT(MODEL);

static struct upstream_retry_conf default_conf(void)
{
    return (struct upstream_retry_conf){.attempts = 3,
                                        .retry_on = retry_on_default,
                                        .max_wait_ms = 10000,
                                        .loading_wait_ms = 60000};
}

static struct upstream_retry_moment moment(bool has_other)
{
    return (struct upstream_retry_moment){
        .has_other = has_other, .n_rounds = 1, .chance = (uint32_t)LAST_CHANCE};
}

/* What follows the first attempt of a round. */
static struct upstream_plan plan_first(enum upstream_outcome outcome,
                                       const struct upstream_retry_moment *m, unsigned more_words)
{
    struct upstream_retry_conf conf = default_conf();
    struct upstream_retry r = {.n_attempts = 0};

    conf.retry_on |= more_words;
    return upstream_retry_plan(&r, &conf, outcome, m);
}

static void assert_plan(struct upstream_plan got, enum upstream_next next, uint64_t wait_ms,
                        int denied)
{
    assert_int_equal(got.next, next);
    assert_int_equal(got.denied, denied);
    if (next == UPSTREAM_NEXT_SAME)
        assert_int_equal(got.wait_ms, wait_ms);
}

/* ---- the table of 4.7, written down once more: alone; with another candidate; with Retry-After 2 alone */

enum { NO = -1, OTHER = -2, TOO_LONG = -3 }; /* else: the same upstream after so many ms */

static const struct {
    enum upstream_outcome outcome;
    int alone, with_other, told;
} rows[] = {
    {UPSTREAM_OUTCOME_OK, NO, NO, NO},
    {UPSTREAM_OUTCOME_CONNECT, 100, OTHER, 2000},
    {UPSTREAM_OUTCOME_DNS, 100, OTHER, 2000},
    {UPSTREAM_OUTCOME_TLS, 100, OTHER, 2000},
    {UPSTREAM_OUTCOME_RESET, 0, OTHER, 0},
    {UPSTREAM_OUTCOME_BROKEN, 0, OTHER, 0},
    {UPSTREAM_OUTCOME_429, TOO_LONG, OTHER, 2000},
    {UPSTREAM_OUTCOME_502, 100, OTHER, 2000},
    {UPSTREAM_OUTCOME_503, 100, OTHER, 2000},
    {UPSTREAM_OUTCOME_504, 100, OTHER, 2000},
    {UPSTREAM_OUTCOME_LOADING, 1000, OTHER, 1000},
    {UPSTREAM_OUTCOME_NO_MODEL, NO, OTHER, NO},
    {UPSTREAM_OUTCOME_500, NO, NO, NO},
    {UPSTREAM_OUTCOME_501, NO, NO, NO},
    {UPSTREAM_OUTCOME_4XX, NO, NO, NO},
    {UPSTREAM_OUTCOME_FIRST_BYTE, NO, NO, NO},
    {UPSTREAM_OUTCOME_IDLE, NO, NO, NO},
    {UPSTREAM_OUTCOME_TOTAL, NO, NO, NO},
    {UPSTREAM_OUTCOME_BAD_ANSWER, 0, OTHER, 0},
    {UPSTREAM_OUTCOME_CLIENT_GONE, NO, NO, NO},
    {UPSTREAM_OUTCOME_OWN, NO, NO, NO},
};

static void assert_cell(struct upstream_plan got, int cell)
{
    if (cell == NO)
        assert_plan(got, UPSTREAM_NEXT_GIVE_UP, 0, UPSTREAM_NOT_DENIED);
    else if (cell == TOO_LONG)
        assert_plan(got, UPSTREAM_NEXT_GIVE_UP, 0, METRIC_DENIAL_RETRY_AFTER);
    else if (cell == OTHER)
        assert_plan(got, UPSTREAM_NEXT_OTHER, 0, UPSTREAM_NOT_DENIED);
    else
        assert_plan(got, UPSTREAM_NEXT_SAME, (uint64_t)cell, UPSTREAM_NOT_DENIED);
}

static void every_failure_is_followed_by_what_the_table_says(void **state)
{
    const struct upstream_retry_moment alone = moment(false), with_other = moment(true);
    struct upstream_retry_moment told = moment(false);

    (void)state;
    told.retry_after_s = 2;
    assert_int_equal(COUNT_OF(rows), UPSTREAM_OUTCOMES);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_cell(plan_first(rows[i].outcome, &alone, 0), rows[i].alone);
        assert_cell(plan_first(rows[i].outcome, &with_other, 0), rows[i].with_other);
        assert_cell(plan_first(rows[i].outcome, &told, 0), rows[i].told);
    }
}

static void words_of_retry_on_add_500_and_timeouts_but_not_501(void **state)
{
    static const enum upstream_outcome added[] = {UPSTREAM_OUTCOME_500, UPSTREAM_OUTCOME_FIRST_BYTE,
                                                  UPSTREAM_OUTCOME_IDLE, UPSTREAM_OUTCOME_TOTAL};
    const struct upstream_retry_moment alone = moment(false), with_other = moment(true);
    const unsigned words = BIT(500) | BIT(TIMEOUT);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(added); i++) {
        assert_cell(plan_first(added[i], &with_other, words), OTHER);
        assert_cell(plan_first(added[i], &alone, words), 100);
    }
    assert_cell(plan_first(UPSTREAM_OUTCOME_501, &with_other, words), NO);
    assert_cell(plan_first(UPSTREAM_OUTCOME_4XX, &with_other, words), NO);
}

static void a_word_that_retry_on_lacks_is_nothing_to_ask_again_for(void **state)
{
    const struct upstream_retry_moment with_other = moment(true);
    struct upstream_retry_conf conf = default_conf();

    (void)state;
    conf.retry_on = 0;
    for (enum upstream_outcome o = 0; o < UPSTREAM_OUTCOMES; o++) {
        struct upstream_retry r = {.n_attempts = 0};

        assert_cell(upstream_retry_plan(&r, &conf, o, &with_other),
                    o == UPSTREAM_OUTCOME_LOADING ? OTHER : NO);
    }
}

/* ---- what forbids it */

static void after_something_was_shown_nothing_is_asked_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct upstream_retry_moment m = moment(true);

        m.is_shown = true;
        assert_plan(plan_first(rows[i].outcome, &m, 0), UPSTREAM_NEXT_GIVE_UP, 0,
                    rows[i].with_other == NO ? UPSTREAM_NOT_DENIED : METRIC_DENIAL_SHOWN);
    }
}

static void for_a_client_that_has_left_nothing_is_asked_again(void **state)
{
    struct upstream_retry_moment m = moment(true);

    (void)state;
    m.has_client_left = m.is_shown = true;
    assert_plan(plan_first(UPSTREAM_OUTCOME_502, &m, 0), UPSTREAM_NEXT_GIVE_UP, 0,
                METRIC_DENIAL_CLIENT_GONE);
    assert_plan(plan_first(UPSTREAM_OUTCOME_500, &m, 0), UPSTREAM_NEXT_GIVE_UP, 0,
                UPSTREAM_NOT_DENIED);
}

static void attempts_are_counted_with_the_first(void **state)
{
    const struct upstream_retry_conf conf = default_conf();
    const struct upstream_retry_moment m = moment(true);
    struct upstream_retry r = {.n_attempts = 0};

    (void)state;
    assert_cell(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_502, &m), OTHER);
    assert_cell(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_CONNECT, &m), OTHER);
    assert_plan(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_CONNECT, &m), UPSTREAM_NEXT_GIVE_UP,
                0, METRIC_DENIAL_ATTEMPTS);
}

static void retries_under_way_are_three_or_a_fifth_of_the_rounds(void **state)
{
    (void)state;
    for (size_t n_rounds = 1; n_rounds < 60; n_rounds++) {
        for (size_t n_retrying = 0; n_retrying < 15; n_retrying++) {
            const size_t most = n_rounds / 5 > 3 ? n_rounds / 5 : 3;
            struct upstream_retry_moment m = moment(true);

            m.n_rounds = n_rounds;
            m.n_retrying = n_retrying;
            if (n_retrying + 1 <= most)
                assert_cell(plan_first(UPSTREAM_OUTCOME_502, &m, 0), OTHER);
            else
                assert_plan(plan_first(UPSTREAM_OUTCOME_502, &m, 0), UPSTREAM_NEXT_GIVE_UP, 0,
                            METRIC_DENIAL_BUDGET);
        }
    }
}

/* ---- once */

static void a_connection_that_resets_gets_one_more_here_and_one_elsewhere(void **state)
{
    const struct upstream_retry_moment m = moment(true);
    struct upstream_retry_conf conf = default_conf();
    struct upstream_retry r = {.n_attempts = 0};

    (void)state;
    conf.attempts = 10;
    assert_cell(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_RESET, &m), OTHER);
    assert_cell(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_BROKEN, &m), 0);
    assert_plan(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_RESET, &m), UPSTREAM_NEXT_GIVE_UP,
                0, METRIC_DENIAL_ATTEMPTS);
    assert_cell(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_502, &m), OTHER);
}

/* ---- waits */

static void backoff_doubles_up_to_two_seconds_and_ten_in_all(void **state)
{
    static const int waits[] = {100, 200, 400, 800, 1600, 2000, 2000, 2000, 900};
    const struct upstream_retry_moment m = moment(false);
    struct upstream_retry_conf conf = default_conf();
    struct upstream_retry r = {.n_attempts = 0};

    (void)state;
    conf.attempts = 100;
    for (size_t i = 0; i < COUNT_OF(waits); i++)
        assert_cell(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_CONNECT, &m), waits[i]);
    assert_cell(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_CONNECT, &m), TOO_LONG);
}

static void chance_takes_any_part_of_a_backoff(void **state)
{
    uint64_t sum = 0;

    (void)state;
    srand(test_seed());
    for (unsigned i = 0; i < 10000; i++) {
        struct upstream_retry_moment m = moment(false);
        struct upstream_plan plan;

        m.chance = (uint32_t)rand() << 16 ^ (uint32_t)rand();
        plan = plan_first(UPSTREAM_OUTCOME_CONNECT, &m, 0);
        assert_in_range(plan.wait_ms, 0, 100);
        sum += plan.wait_ms;
    }
    assert_in_range(sum, 470000, 530000);
}

static void retry_after_is_waited_for_when_it_fits_what_is_left(void **state)
{
    const struct upstream_retry_conf conf = default_conf();
    struct upstream_retry_moment m = moment(false);
    struct upstream_retry r = {.n_attempts = 0};

    (void)state;
    m.retry_after_s = 6;
    assert_cell(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_429, &m), 6000);
    assert_cell(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_503, &m), TOO_LONG);
    r = (struct upstream_retry){.n_attempts = 0};
    m.retry_after_s = 10;
    assert_cell(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_429, &m), 10000);
    r = (struct upstream_retry){.n_attempts = 0};
    m.retry_after_s = 11;
    assert_cell(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_429, &m), TOO_LONG);
    r = (struct upstream_retry){.n_attempts = 0};
    m.retry_after_s = INT32_MAX;
    assert_cell(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_503, &m), TOO_LONG);
}

static void without_retry_max_wait_nothing_is_waited_for(void **state)
{
    const struct upstream_retry_moment alone = moment(false), with_other = moment(true);
    struct upstream_retry_conf conf = default_conf();
    struct upstream_retry r = {.n_attempts = 0};

    (void)state;
    conf.max_wait_ms = 0;
    assert_cell(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_502, &with_other), OTHER);
    assert_cell(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_502, &alone), TOO_LONG);
}

/* ---- a model that is being loaded */

/* With a single upstream, which has one attempt, and while the budget is spent. */
static void a_model_is_waited_for_a_minute_a_second_at_a_time(void **state)
{
    struct upstream_retry_moment m = moment(false);
    struct upstream_retry_conf conf = default_conf();
    struct upstream_retry r = {.n_attempts = 0};

    (void)state;
    conf.attempts = 1;
    conf.retry_on = 0;
    m.n_retrying = 100;
    for (unsigned i = 0; i < 60; i++)
        assert_cell(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_LOADING, &m), 1000);
    assert_cell(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_LOADING, &m), TOO_LONG);
}

static void waiting_for_a_model_leaves_attempts_and_waits_for_what_comes_then(void **state)
{
    const struct upstream_retry_moment m = moment(false);
    const struct upstream_retry_conf conf = default_conf();
    struct upstream_retry r = {.n_attempts = 0};

    (void)state;
    for (unsigned i = 0; i < 30; i++)
        assert_cell(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_LOADING, &m), 1000);
    assert_cell(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_502, &m), 100);
    assert_cell(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_502, &m), 200);
    assert_plan(upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_502, &m), UPSTREAM_NEXT_GIVE_UP, 0,
                METRIC_DENIAL_ATTEMPTS);
}

static void a_model_is_waited_for_where_it_loads_when_elsewhere_is_denied(void **state)
{
    struct upstream_retry_moment m = moment(true);

    (void)state;
    m.n_retrying = 3;
    assert_cell(plan_first(UPSTREAM_OUTCOME_LOADING, &m, 0), 1000);
}

/* ---- what the client is told */

static void the_smallest_retry_after_is_told_when_all_were_busy(void **state)
{
    const struct upstream_retry_conf conf = default_conf();
    struct upstream_retry_moment m = moment(true);
    struct upstream_retry r = {.n_attempts = 0};

    (void)state;
    m.retry_after_s = 9;
    (void)upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_429, &m);
    m.retry_after_s = 4;
    (void)upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_503, &m);
    m.retry_after_s = 30;
    (void)upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_429, &m);
    assert_int_equal(upstream_retry_after_s(&r, 30), 4);
    m.retry_after_s = 0;
    (void)upstream_retry_plan(&r, &conf, UPSTREAM_OUTCOME_502, &m);
    assert_int_equal(upstream_retry_after_s(&r, 30), 30);
}

/* ---- by chance: bounds that hold whatever happens */

static void a_round_ends_within_its_attempts_and_its_waits(void **state)
{
    (void)state;
    srand(test_seed());
    for (unsigned round = 0; round < 20000; round++) {
        const struct upstream_retry_conf conf = {.attempts = 1 + (unsigned)rand() % 10,
                                                 .retry_on = (unsigned)rand(),
                                                 .max_wait_ms = (uint64_t)rand() % 12000,
                                                 .loading_wait_ms = (uint64_t)rand() % 5000};
        struct upstream_retry r = {.n_attempts = 0};
        struct upstream_plan plan;
        uint64_t waited_ms = 0, loading_ms = 0;
        unsigned n = 0;

        do {
            const enum upstream_outcome o = (enum upstream_outcome)(rand() % UPSTREAM_OUTCOMES);
            const struct upstream_retry_moment m = {.has_other = rand() % 2 == 0,
                                                    .is_shown = rand() % 20 == 0,
                                                    .retry_after_s = rand() % 4,
                                                    .n_rounds = 10,
                                                    .n_retrying = (size_t)rand() % 4,
                                                    .chance = (uint32_t)rand() << 1};

            plan = upstream_retry_plan(&r, &conf, o, &m);
            *(o == UPSTREAM_OUTCOME_LOADING ? &loading_ms : &waited_ms) +=
                plan.next == UPSTREAM_NEXT_SAME ? plan.wait_ms : 0;
            n += o != UPSTREAM_OUTCOME_LOADING || plan.next != UPSTREAM_NEXT_SAME;
            if (plan.next != UPSTREAM_NEXT_GIVE_UP)
                assert_true(!m.is_shown && plan.denied == UPSTREAM_NOT_DENIED);
            if (plan.next == UPSTREAM_NEXT_OTHER)
                assert_true(m.has_other);
        } while (plan.next != UPSTREAM_NEXT_GIVE_UP);
        assert_true(n <= conf.attempts && waited_ms <= conf.max_wait_ms);
        assert_true(loading_ms <= conf.loading_wait_ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failure_is_followed_by_what_the_table_says),
        cmocka_unit_test(words_of_retry_on_add_500_and_timeouts_but_not_501),
        cmocka_unit_test(a_word_that_retry_on_lacks_is_nothing_to_ask_again_for),
        cmocka_unit_test(after_something_was_shown_nothing_is_asked_again),
        cmocka_unit_test(for_a_client_that_has_left_nothing_is_asked_again),
        cmocka_unit_test(attempts_are_counted_with_the_first),
        cmocka_unit_test(retries_under_way_are_three_or_a_fifth_of_the_rounds),
        cmocka_unit_test(a_connection_that_resets_gets_one_more_here_and_one_elsewhere),
        cmocka_unit_test(backoff_doubles_up_to_two_seconds_and_ten_in_all),
        cmocka_unit_test(chance_takes_any_part_of_a_backoff),
        cmocka_unit_test(retry_after_is_waited_for_when_it_fits_what_is_left),
        cmocka_unit_test(without_retry_max_wait_nothing_is_waited_for),
        cmocka_unit_test(a_model_is_waited_for_a_minute_a_second_at_a_time),
        cmocka_unit_test(waiting_for_a_model_leaves_attempts_and_waits_for_what_comes_then),
        cmocka_unit_test(a_model_is_waited_for_where_it_loads_when_elsewhere_is_denied),
        cmocka_unit_test(the_smallest_retry_after_is_told_when_all_were_busy),
        cmocka_unit_test(a_round_ends_within_its_attempts_and_its_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
