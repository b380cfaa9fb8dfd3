/* test_cut_memory.c -- places of cuts are known to those they belong to, and do not pile up. */
#include "lib/test.h"

#include "memory/cut_memory.h"

static void a_place_belongs_to_its_owner_and_model(void **state)
{
    const struct cut c = {STR("o"), STR("m"), 7};
    const struct cut others[] = {
        {STR("p"), STR("m"), 7}, {STR("o"), STR("n"), 7}, {STR("o"), STR("m"), 8}};
    struct cut_memory *m;
    struct err e;

    (void)state;
    m = cut_memory_new(16, &e);
    assert_non_null(m);
    assert_false(cut_memory_has(m, &c));
    cut_memory_keep(m, &c);
    cut_memory_keep(m, &c);
    assert_true(cut_memory_has(m, &c));
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_false(cut_memory_has(m, &others[i]));
    cut_memory_free(m);
}

static void old_ones_make_room(void **state)
{
    struct cut_memory *m;
    size_t n_known = 0;
    struct err e;

    (void)state;
    m = cut_memory_new(4, &e);
    assert_non_null(m);
    for (uint64_t i = 0; i < 100; i++)
        cut_memory_keep(m, &(struct cut){STR(""), STR("m"), i});
    for (uint64_t i = 0; i < 100; i++)
        n_known += cut_memory_has(m, &(struct cut){STR(""), STR("m"), i});
    assert_int_equal(n_known, 4);
    assert_true(cut_memory_has(m, &(struct cut){STR(""), STR("m"), 99}));
    cut_memory_free(m);
    cut_memory_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_belongs_to_its_owner_and_model),
        cmocka_unit_test(old_ones_make_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
