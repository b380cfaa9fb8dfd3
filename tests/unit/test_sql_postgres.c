/* test_sql_postgres.c -- the driver for PostgreSQL: what goes wrong, and what must not
 * be told. That it stores and finds is met by the tests of the store.
 *
 * Most of it wants a server: `tests/lib/with-postgres build/release/tests/test_sql_postgres`. */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "lib/test.h"
#include "store/postgres_value.h"
#include "store/sql.h"
#include "store/sql_schema.h"

enum { PATIENT_MS = 20000, HASTY_MS = 300 };

static const char *server_url(void)
{
    const char *url = getenv("ANTIPHON_TEST_POSTGRES");

    if (url == NULL) {
        print_message("ANTIPHON_TEST_POSTGRES names no server; see tests/lib/with-postgres\n");
        skip();
    }
    return url;
}

static struct sql *connect_to(const char *url, uint64_t timeout_ms)
{
    const struct sql_conf conf = {.place = url, .timeout_ms = timeout_ms};
    struct sql *db = NULL;
    struct err e;

    if (sql_postgres.connect(&conf, &db, &e) == -1)
        fail_msg("%s", e.msg);
    return db;
}

static void check_script(struct sql *db, const char *text)
{
    struct err e;

    if (sql_postgres.script(db, text, &e) == -1)
        fail_msg("%s: %s", text, e.msg);
}

static void check_failure(struct sql *db, const char *text, const char *words, bool is_lost)
{
    struct err e;

    assert_int_equal(sql_postgres.script(db, text, &e), -1);
    assert_int_equal(e.code, ERR_STORE);
    if (strstr(e.msg, words) == NULL)
        fail_msg("\"%s\" instead of \"%s\"", e.msg, words);
    assert_int_equal(sql_postgres.is_lost(db), is_lost);
}

/* ---- connecting */

static void check_no_connection(const char *url, uint64_t timeout_ms, const char *words)
{
    const struct sql_conf conf = {.place = url, .timeout_ms = timeout_ms};
    struct sql *db = NULL;
    struct err e;

    assert_int_equal(sql_postgres.connect(&conf, &db, &e), -1);
    assert_null(db);
    assert_int_equal(e.code, ERR_STORE);
    if (strstr(e.msg, words) == NULL || strstr(e.msg, "ecret") != NULL ||
        strstr(e.msg, "pass-of") != NULL)
        fail_msg("%s", e.msg);
}

static void a_url_that_cannot_be_read_is_told_without_its_password(void **state)
{
    static const char *const urls[] = {
        "postgres://me:my@secret@host/db",   "postgres://me:my/secret@host/db",
        "postgres://me:my%secret@host/db",   "postgres://me:secret@host/db?secret",
        "postgres://me:secret@[::1/secret",  "postgres://me:secret@host/db?secrets=x",
        "postgres://me:secret@[::1]x/secret"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(urls); i++)
        check_no_connection(urls[i], PATIENT_MS, "URL cannot be read");
}

/* A listener whose queue nobody empties: the system accepts, and then silence. */
static void a_server_that_says_nothing_is_given_up(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    char url[80];

    (void)state;
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    (void)snprintf(url, sizeof(url), "postgres://me:secret@127.0.0.1:%d/db",
                   ntohs(address.sin_port));
    check_no_connection(url, HASTY_MS, "timeout expired");
    assert_int_equal(close(fd), 0);
    check_no_connection(url, PATIENT_MS, "Connection refused");
}

static void what_the_server_refuses_is_told_without_the_password(void **state)
{
    static const struct {
        const char *more, *words;
    } cases[] = {{"_not_there", "does not exist"},
                 {"?password=secret", "password authentication failed"},
                 {"?sslmode=require", "does not support SSL"}};
    const char *server = server_url();
    char url[300];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        (void)snprintf(url, sizeof(url), "%s%s", server, cases[i].more);
        check_no_connection(url, PATIENT_MS, cases[i].words);
    }
}

/* ---- statements */

static void what_the_server_says_is_told_and_the_connection_stays(void **state)
{
    struct sql *db = connect_to(server_url(), PATIENT_MS);

    (void)state;
    check_failure(db, "SELCT 1", "syntax error at or near \"SELCT\"", false);
    check_failure(db, "SELECT 1; SELECT 1/0", "division by zero", false);
    check_script(db, "SELECT 1");
    check_script(db, "");
    sql_postgres.close(db);
}

/* The server's limit is far below the connection's, which it is a little below otherwise: a busy
 * machine may make of a little nothing. */
static void a_statement_that_takes_too_long_is_ended_by_the_server(void **state)
{
    struct sql *db = connect_to(server_url(), PATIENT_MS);

    (void)state;
    check_script(db, "SET statement_timeout = 200");
    check_failure(db, "SELECT pg_sleep(3600)", "within store_timeout", false);
    check_script(db, "SELECT 1");
    sql_postgres.close(db);
}

static void a_server_that_falls_silent_is_given_up(void **state)
{
    struct sql *db = connect_to(server_url(), HASTY_MS);

    (void)state;
    check_script(db, "SET statement_timeout = 0");
    check_failure(db, "SELECT pg_sleep(30)", "within store_timeout", true);
    sql_postgres.close(db);
}

static void a_connection_that_the_server_ends_is_lost(void **state)
{
    struct sql *db = connect_to(server_url(), PATIENT_MS);

    (void)state;
    check_failure(db, "SELECT pg_terminate_backend(pg_backend_pid())", "terminating connection",
                  true);
    check_failure(db, "SELECT 1", "cannot be reached", true);
    sql_postgres.close(db);
}

/* The server is as the one that was the primary before a failover. */
static void a_server_that_became_read_only_is_left(void **state)
{
    struct sql *db = connect_to(server_url(), PATIENT_MS);

    (void)state;
    check_script(db, "SET default_transaction_read_only = on");
    check_failure(db, "CREATE TABLE t (x INT)", "read-only", true);
    sql_postgres.close(db);
}

static void begin_alone(struct sql *db)
{
    check_script(db, sql_postgres.begin_write);
    check_script(db, sql_postgres.stay_alone);
}

static void a_transaction_left_open_does_not_hold_others_up_for_ever(void **state)
{
    struct sql *stopped = connect_to(server_url(), HASTY_MS);
    struct sql *other = connect_to(server_url(), PATIENT_MS);

    (void)state;
    begin_alone(stopped);
    begin_alone(other);
    check_script(other, "COMMIT");
    check_failure(stopped, "COMMIT", "", true);
    sql_postgres.close(stopped);
    sql_postgres.close(other);
}

static void one_process_at_a_time_stays_alone(void **state)
{
    struct sql *first = connect_to(server_url(), PATIENT_MS);
    struct sql *second = connect_to(server_url(), HASTY_MS);

    (void)state;
    begin_alone(first);
    check_script(second, sql_postgres.begin_write);
    check_failure(second, sql_postgres.stay_alone, "within store_timeout", false);
    check_script(second, "ROLLBACK");
    check_script(first, "COMMIT");
    begin_alone(second);
    check_script(second, "COMMIT");
    sql_postgres.close(first);
    sql_postgres.close(second);
}

static void a_database_has_a_size(void **state)
{
    struct sql *db = connect_to(server_url(), PATIENT_MS);
    uint64_t bytes = 0;
    struct err e;

    (void)state;
    assert_int_equal(sql_postgres.size(db, &bytes, &e), 0);
    assert_true(bytes > 1024 * 1024);
    sql_postgres.close(db);
}

/* ---- the table of statements */

static bool is_type_of(Oid type, char letter)
{
    switch (letter) {
    case 'i':
        return type == 20;
    case 't':
        return type == 25;
    default:
        return type == 17;
    }
}

static void check_statement(PGconn *conn, const struct sql_statement_row *row)
{
    Oid types[POSTGRES_MAX_VALUES];
    int n = (int)postgres_types(row->parameters, types);
    PGresult *prepared = PQprepare(conn, row->name, row->text, n, types);
    PGresult *described = PQdescribePrepared(conn, row->name);

    if (PQresultStatus(prepared) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", row->name, PQresultErrorMessage(prepared));
    if (PQnfields(described) != (int)strlen(row->columns))
        fail_msg("%s gives %d columns", row->name, PQnfields(described));
    for (int i = 0; i < PQnfields(described); i++) {
        if (!is_type_of(PQftype(described, i), row->columns[i]))
            fail_msg("%s: column %d has type %u", row->name, i + 1, PQftype(described, i));
    }
    PQclear(described);
    PQclear(prepared);
}

static void every_statement_gives_the_columns_it_names(void **state)
{
    struct sql *db = connect_to(server_url(), PATIENT_MS);
    PGconn *conn = PQconnectdb(server_url());
    struct err e;

    (void)state;
    if (sql_schema_prepare(db, NULL, false, &e) == -1)
        fail_msg("%s", e.msg);
    sql_postgres.close(db);
    for (size_t i = 0; i < SQL_STATEMENTS; i++) {
        if (i != sql_sqlite.count_meta) /* reads a list that SQLite alone has */
            check_statement(conn, &sql_statements[i]);
    }
    PQfinish(conn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_url_that_cannot_be_read_is_told_without_its_password),
        cmocka_unit_test(a_server_that_says_nothing_is_given_up),
        cmocka_unit_test(what_the_server_refuses_is_told_without_the_password),
        cmocka_unit_test(what_the_server_says_is_told_and_the_connection_stays),
        cmocka_unit_test(a_statement_that_takes_too_long_is_ended_by_the_server),
        cmocka_unit_test(a_server_that_falls_silent_is_given_up),
        cmocka_unit_test(a_connection_that_the_server_ends_is_lost),
        cmocka_unit_test(a_server_that_became_read_only_is_left),
        cmocka_unit_test(a_transaction_left_open_does_not_hold_others_up_for_ever),
        cmocka_unit_test(one_process_at_a_time_stays_alone),
        cmocka_unit_test(a_database_has_a_size),
        cmocka_unit_test(every_statement_gives_the_columns_it_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
