/* test_affinity.c -- what is remembered of sessions and prompts, and for how long. */
#include "lib/test.h"

#include "affinity/affinity.h"
#include "base/budget.h"
#include "lib/affinity_play.h"
#include "lib/failing_malloc.h"
#include "lib/test_seed.h"

enum { A, B, C, D, E, TTL = 1000, KEY = 7 };

static const struct prefix_mark marks[] = {{11, 100}, {22, 200}, {33, 300}};

static struct affinity *make_affinity(size_t max_sessions, size_t max_marks)
{
    struct affinity *a = affinity_new(&(struct affinity_conf){max_sessions, max_marks, TTL});

    assert_non_null(a);
    return a;
}

static void note(struct affinity *a, uint64_t session, size_t n_marks, uint16_t upstream,
                 uint64_t now_ms)
{
    const struct affinity_prompt prompt = {session, 0, marks, n_marks};

    affinity_note(a, &prompt, upstream, now_ms);
}

/* -1: nobody's. */
static int session_of(const struct affinity *a, uint64_t session, uint64_t now_ms)
{
    uint16_t upstream;

    return affinity_find_session(a, session, now_ms, &upstream) ? upstream : -1;
}

/* One bit for each upstream. */
static unsigned upstreams_of(const struct affinity *a, size_t mark, uint64_t salt, uint64_t now_ms)
{
    uint16_t upstreams[AFFINITY_UPSTREAMS];
    size_t n = affinity_find_mark(a, salt, &marks[mark], now_ms, upstreams);
    unsigned bits = 0;

    for (size_t i = 0; i < n; i++)
        bits |= 1U << upstreams[i];
    return bits;
}

static void a_session_is_where_it_was_last(void **state)
{
    struct affinity *a = make_affinity(10, 10);

    (void)state;
    note(a, 5, 0, A, 0);
    assert_int_equal(session_of(a, 5, 1), A);
    note(a, 5, 0, B, 2);
    assert_int_equal(session_of(a, 5, 3), B);
    assert_int_equal(session_of(a, 6, 3), -1);
    affinity_free(a);
}

static void no_session_is_never_known(void **state)
{
    struct affinity *a = make_affinity(10, 10);

    (void)state;
    note(a, 0, 1, A, 0);
    assert_int_equal(session_of(a, 0, 0), -1);
    assert_int_equal(affinity_size(a).n_sessions, 0);
    affinity_free(a);
}

static void all_marks_of_a_prompt_are_known(void **state)
{
    struct affinity *a = make_affinity(10, 10);

    (void)state;
    note(a, 0, 3, A, 0);
    note(a, 0, 2, B, 1);
    assert_int_equal(upstreams_of(a, 0, 0, 2), 1 << A | 1 << B);
    assert_int_equal(upstreams_of(a, 1, 0, 2), 1 << A | 1 << B);
    assert_int_equal(upstreams_of(a, 2, 0, 2), 1 << A);
    affinity_free(a);
}

static void a_mark_has_four_upstreams_those_that_saw_it_last(void **state)
{
    struct affinity *a = make_affinity(10, 10);

    (void)state;
    for (uint16_t upstream = A; upstream <= D; upstream++)
        note(a, 0, 1, upstream, upstream);
    note(a, 0, 1, A, 10);
    note(a, 0, 1, E, 11);
    assert_int_equal(upstreams_of(a, 0, 0, 12), 1 << A | 1 << C | 1 << D | 1 << E);
    affinity_free(a);
}

static void what_is_idle_for_the_ttl_is_not_known(void **state)
{
    struct affinity *a = make_affinity(10, 10);

    (void)state;
    note(a, 5, 1, A, 0);
    note(a, 0, 1, B, 10);
    assert_int_equal(session_of(a, 5, TTL - 1), A);
    assert_int_equal(session_of(a, 5, TTL), -1);
    assert_int_equal(upstreams_of(a, 0, 0, TTL), 1 << B);
    note(a, 0, 1, A, TTL);
    assert_int_equal(affinity_size(a).n_sessions, 0);
    assert_int_equal(upstreams_of(a, 0, 0, 2 * TTL - 1), 1 << A);
    affinity_set_ttl(a, 10);
    assert_int_equal(upstreams_of(a, 0, 0, TTL + 10), 0);
    affinity_free(a);
}

static void a_clock_that_is_behind_finds_what_was_just_noted(void **state)
{
    struct affinity *a = make_affinity(10, 10);

    (void)state;
    note(a, 5, 1, A, 5000);
    assert_int_equal(session_of(a, 5, 4999), A);
    note(a, 6, 0, B, 4999);
    assert_int_equal(session_of(a, 5, 5000), A);
    affinity_free(a);
}

static void the_least_recently_noted_goes_first(void **state)
{
    struct affinity *a = make_affinity(2, 10);

    (void)state;
    note(a, 1, 0, A, 0);
    note(a, 2, 0, A, 1);
    note(a, 1, 0, A, 2);
    note(a, 3, 0, A, 3);
    assert_int_equal(session_of(a, 1, 4), A);
    assert_int_equal(session_of(a, 2, 4), -1);
    assert_int_equal(session_of(a, 3, 4), A);
    affinity_free(a);
}

static void of_a_prompt_the_beginning_is_kept_longest(void **state)
{
    struct affinity *a = make_affinity(10, 2);

    (void)state;
    note(a, 0, 3, A, 0);
    assert_int_equal(upstreams_of(a, 0, 0, 1), 1 << A);
    assert_int_equal(upstreams_of(a, 1, 0, 1), 1 << A);
    assert_int_equal(upstreams_of(a, 2, 0, 1), 0);
    affinity_free(a);
}

static void an_ejection_forgets_one_upstream_and_no_other(void **state)
{
    struct affinity *a = make_affinity(10, 10);

    (void)state;
    note(a, 5, 3, A, 0);
    note(a, 6, 1, B, 1);
    affinity_forget(a, A);
    assert_int_equal(session_of(a, 5, 2), -1);
    assert_int_equal(session_of(a, 6, 2), B);
    assert_int_equal(upstreams_of(a, 0, 0, 2), 1 << B);
    assert_int_equal(upstreams_of(a, 2, 0, 2), 0);
    assert_int_equal(affinity_size(a).n_marks, 1);
    affinity_free(a);
}

static void salts_keep_owners_apart(void **state)
{
    struct affinity *a = make_affinity(10, 10);
    uint64_t mine = affinity_salt(KEY, STR("me")), yours = affinity_salt(KEY, STR("you"));

    (void)state;
    affinity_note(a, &(struct affinity_prompt){0, mine, marks, 3}, A, 0);
    assert_int_equal(upstreams_of(a, 1, mine, 1), 1 << A);
    assert_int_equal(upstreams_of(a, 1, yours, 1), 0);
    assert_int_equal(upstreams_of(a, 1, 0, 1), 0);
    affinity_free(a);
}

static void a_session_is_of_its_owner_model_and_words(void **state)
{
    const uint64_t hash = affinity_session_hash(KEY, STR("me"), STR("m"), STR("key"));

    (void)state;
    assert_true(hash == affinity_session_hash(KEY, STR("me"), STR("m"), STR("key")));
    assert_true(hash != affinity_session_hash(KEY, STR("you"), STR("m"), STR("key")));
    assert_true(hash != affinity_session_hash(KEY, STR("me"), STR("n"), STR("key")));
    assert_true(hash != affinity_session_hash(KEY, STR("me"), STR("m"), STR("other")));
    assert_true(hash != affinity_session_hash(KEY, STR("mem"), STR(""), STR("key")));
    assert_true(hash != affinity_session_hash(KEY + 1, STR("me"), STR("m"), STR("key")));
    assert_true(affinity_session_hash(KEY, STR_NONE, STR_NONE, STR_NONE) != 0);
}

/* ---- memory */

static void nothing_is_paid_before_the_first_note_and_after_the_last(void **state)
{
    struct affinity *a = make_affinity(AFFINITY_SESSIONS, AFFINITY_MARKS);
    size_t before = failing_malloc_bytes();

    (void)state;
    assert_int_equal(session_of(a, 5, 0), -1);
    assert_int_equal(upstreams_of(a, 0, 0, 0), 0);
    affinity_forget(a, A);
    affinity_expire(a, 0);
    assert_int_equal(failing_malloc_bytes(), before);
    assert_int_equal(affinity_size(a).bytes, 0);
    note(a, 5, 3, A, 0);
    assert_in_range(affinity_size(a).bytes, 1, 16 * 1024);
    affinity_expire(a, TTL);
    assert_int_equal(affinity_size(a).bytes, 0);
    note(a, 5, 3, A, 0);
    affinity_forget(a, A);
    assert_int_equal(affinity_size(a).bytes, 0);
    affinity_free(a);
}

static void both_are_bounded_at_the_numbers_of_the_contract(void **state)
{
    struct affinity *a = make_affinity(AFFINITY_SESSIONS, AFFINITY_MARKS);
    size_t used = budget_used();

    (void)state;
    for (uint64_t i = 1; i <= 2 * AFFINITY_MARKS; i++) {
        const struct prefix_mark mark = {i, 1};

        affinity_note(a, &(struct affinity_prompt){i, 0, &mark, 1}, A, 0);
    }
    assert_int_equal(affinity_size(a).n_sessions, AFFINITY_SESSIONS);
    assert_int_equal(affinity_size(a).n_marks, AFFINITY_MARKS);
    assert_in_range(affinity_size(a).bytes, 1, 23 * 1024 * 1024);
    assert_true(budget_used() >= used + affinity_size(a).bytes - 128 * 1024);
    assert_int_equal(session_of(a, 2 * AFFINITY_MARKS, 0), A);
    assert_int_equal(session_of(a, 2 * AFFINITY_MARKS - AFFINITY_SESSIONS, 0), -1);
    affinity_free(a);
    assert_true(budget_used() <= used + 128 * 1024);
}

static void note_many(struct affinity *a, uint64_t n)
{
    for (uint64_t i = 1; i <= n; i++)
        note(a, i, 3, (uint16_t)(i % 4), i);
}

/* The one that was noted last is always known, where there is memory for a single one. */
static void with_each_allocation_failing_it_remembers_less(void **state)
{
    (void)state;
    for (long n = 0;; n++) {
        struct affinity *a;
        bool has_failed;

        failing_malloc_begin(n, FAILS_FOR_GOOD);
        a = affinity_new(&(struct affinity_conf){1000, 1000, TTL});
        if (a != NULL)
            note_many(a, 500);
        has_failed = failing_malloc_end();
        if (a != NULL && affinity_size(a).n_sessions > 0)
            assert_int_equal(session_of(a, 500, 500), 500 % 4);
        if (a != NULL)
            note_many(a, 500);
        affinity_free(a);
        if (!has_failed)
            break;
    }
}

static void a_refusal_of_the_budget_makes_it_forget_the_oldest(void **state)
{
    struct affinity *a = make_affinity(100000, 100000);
    size_t n_sessions;

    (void)state;
    affinity_set_ttl(a, 1000000);
    note_many(a, 10);
    budget_set_limit(budget_used());
    note_many(a, 50000);
    n_sessions = affinity_size(a).n_sessions;
    budget_set_limit(0);
    assert_in_range(n_sessions, 10, 10000);
    assert_int_equal(session_of(a, 50000, 50000), 50000 % 4);
    affinity_free(a);
}

/* ---- by chance */

static void by_chance_it_remembers_what_plain_lists_do(void **state)
{
    unsigned seed = test_seed();
    char script[3000];

    (void)state;
    for (int round = 0; round < 300; round++) {
        const char *difference;

        for (size_t i = 0; i < sizeof(script); i++)
            script[i] = (char)(rand_r(&seed) >> 8);
        difference = affinity_play(str_from(script, sizeof(script)));
        if (difference != NULL)
            fail_msg("round %d: %s", round, difference);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_is_where_it_was_last),
        cmocka_unit_test(no_session_is_never_known),
        cmocka_unit_test(all_marks_of_a_prompt_are_known),
        cmocka_unit_test(a_mark_has_four_upstreams_those_that_saw_it_last),
        cmocka_unit_test(what_is_idle_for_the_ttl_is_not_known),
        cmocka_unit_test(a_clock_that_is_behind_finds_what_was_just_noted),
        cmocka_unit_test(the_least_recently_noted_goes_first),
        cmocka_unit_test(of_a_prompt_the_beginning_is_kept_longest),
        cmocka_unit_test(an_ejection_forgets_one_upstream_and_no_other),
        cmocka_unit_test(salts_keep_owners_apart),
        cmocka_unit_test(a_session_is_of_its_owner_model_and_words),
        cmocka_unit_test(nothing_is_paid_before_the_first_note_and_after_the_last),
        cmocka_unit_test(both_are_bounded_at_the_numbers_of_the_contract),
        cmocka_unit_test(with_each_allocation_failing_it_remembers_less),
        cmocka_unit_test(a_refusal_of_the_budget_makes_it_forget_the_oldest),
        cmocka_unit_test(by_chance_it_remembers_what_plain_lists_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
