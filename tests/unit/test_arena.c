/* test_arena.c -- memory of one turn. */
#include "lib/test.h"

#include <stdalign.h>

#include "base/arena.h"
#include "base/budget.h"

enum { MIB = 1024 * 1024 };

static void memory_is_zeroed_aligned_and_stays_where_it_is(void **state)
{
    struct arena a = {.limit = 0};
    unsigned char *blocks[300];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        blocks[i] = arena_alloc(&a, i + 1);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % alignof(max_align_t), 0);
        for (size_t k = 0; k <= i; k++)
            assert_int_equal(blocks[i][k], 0);
        memset(blocks[i], (int)i & 255, i + 1);
    }
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        assert_int_equal(blocks[i][0], i & 255);
        assert_int_equal(blocks[i][i], i & 255);
    }
    arena_fini(&a);
}

static void a_block_may_be_larger_than_any_before(void **state)
{
    struct arena a = {.limit = 0};
    char *large;

    (void)state;
    assert_non_null(arena_alloc(&a, 8));
    large = arena_alloc(&a, 1000000);
    assert_non_null(large);
    memset(large, 1, 1000000);
    assert_non_null(arena_alloc(&a, 8));
    arena_fini(&a);
}

static void the_limit_ends_it(void **state)
{
    struct arena a;

    (void)state;
    arena_init(&a, 64);
    assert_non_null(arena_alloc(&a, 64));
    assert_null(arena_alloc(&a, 1));
    arena_fini(&a);
    assert_non_null(arena_alloc(&a, 1)); /* empty again, the limit stays */
    assert_null(arena_alloc(&a, 64));
    arena_fini(&a);
}

/* What is large gets a block of its own, and the one before it goes on. */
static void large_pieces_between_small_ones_waste_nothing(void **state)
{
    struct arena a = {.limit = 0};
    size_t before = budget_used();

    (void)state;
    for (size_t i = 0; i < 100; i++) {
        assert_non_null(arena_alloc(&a, 16));
        assert_non_null(arena_alloc(&a, (size_t)100 * 1024));
    }
    assert_true(budget_used() - before <= a.used + a.used / 8);
    arena_fini(&a);
}

static void what_is_taken_of_the_budget_is_given_back(void **state)
{
    struct arena a = {.limit = 0};
    size_t before = budget_used();

    (void)state;
    for (size_t i = 0; i < 100000; i++)
        assert_non_null(arena_alloc(&a, 100));
    assert_true(budget_used() - before >= a.used);
    assert_true(budget_used() - before <= a.used + a.used / 4);
    arena_fini(&a);
    assert_true(budget_used() <= before + 128 * 1024);
}

static void the_budget_ends_it(void **state)
{
    struct arena a = {.limit = 0};

    (void)state;
    budget_set_limit(budget_used() + MIB);
    while (arena_alloc(&a, 4096) != NULL)
        assert_true(a.used <= MIB + 128 * 1024);
    assert_false(a.is_full); /* no limit of its own */
    assert_true(a.used >= MIB / 2);
    budget_set_limit(0);
    assert_non_null(arena_alloc(&a, 4096));
    arena_fini(&a);
}

static void sizes_that_overflow_give_nothing(void **state)
{
    struct arena a = {.limit = 0};

    (void)state;
    assert_null(arena_array(&a, SIZE_MAX / 2, 3));
    assert_null(arena_alloc(&a, SIZE_MAX));
    arena_fini(&a);
}

static void a_copy_ends_in_nul(void **state)
{
    struct arena a = {.limit = 0};
    str copy = arena_dup(&a, STR("abc"));

    (void)state;
    assert_str_c(copy, "abc");
    assert_int_equal(copy.p[3], '\0');
    assert_true(str_is_none(arena_dup(&a, STR_NONE)));
    copy = arena_dup(&a, STR(""));
    assert_false(str_is_none(copy));
    assert_int_equal(copy.p[0], '\0');
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_aligned_and_stays_where_it_is),
        cmocka_unit_test(a_block_may_be_larger_than_any_before),
        cmocka_unit_test(the_limit_ends_it),
        cmocka_unit_test(large_pieces_between_small_ones_waste_nothing),
        cmocka_unit_test(what_is_taken_of_the_budget_is_given_back),
        cmocka_unit_test(the_budget_ends_it),
        cmocka_unit_test(sizes_that_overflow_give_nothing),
        cmocka_unit_test(a_copy_ends_in_nul),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
