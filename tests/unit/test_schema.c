/* test_schema.c -- which version of the tables a program opens, migrates or refuses. */
#include "store/schema.h"

#include <string.h>

#include "lib/test.h"
#include "store/store.h"

static const struct schema_reach reach = {.writes = 7, .reads = 3};

static void every_version_has_one_verdict(void **state)
{
    static const struct {
        int64_t version, compatible_from;
        enum schema_verdict verdict;
    } rows[] = {
        {0, 0, SCHEMA_EMPTY},    {-1, -1, SCHEMA_TOO_OLD}, {1, 1, SCHEMA_TOO_OLD},
        {2, 2, SCHEMA_TOO_OLD},  {3, 3, SCHEMA_OLDER},     {6, 4, SCHEMA_OLDER},
        {7, 7, SCHEMA_CURRENT},  {7, 4, SCHEMA_CURRENT},   {8, 7, SCHEMA_NEWER},
        {8, 3, SCHEMA_NEWER},    {99, 7, SCHEMA_NEWER},    {8, 8, SCHEMA_TOO_NEW},
        {99, 8, SCHEMA_TOO_NEW},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(schema_judge(reach, rows[i].version, rows[i].compatible_from),
                         rows[i].verdict);
}

static void what_is_too_old_names_the_release_to_take_first(void **state)
{
    struct err e = {.code = ERR_NONE};

    (void)state;
    assert_int_equal(schema_refuse(reach, 2, 2, &e), -1);
    assert_int_equal(e.code, ERR_STORE);
    assert_non_null(strstr(e.msg, "tables have version 2"));
    assert_non_null(strstr(e.msg, "reads 3 and later"));
    assert_non_null(strstr(e.msg, "an earlier release")); /* schema.def knows none for it */
    assert_false(store_is_too_new(&e));
}

static void what_is_too_new_names_all_numbers(void **state)
{
    struct err e = {.code = ERR_NONE};

    (void)state;
    assert_int_equal(schema_refuse(reach, 9, 8, &e), -1);
    assert_non_null(strstr(e.msg, "tables have version 9"));
    assert_non_null(strstr(e.msg, "a program that knows 8"));
    assert_non_null(strstr(e.msg, "this one knows 7"));
    assert_true(store_is_too_new(&e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_has_one_verdict),
        cmocka_unit_test(what_is_too_old_names_the_release_to_take_first),
        cmocka_unit_test(what_is_too_new_names_all_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
