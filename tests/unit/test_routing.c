/* test_routing.c -- which upstream is chosen: policies, sessions, prefixes, bounds, waits (OPERATIONS 4.4,
 * 4.5). */
#include "lib/test.h"

#include "affinity/routing.h"

enum { MAX = 4, MIN = 60 * 1000, SESSION = 99, BIG = 20000 };

/* Candidates A to D, all alike at first, their upstreams numbered from 10. */
static struct {
    struct routing_candidate c[MAX];
    struct routing_turn turns[MAX];
    size_t n;
    struct routing_conf conf;
    struct routing_request request;
    struct affinity *affinity;
    uint64_t now_ms;
} stage;

enum { A, B, C, D };

/* A quarter of the prompt, a half, all of it. */
static const struct prefix_mark marks[] = {{11, BIG / 4}, {22, BIG / 2}, {33, BIG}};

static int set_stage(void **state)
{
    (void)state;
    memset(&stage, 0, sizeof(stage));
    for (size_t i = 0; i < MAX; i++)
        stage.c[i] = (struct routing_candidate){.upstream = (uint16_t)(10 + i),
                                                .weight = 1,
                                                .may_be_used = true,
                                                .turn = &stage.turns[i]};
    stage.n = MAX;
    stage.conf = (struct routing_conf){ROUTING_AFFINITY, 0.3, 2000, ROUTING_WAIT_BYTES};
    stage.request.prompt = (struct affinity_prompt){SESSION, 0, marks, COUNT_OF(marks)};
    stage.now_ms = 1000;
    stage.affinity = affinity_new(&(struct affinity_conf){100, 100, 30 * MIN});
    return stage.affinity == NULL ? -1 : 0;
}

static int free_stage(void **state)
{
    (void)state;
    affinity_free(stage.affinity);
    return 0;
}

static struct routing_choice choose(void)
{
    return routing_choose(&stage.conf, stage.affinity, &stage.request, stage.c, stage.n,
                          stage.now_ms);
}

static void check_choice(size_t index, enum routing_word word)
{
    struct routing_choice r = choose();

    assert_int_equal(r.outcome, ROUTING_CHOSEN);
    assert_int_equal(r.index, index);
    assert_str_eq(routing_word_text(r.word), routing_word_text(word));
}

static void check_outcome(enum routing_outcome outcome)
{
    assert_int_equal(choose().outcome, outcome);
}

static void note_session(size_t index)
{
    affinity_note(stage.affinity, &(struct affinity_prompt){.session = SESSION},
                  stage.c[index].upstream, stage.now_ms);
}

static void note_marks(size_t index, size_t n)
{
    affinity_note(stage.affinity, &(struct affinity_prompt){0, 0, marks, n},
                  stage.c[index].upstream, stage.now_ms);
}

static void set_loads(unsigned a, unsigned b, unsigned c, unsigned d)
{
    const unsigned loads[] = {a, b, c, d};

    for (size_t i = 0; i < MAX; i++)
        stage.c[i].in_flight = loads[i];
}

static void make_full(size_t index)
{
    stage.c[index].max_concurrency = stage.c[index].in_flight = 1;
}

/* ---- names */

static void policies_and_words_have_their_names(void **state)
{
    enum routing_policy policy = ROUTING_FIRST;

    (void)state;
    assert_true(routing_policy_of(STR("affinity"), &policy) && policy == ROUTING_AFFINITY);
    assert_true(routing_policy_of(STR("round_robin"), &policy) && policy == ROUTING_ROUND_ROBIN);
    assert_false(routing_policy_of(STR("random"), &policy));
    assert_str_c(routing_word_text(ROUTING_BY_ONLY), "only");
    assert_str_c(routing_word_text(ROUTING_BY_FAILOVER), "failover");
}

/* ---- who is eligible */

static void the_only_candidate_is_taken_whatever_is_known(void **state)
{
    (void)state;
    stage.n = 1;
    note_session(A);
    check_choice(A, ROUTING_BY_ONLY);
}

static void when_none_may_be_used_there_is_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < MAX; i++)
        stage.c[i].may_be_used = false;
    check_outcome(ROUTING_NONE);
    stage.n = 0;
    check_outcome(ROUTING_NONE);
    stage.n = 1;
    stage.c[A].may_be_used = stage.c[A].was_tried = true;
    check_outcome(ROUTING_NONE);
}

static void when_all_that_may_be_used_are_full_it_is_full(void **state)
{
    (void)state;
    stage.c[D].may_be_used = false;
    for (size_t i = A; i <= C; i++)
        make_full(i);
    check_outcome(ROUTING_FULL);
    stage.conf.policy = ROUTING_FIRST;
    check_outcome(ROUTING_FULL);
    stage.n = 1;
    check_outcome(ROUTING_FULL);
}

static void a_higher_tier_waits_until_nobody_of_a_lower_one_is_eligible(void **state)
{
    (void)state;
    stage.c[A].tier = stage.c[B].tier = 1;
    set_loads(0, 0, 7, 8);
    for (int policy = 0; policy < ROUTING_POLICIES; policy++) {
        stage.conf.policy = (enum routing_policy)policy;
        assert_int_equal(choose().index, C);
    }
    stage.conf.policy = ROUTING_AFFINITY;
    make_full(C);
    check_choice(D, ROUTING_BY_LEAST);
    stage.c[D].may_be_used = false;
    check_choice(A, ROUTING_BY_LEAST);
}

static void whoever_was_tried_is_not_chosen_again(void **state)
{
    (void)state;
    note_session(A);
    stage.c[A].was_tried = true;
    check_choice(B, ROUTING_BY_FAILOVER);
    note_marks(C, 3);
    check_choice(C, ROUTING_BY_FAILOVER);
    stage.conf.policy = ROUTING_FIRST;
    check_choice(B, ROUTING_BY_FAILOVER);
}

/* ---- policies */

static void least_takes_the_smallest_load_for_its_weight(void **state)
{
    (void)state;
    stage.conf.policy = ROUTING_LEAST;
    set_loads(2, 1, 5, 4);
    check_choice(B, ROUTING_BY_LEAST);
    stage.c[C].weight = 4;
    check_choice(C, ROUTING_BY_LEAST);
    stage.c[C].in_flight = 7; /* 8/4 is as much as 2/1 */
    stage.c[C].n_served = 1;
    check_choice(B, ROUTING_BY_LEAST);
}

static void ties_go_to_who_has_served_fewest_for_its_weight(void **state)
{
    (void)state;
    stage.conf.policy = ROUTING_LEAST;
    for (size_t i = 0; i < MAX; i++)
        stage.c[i].n_served = 10;
    check_choice(A, ROUTING_BY_LEAST);
    stage.c[D].n_served = 9;
    check_choice(D, ROUTING_BY_LEAST);
}

static void ties_never_all_go_to_the_first(void **state)
{
    unsigned counts[MAX] = {0};

    (void)state;
    stage.conf.policy = ROUTING_LEAST;
    for (size_t i = 0; i < 400; i++) {
        size_t index = choose().index;

        counts[index]++;
        stage.c[index].n_served++;
    }
    for (size_t i = 0; i < MAX; i++)
        assert_int_equal(counts[i], 100);
}

static void who_is_not_eligible_takes_no_part_in_a_comparison(void **state)
{
    (void)state;
    stage.conf.policy = ROUTING_LEAST;
    set_loads(0, 3, 2, 9);
    stage.c[A].may_be_used = false;
    check_choice(C, ROUTING_BY_LEAST);
}

/* Turns of a group; upper case is who was chosen. */
static void check_turns(const char *expected)
{
    for (; *expected != '\0'; expected++) {
        size_t index = choose().index;

        assert_int_equal('A' + (char)index, *expected);
    }
}

static void round_robin_spreads_turns_by_weight(void **state)
{
    (void)state;
    stage.conf.policy = ROUTING_ROUND_ROBIN;
    check_turns("ABCDABCD");
    stage.n = 3;
    stage.c[A].weight = 5;
    memset(stage.turns, 0, sizeof(stage.turns));
    check_turns("AABACAAAABACAA");
}

static void round_robin_goes_on_among_those_that_are_left(void **state)
{
    (void)state;
    stage.conf.policy = ROUTING_ROUND_ROBIN;
    stage.c[B].may_be_used = false;
    check_turns("ACDACD");
    stage.c[B].may_be_used = true;
    check_turns("ABCDABCD");
}

static void first_takes_the_first_that_is_eligible(void **state)
{
    (void)state;
    stage.conf.policy = ROUTING_FIRST;
    note_session(C);
    set_loads(9, 0, 0, 0);
    check_choice(A, ROUTING_BY_LEAST);
    make_full(A);
    check_choice(B, ROUTING_BY_LEAST);
}

/* ---- sessions and prefixes */

static void a_session_goes_where_it_was(void **state)
{
    (void)state;
    note_session(C);
    note_marks(B, 3);
    check_choice(C, ROUTING_BY_KEY);
    stage.now_ms += 30 * MIN;
    check_choice(A, ROUTING_BY_LEAST);
}

static void a_session_of_an_upstream_that_is_out_goes_by_prefix(void **state)
{
    (void)state;
    note_session(C);
    note_marks(B, 3);
    stage.c[C].may_be_used = false;
    check_choice(B, ROUTING_BY_PREFIX);
    stage.c[C].may_be_used = true;
    stage.c[C].tier = 1;
    check_choice(B, ROUTING_BY_PREFIX);
}

static void a_session_of_an_upstream_that_serves_no_more_goes_elsewhere(void **state)
{
    (void)state;
    note_session(D);
    stage.n = 3;
    check_choice(A, ROUTING_BY_LEAST);
}

static void whoever_knows_most_of_the_prompt_is_taken(void **state)
{
    (void)state;
    note_marks(B, 2);
    note_marks(D, 3);
    check_choice(D, ROUTING_BY_PREFIX);
    assert_int_equal(stage.c[A].known_bytes, 0);
    assert_int_equal(stage.c[B].known_bytes, BIG / 2);
    assert_int_equal(stage.c[D].known_bytes, BIG);
}

static void less_than_affinity_min_is_not_followed(void **state)
{
    (void)state;
    note_marks(B, 1);
    check_choice(A, ROUTING_BY_LEAST);
    stage.conf.affinity_min = 0.25;
    check_choice(B, ROUTING_BY_PREFIX);
}

static void of_two_that_know_as_much_the_less_loaded_is_taken(void **state)
{
    (void)state;
    for (size_t i = B; i <= D; i++)
        note_marks(i, 3);
    set_loads(0, 1, 1, 1);
    stage.c[B].n_served = 1;
    check_choice(C, ROUTING_BY_PREFIX);
    stage.c[D].weight = 2;
    check_choice(D, ROUTING_BY_PREFIX);
}

static void who_knows_as_much_and_is_full_is_not_preferred(void **state)
{
    (void)state;
    note_marks(A, 3);
    note_marks(B, 3);
    make_full(A);
    set_loads(1, 2, 2, 2);
    check_choice(B, ROUTING_BY_PREFIX);
}

static void an_ejected_upstream_knows_nothing(void **state)
{
    (void)state;
    note_session(B);
    note_marks(B, 3);
    affinity_forget(stage.affinity, stage.c[B].upstream);
    check_choice(A, ROUTING_BY_LEAST);
}

static void without_a_memory_it_goes_by_load(void **state)
{
    struct routing_choice r;

    (void)state;
    set_loads(1, 0, 1, 1);
    r = routing_choose(&stage.conf, NULL, &stage.request, stage.c, stage.n, 0);
    assert_true(r.outcome == ROUTING_CHOSEN && r.index == B && r.word == ROUTING_BY_LEAST);
    stage.request.prompt = (struct affinity_prompt){.session = 0};
    note_marks(C, 3);
    check_choice(B, ROUTING_BY_LEAST);
}

/* ---- bounded load; with four of weight 1 the bound is ceil(1.25 * (sum + 1) / 4) */

static void above_the_bound_a_session_is_passed_over_for_an_idle_one(void **state)
{
    (void)state;
    note_session(B);
    set_loads(1, 2, 1, 0); /* bound 2 */
    check_choice(D, ROUTING_BY_OVERFLOW);
    set_loads(1, 1, 1, 0);
    check_choice(B, ROUTING_BY_KEY);
}

static void above_the_bound_it_stays_when_the_others_do_little_less(void **state)
{
    (void)state;
    note_session(B);
    set_loads(2, 2, 1, 1); /* bound 3 */
    check_choice(B, ROUTING_BY_KEY);
    set_loads(1, 2, 1, 1); /* bound 2 */
    check_choice(B, ROUTING_BY_KEY);
    set_loads(1, 3, 1, 1); /* bound 3 */
    check_choice(A, ROUTING_BY_OVERFLOW);
}

static void a_heavier_upstream_may_have_more(void **state)
{
    (void)state;
    note_marks(B, 3);
    stage.c[B].weight = 5;
    set_loads(1, 4, 1, 0); /* bound ceil(1.25 * 5/8 * 7) = 6 */
    check_choice(B, ROUTING_BY_PREFIX);
    set_loads(1, 6, 1, 0); /* bound ceil(1.25 * 5/8 * 9) = 8 */
    check_choice(B, ROUTING_BY_PREFIX);
    stage.c[B].weight = 2;
    check_choice(D, ROUTING_BY_OVERFLOW); /* bound ceil(1.25 * 2/5 * 9) = 5 */
}

static void loads_of_those_that_are_not_eligible_do_not_count(void **state)
{
    (void)state;
    note_session(B);
    set_loads(9, 2, 1, 0);
    check_choice(B, ROUTING_BY_KEY); /* bound ceil(1.25 * 13 / 4) = 5 */
    stage.c[A].may_be_used = false;
    check_choice(D, ROUTING_BY_OVERFLOW); /* bound ceil(1.25 * 4 / 3) = 2 */
}

static void an_overflow_goes_to_who_knows_most_among_the_least_loaded(void **state)
{
    (void)state;
    note_marks(B, 3);
    note_marks(C, 1);
    note_marks(D, 2);
    set_loads(0, 5, 1, 2); /* bound 3 */
    check_choice(C, ROUTING_BY_OVERFLOW);
    set_loads(1, 5, 1, 2);
    check_choice(D, ROUTING_BY_OVERFLOW);
}

static void an_overflow_of_which_nobody_knows_goes_by_load(void **state)
{
    (void)state;
    note_session(B);
    set_loads(1, 5, 0, 1);
    stage.c[D].weight = 3;
    check_choice(D, ROUTING_BY_OVERFLOW);
}

/* B has one request, the others none, and would be as good as they are by load. */
static void an_overflow_never_goes_back(void **state)
{
    (void)state;
    note_marks(B, 3);
    set_loads(0, 1, 0, 0);
    stage.c[A].n_served = stage.c[C].n_served = 9;
    check_choice(D, ROUTING_BY_OVERFLOW);
    stage.c[B].weight = 2; /* bound ceil(1.25 * 2/5 * 2) = 1 */
    stage.c[D].n_served = 9;
    check_choice(A, ROUTING_BY_OVERFLOW);
}

static void a_session_that_overflowed_stays_at_its_new_place(void **state)
{
    (void)state;
    note_session(B);
    set_loads(1, 5, 0, 1);
    check_choice(C, ROUTING_BY_OVERFLOW);
    note_session(C);
    set_loads(0, 0, 0, 0);
    check_choice(C, ROUTING_BY_KEY);
}

/* ---- waiting */

static void a_full_upstream_that_knows_enough_is_waited_for(void **state)
{
    struct routing_choice r;

    (void)state;
    note_session(B);
    note_marks(B, 3);
    make_full(B);
    stage.request.waited_ms = 500;
    r = choose();
    assert_int_equal(r.outcome, ROUTING_WAITS);
    assert_int_equal(r.index, B);
    assert_int_equal(r.until_ms, stage.now_ms + 1500);
    stage.request.prompt.session = 0;
    assert_int_equal(choose().index, B);
    check_outcome(ROUTING_WAITS);
}

static void after_affinity_wait_it_overflows(void **state)
{
    (void)state;
    note_session(B);
    note_marks(B, 3);
    make_full(B);
    stage.request.waited_ms = 2000;
    check_choice(A, ROUTING_BY_OVERFLOW);
    stage.request.waited_ms = 60000;
    check_choice(A, ROUTING_BY_OVERFLOW);
}

static void less_than_16_kib_is_not_waited_for(void **state)
{
    (void)state;
    note_session(B);
    note_marks(B, 2);
    make_full(B);
    check_choice(A, ROUTING_BY_OVERFLOW);
}

static void nobody_is_waited_for_when_all_are_full(void **state)
{
    (void)state;
    note_session(B);
    note_marks(B, 3);
    for (size_t i = 0; i < MAX; i++)
        make_full(i);
    check_outcome(ROUTING_FULL);
}

static void a_full_upstream_of_the_lower_tier_is_waited_for(void **state)
{
    (void)state;
    stage.n = 2;
    stage.c[B].tier = 1;
    note_session(A);
    note_marks(A, 3);
    make_full(A);
    check_outcome(ROUTING_WAITS);
    stage.request.waited_ms = 2000;
    check_choice(B, ROUTING_BY_OVERFLOW);
}

static void who_is_not_healthy_is_not_waited_for(void **state)
{
    (void)state;
    note_session(B);
    note_marks(B, 3);
    make_full(B);
    stage.c[B].may_be_used = false;
    check_choice(A, ROUTING_BY_LEAST);
}

int main(void)
{
#define ON_STAGE(claim) cmocka_unit_test_setup_teardown(claim, set_stage, free_stage)
    const struct CMUnitTest tests[] = {
        ON_STAGE(policies_and_words_have_their_names),
        ON_STAGE(the_only_candidate_is_taken_whatever_is_known),
        ON_STAGE(when_none_may_be_used_there_is_none),
        ON_STAGE(when_all_that_may_be_used_are_full_it_is_full),
        ON_STAGE(a_higher_tier_waits_until_nobody_of_a_lower_one_is_eligible),
        ON_STAGE(whoever_was_tried_is_not_chosen_again),
        ON_STAGE(least_takes_the_smallest_load_for_its_weight),
        ON_STAGE(ties_go_to_who_has_served_fewest_for_its_weight),
        ON_STAGE(ties_never_all_go_to_the_first),
        ON_STAGE(who_is_not_eligible_takes_no_part_in_a_comparison),
        ON_STAGE(round_robin_spreads_turns_by_weight),
        ON_STAGE(round_robin_goes_on_among_those_that_are_left),
        ON_STAGE(first_takes_the_first_that_is_eligible),
        ON_STAGE(a_session_goes_where_it_was),
        ON_STAGE(a_session_of_an_upstream_that_is_out_goes_by_prefix),
        ON_STAGE(a_session_of_an_upstream_that_serves_no_more_goes_elsewhere),
        ON_STAGE(whoever_knows_most_of_the_prompt_is_taken),
        ON_STAGE(less_than_affinity_min_is_not_followed),
        ON_STAGE(of_two_that_know_as_much_the_less_loaded_is_taken),
        ON_STAGE(who_knows_as_much_and_is_full_is_not_preferred),
        ON_STAGE(an_ejected_upstream_knows_nothing),
        ON_STAGE(without_a_memory_it_goes_by_load),
        ON_STAGE(above_the_bound_a_session_is_passed_over_for_an_idle_one),
        ON_STAGE(above_the_bound_it_stays_when_the_others_do_little_less),
        ON_STAGE(a_heavier_upstream_may_have_more),
        ON_STAGE(loads_of_those_that_are_not_eligible_do_not_count),
        ON_STAGE(an_overflow_goes_to_who_knows_most_among_the_least_loaded),
        ON_STAGE(an_overflow_of_which_nobody_knows_goes_by_load),
        ON_STAGE(an_overflow_never_goes_back),
        ON_STAGE(a_session_that_overflowed_stays_at_its_new_place),
        ON_STAGE(a_full_upstream_that_knows_enough_is_waited_for),
        ON_STAGE(after_affinity_wait_it_overflows),
        ON_STAGE(less_than_16_kib_is_not_waited_for),
        ON_STAGE(nobody_is_waited_for_when_all_are_full),
        ON_STAGE(a_full_upstream_of_the_lower_tier_is_waited_for),
        ON_STAGE(who_is_not_healthy_is_not_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
