/* test_upstream_pool_hint.c -- the name and the slot of a session, as servers are told them (OPERATIONS 4.5). */
#include "lib/test.h"

#include "affinity/session_names.h"
#include "lib/failing_malloc.h"
#include "upstream/upstream_pool_internal.h"

enum { N_SLOTS = 2, N_TICKETS = 4 };

/* One upstream that wants to be told both; of the pool there is what hints need. */
static struct {
    struct upstream_pool pool;
    struct upstream_live live;
    struct config config;
    struct upstream_entry entry;
    struct upstream_table table;
    struct upstream_candidate candidate;
    struct upstream_route route;
    struct upstream_want wants[N_TICKETS];
    struct upstream_ticket tickets[N_TICKETS];
    uint64_t now_ms;
} stage;

static int set_stage(void **state)
{
    (void)state;
    memset(&stage, 0, sizeof(stage));
    stage.config.session_header = stage.config.slot_pinning = true;
    stage.live.n_slots = N_SLOTS;
    stage.entry = (struct upstream_entry){.config = &stage.config, .live = &stage.live};
    stage.table = (struct upstream_table){.entries = &stage.entry, .n = 1};
    stage.route = (struct upstream_route){.name = STR("m"), .candidates = &stage.candidate, .n = 1};
    return 0;
}

static int free_stage(void **state)
{
    (void)state;
    session_names_free(stage.pool.names);
    free(stage.live.slots);
    return 0;
}

/* A round that goes on with `session` and is gone on with by `next` has a place, of this ticket. */
static const struct upstream_hint *begin_round(size_t i, const char *session, const char *next)
{
    struct upstream_ticket *t = &stage.tickets[i];

    stage.wants[i] = (struct upstream_want){
        .table = &stage.table,
        .route = &stage.route,
        .owner = STR("o"),
        .session = str_from_c(session),
        .session_next = next == NULL ? STR_NONE : str_from_c(next),
        .takes_slot = true,
    };
    t->want = &stage.wants[i];
    upstream_pool_read_session(&stage.pool, t);
    upstream_pool_take_hint(&stage.pool, t, &stage.live, ++stage.now_ms);
    stage.live.in_flight++;
    return &t->hint;
}

static void end_round(size_t i)
{
    upstream_pool_end_hint(&stage.tickets[i], &stage.live);
    stage.live.in_flight--;
}

/* One round alone. */
static struct upstream_hint hint_of(const char *session, const char *next)
{
    const struct upstream_hint hint = *begin_round(0, session, next);

    end_round(0);
    return hint;
}

static void a_chain_keeps_its_name_and_its_slot(void **state)
{
    const struct upstream_hint first = hint_of("", "r1");

    (void)state;
    assert_int_not_equal(first.name, 0);
    assert_in_range(first.slot, 0, N_SLOTS - 1);
    for (size_t i = 1; i < 8; i++) {
        const char before[] = {'r', (char)('0' + i), '\0'}, own[] = {'r', (char)('1' + i), '\0'};
        const struct upstream_hint hint = hint_of(before, own);

        assert_int_equal(hint.name, first.name);
        assert_int_equal(hint.slot, first.slot);
    }
}

static void a_session_that_has_a_word_is_called_by_it(void **state)
{
    const struct upstream_hint one = hint_of("key", NULL), two = hint_of("key", NULL);

    (void)state;
    assert_int_equal(one.name, two.name);
    assert_int_not_equal(one.name, hint_of("other", NULL).name);
    assert_int_not_equal(one.name, 0);
}

static void what_belongs_to_nothing_has_neither(void **state)
{
    const struct upstream_hint hint = hint_of("", NULL);

    (void)state;
    assert_int_equal(hint.name, 0);
    assert_int_equal(hint.slot, -1);
}

static void nobody_who_is_told_nothing_costs_anything(void **state)
{
    (void)state;
    stage.config.session_header = stage.config.slot_pinning = false;
    assert_int_equal(hint_of("key", NULL).name, 0);
    assert_null(stage.pool.names);
    assert_null(stage.live.slots);
}

static void sessions_have_slots_of_their_own_while_there_are_enough(void **state)
{
    const int x = hint_of("x", NULL).slot, y = hint_of("y", NULL).slot;

    (void)state;
    assert_int_not_equal(x, y);
    assert_int_equal(hint_of("x", NULL).slot, x);
    assert_int_equal(hint_of("y", NULL).slot, y);
}

static void the_slot_that_has_rested_longest_is_given_to_another(void **state)
{
    const int x = hint_of("x", NULL).slot, y = hint_of("y", NULL).slot;

    (void)state;
    assert_int_equal(hint_of("x", NULL).slot, x);
    assert_int_equal(hint_of("z", NULL).slot, y);
    assert_int_equal(hint_of("x", NULL).slot, x);
}

static void a_busy_slot_is_not_told_and_stays_its_session_s(void **state)
{
    const int x = begin_round(0, "x", NULL)->slot;

    (void)state;
    assert_int_equal(begin_round(1, "x", NULL)->slot, -1);
    end_round(1);
    assert_int_not_equal(begin_round(1, "y", NULL)->slot, x);
    assert_int_not_equal(stage.tickets[1].hint.slot, -1);
    assert_int_equal(begin_round(2, "z", NULL)->slot, -1);
    end_round(2);
    end_round(1);
    end_round(0);
    assert_int_equal(hint_of("x", NULL).slot, x);
}

static void no_slot_is_told_beside_a_round_of_unknown_place(void **state)
{
    (void)state;
    (void)begin_round(0, "", NULL);
    assert_int_equal(begin_round(1, "x", NULL)->slot, -1);
    end_round(0);
    assert_int_equal(begin_round(2, "y", NULL)->slot, -1);
    end_round(1);
    end_round(2);
    assert_int_not_equal(hint_of("x", NULL).slot, -1);
}

static void a_request_that_takes_no_slot_is_told_none(void **state)
{
    struct upstream_ticket *t = &stage.tickets[0];

    (void)state;
    (void)hint_of("x", NULL);
    stage.wants[0].takes_slot = false;
    upstream_pool_read_session(&stage.pool, t);
    upstream_pool_take_hint(&stage.pool, t, &stage.live, ++stage.now_ms);
    assert_int_equal(t->hint.slot, -1);
    assert_int_not_equal(t->hint.name, 0);
}

static void a_server_that_has_not_said_how_many_slots_it_has_is_told_none(void **state)
{
    (void)state;
    stage.live.n_slots = 0;
    assert_int_equal(hint_of("x", NULL).slot, -1);
    stage.live.n_slots = 1;
    assert_int_equal(hint_of("x", NULL).slot, 0);
}

static void a_server_with_fewer_slots_than_before_is_told_none_of_the_others(void **state)
{
    (void)state;
    (void)hint_of("x", NULL);
    assert_int_equal(hint_of("y", NULL).slot, 1);
    stage.live.n_slots = 1;
    assert_int_equal(hint_of("y", NULL).slot, 0);
}

static void slots_of_a_server_that_has_lost_its_caches_are_anybody_s(void **state)
{
    const int x = begin_round(0, "x", NULL)->slot;

    (void)state;
    upstream_live_forget_slots(&stage.live);
    assert_int_not_equal(begin_round(1, "x", NULL)->slot, x);
    end_round(1);
    end_round(0);
}

static void without_memory_requests_go_without(void **state)
{
    (void)state;
    for (long n = 0; n < 2; n++) {
        struct upstream_hint hint;

        failing_malloc_begin(n, FAILS_ONCE);
        hint = hint_of("x", "y");
        assert_true(failing_malloc_end());
        assert_int_not_equal(hint.name, 0);
        assert_int_equal(hint.slot == -1, n == 1);
        (void)free_stage(state);
        (void)set_stage(state);
    }
}

#define HINT_TEST(name) cmocka_unit_test_setup_teardown(name, set_stage, free_stage)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HINT_TEST(a_chain_keeps_its_name_and_its_slot),
        HINT_TEST(a_session_that_has_a_word_is_called_by_it),
        HINT_TEST(what_belongs_to_nothing_has_neither),
        HINT_TEST(nobody_who_is_told_nothing_costs_anything),
        HINT_TEST(sessions_have_slots_of_their_own_while_there_are_enough),
        HINT_TEST(the_slot_that_has_rested_longest_is_given_to_another),
        HINT_TEST(a_busy_slot_is_not_told_and_stays_its_session_s),
        HINT_TEST(no_slot_is_told_beside_a_round_of_unknown_place),
        HINT_TEST(a_request_that_takes_no_slot_is_told_none),
        HINT_TEST(a_server_that_has_not_said_how_many_slots_it_has_is_told_none),
        HINT_TEST(a_server_with_fewer_slots_than_before_is_told_none_of_the_others),
        HINT_TEST(slots_of_a_server_that_has_lost_its_caches_are_anybody_s),
        HINT_TEST(without_memory_requests_go_without),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
