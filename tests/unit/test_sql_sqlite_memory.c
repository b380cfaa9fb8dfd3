/* test_sql_sqlite_memory.c -- what SQLite holds is counted, and refused like anything else. */
#include <sqlite3.h>

#include "base/budget.h"
#include "lib/test.h"
#include "store/sql_sqlite_memory.h"

enum { MIB = 1024 * 1024 };

static int insert_blob(sqlite3 *db, int mib)
{
    sqlite3_stmt *insert;
    int rc;

    assert_int_equal(
        sqlite3_prepare_v2(db, "INSERT INTO t VALUES (zeroblob(?))", -1, &insert, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_bind_int(insert, 1, mib * MIB), SQLITE_OK);
    rc = sqlite3_step(insert);
    (void)sqlite3_finalize(insert);
    return rc;
}

static void a_database_in_memory_takes_from_the_budget_until_it_ends(void **state)
{
    size_t before = budget_used();
    sqlite3 *db;

    (void)state;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE t (b BLOB)", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(insert_blob(db, 8), SQLITE_DONE);
    assert_true(budget_used() >= before + 8 * MIB);
    budget_set_limit(budget_used() + 4 * MIB);
    assert_int_equal(insert_blob(db, 8), SQLITE_NOMEM);
    budget_set_limit(0);
    assert_int_equal(insert_blob(db, 8), SQLITE_DONE);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_true(budget_used() <= before + MIB);
}

static int count_memory(void **state)
{
    (void)state;
    return sql_sqlite_count_memory();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_database_in_memory_takes_from_the_budget_until_it_ends),
    };

    return cmocka_run_group_tests(tests, count_memory, NULL);
}
