/* sql_postgres.c -- the driver for PostgreSQL, over libpq.
 *
 * libpq's blocking calls wait for as long as the server likes, and a machine that
 * vanished says nothing. So connections are non-blocking, and every statement
 * is sent and its answer awaited with poll() up to a deadline, timeout_ms from
 * its start. The server has a statement_timeout a little below, so that usually
 * it is the server that gives up, with the connection intact; when our deadline
 * passes, the connection is lost. Only connecting is left to libpq, which goes
 * through several hosts and their addresses: each has timeout_ms, in seconds
 * rounded up and two at least.
 *
 * Rows come one by one (single-row mode) instead of as a whole result: the
 * context of a long conversation, which goes into an arena anyway, is not held
 * twice. A result object for each row costs far less than fetching it. So
 * on_row cannot run another statement on its connection. */
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include <libpq-fe.h>

#include "ev/log.h"
#include "store/postgres_error.h"
#include "store/postgres_value.h"
#include "store/sql.h"
#include "store/store_queue.h"

struct postgres {
    struct sql sql;
    PGconn *conn;
    uint64_t timeout_ms;
    bool is_patient; /* until the transaction ends */
    bool is_lost;
    bool is_prepared[SQL_STATEMENTS];
};

/* State of the answer to one statement. */
struct answer {
    const char *columns; /* their letters */
    sql_on_row *on_row;  /* or NULL */
    void *arg;
    uint64_t deadline_ms;
    uint64_t changed;
    bool has_failed;
};

static struct postgres *postgres_of(struct sql *db)
{
    return (struct postgres *)db;
}

/* ---- waiting */

static int clamp_to_int(uint64_t n)
{
    return n > INT_MAX ? INT_MAX : (int)n;
}

/* Waits for events on a socket; false when nothing happens in time. A signal is no reason to stop
 * waiting. */
static bool wait_for_socket(int fd, short events, uint64_t deadline_ms)
{
    for (;;) {
        uint64_t now = store_monotonic_ms();
        struct pollfd p = {.fd = fd, .events = events};

        if (now >= deadline_ms)
            return false;
        if (poll(&p, 1, clamp_to_int(deadline_ms - now)) > 0)
            return true;
    }
}

/* Reads all input: one call reads at least 8 KiB, but a TLS record may hold 16, and what is left of
 * it inside the TLS library would not wake poll(). */
static bool consume_input(PGconn *conn)
{
    return PQconsumeInput(conn) == 1 && (!PQsslInUse(conn) || PQconsumeInput(conn) == 1);
}

/* Sends what is to be sent and reads until PQgetResult() has something to give
 * without waiting, be it the news that the connection is broken. */
static bool is_answered(struct postgres *p, uint64_t deadline_ms)
{
    for (;;) {
        int unsent = PQflush(p->conn);

        if (unsent == -1 || (unsent == 0 && PQisBusy(p->conn) == 0))
            return true;
        if (!wait_for_socket(PQsocket(p->conn), (short)(POLLIN | (unsent == 1 ? POLLOUT : 0)),
                             deadline_ms))
            return false;
        if (!consume_input(p->conn))
            return true;
    }
}

/* ---- answers */

static int take_row(struct answer *a, const PGresult *result, struct err *reterr)
{
    struct sql_value values[POSTGRES_MAX_VALUES];

    if (!postgres_row(result, a->columns, values)) {
        err_set(reterr, ERR_INTERNAL, "The store gave a row that is not of the form %s.",
                a->columns);
        return -1;
    }
    return a->on_row(a->arg, values, reterr);
}

static int take_result(struct postgres *p, struct answer *a, PGresult *result, struct err *reterr)
{
    switch (PQresultStatus(result)) {
    case PGRES_SINGLE_TUPLE:
        return a->on_row == NULL ? 0 : take_row(a, result, reterr);
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK:
        a->changed = strtoull(PQcmdTuples(result), NULL, 10);
        return 0;
    case PGRES_EMPTY_QUERY:
        return 0;
    default:
        postgres_error_of_result(result, reterr);
        p->is_lost = p->is_lost || postgres_error_ends_connection(result);
        return -1;
    }
}

/* Reads the whole answer; what comes behind a failure is thrown away, because
 * only then the connection can be used again. */
static int read_answer(struct postgres *p, struct answer *a, struct err *reterr)
{
    PGresult *result;

    while (is_answered(p, a->deadline_ms)) {
        result = PQgetResult(p->conn);
        if (result == NULL)
            return a->has_failed ? -1 : 0;
        if (!a->has_failed && take_result(p, a, result, reterr) == -1)
            a->has_failed = true;
        PQclear(result);
    }
    p->is_lost = true;
    if (!a->has_failed)
        err_set(reterr, ERR_STORE, "The store did not answer within store_timeout.");
    return -1;
}

/* Awaits the answer after one of the PQsend functions, which return 0 when they fail. */
static int await_answer(struct postgres *p, int is_sent, struct answer *a, struct err *reterr)
{
    if (is_sent == 0) {
        postgres_error_of_connection(p->conn, reterr);
        return -1;
    }
    return read_answer(p, a, reterr);
}

static struct answer answer_to(struct postgres *p)
{
    enum { PATIENCE_MS = 24 * 3600 * 1000 };

    if (PQtransactionStatus(p->conn) == PQTRANS_IDLE)
        p->is_patient = false;
    return (struct answer){.columns = "",
                           .deadline_ms = store_monotonic_ms() +
                                          (p->is_patient ? PATIENCE_MS : p->timeout_ms)};
}

/* ---- statements */

static int postgres_script(struct sql *db, const char *text, struct err *reterr)
{
    struct postgres *p = postgres_of(db);
    struct answer a = answer_to(p);

    return await_answer(p, PQsendQuery(p->conn, text), &a, reterr);
}

static int prepare_statement(struct postgres *p, enum sql_statement which, struct answer *a,
                             struct err *reterr)
{
    const struct sql_statement_row *row = &sql_statements[which];
    Oid types[POSTGRES_MAX_VALUES];
    size_t n = postgres_types(row->parameters, types);

    if (p->is_prepared[which])
        return 0;
    if (await_answer(p, PQsendPrepare(p->conn, row->name, row->text, (int)n, types), a, reterr) ==
        -1)
        return -1;
    p->is_prepared[which] = true;
    return 0;
}

static int execute_statement(struct postgres *p, enum sql_statement which,
                             const struct sql_value *values, struct answer *a, struct err *reterr)
{
    const struct sql_statement_row *row = &sql_statements[which];
    struct postgres_parameters to;
    int is_sent;

    if (postgres_parameters_set(&to, row->parameters, values, reterr) == -1)
        return -1;
    is_sent =
        PQsendQueryPrepared(p->conn, row->name, (int)to.n, to.values, to.lengths, to.formats, 1);
    if (is_sent == 1)
        (void)PQsetSingleRowMode(p->conn);
    return await_answer(p, is_sent, a, reterr);
}

static int postgres_run(struct sql *db, enum sql_statement which, const struct sql_value *values,
                        sql_on_row *on_row, void *arg, uint64_t *ret_changed, struct err *reterr)
{
    struct postgres *p = postgres_of(db);
    struct answer a = answer_to(p);

    if (prepare_statement(p, which, &a, reterr) == -1)
        return -1;
    a.columns = sql_statements[which].columns;
    a.on_row = on_row;
    a.arg = arg;
    if (execute_statement(p, which, values, &a, reterr) == -1)
        return -1;
    if (ret_changed != NULL)
        *ret_changed = a.changed;
    return 0;
}

static int on_size(void *arg, const struct sql_value *columns, struct err *reterr)
{
    (void)reterr;
    *(uint64_t *)arg = (uint64_t)columns[0].i;
    return 0;
}

static int postgres_size(struct sql *db, uint64_t *ret, struct err *reterr)
{
    static const char text[] = "SELECT pg_database_size(current_database())";
    struct postgres *p = postgres_of(db);
    struct answer a = answer_to(p);
    int is_sent = PQsendQueryParams(p->conn, text, 0, NULL, NULL, NULL, NULL, 1);

    a.columns = "i";
    a.on_row = on_size;
    a.arg = ret;
    if (is_sent == 1)
        (void)PQsetSingleRowMode(p->conn);
    return await_answer(p, is_sent, &a, reterr);
}

static int postgres_be_patient(struct sql *db, struct err *reterr)
{
    postgres_of(db)->is_patient = true;
    return postgres_script(db, "SET LOCAL statement_timeout = 0", reterr);
}

static bool postgres_is_in_transaction(const struct sql *db)
{
    PGTransactionStatusType status = PQtransactionStatus(((const struct postgres *)db)->conn);

    return status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
}

static bool postgres_is_lost(const struct sql *db)
{
    const struct postgres *p = (const struct postgres *)db;

    return p->is_lost || PQstatus(p->conn) == CONNECTION_BAD;
}

/* ---- connecting */

static void on_notice(void *arg, const char *message)
{
    size_t n = strcspn(message, "\n");

    (void)arg;
    log_msg(LOG_DEBUG, "PostgreSQL: %.*s", (int)n, message);
}

/* The URL overrules what stands before it: it may ask for other times, or for any
 * server. Of several hosts the one that can be written to is wanted, and it may be
 * another one after a failover. */
enum { MOST_OPTIONS = 12 };

struct connect_options {
    char seconds[16], milliseconds[16];
    const char *keywords[MOST_OPTIONS], *values[MOST_OPTIONS];
};

static void set_options(struct connect_options *o, const char *url, uint64_t timeout_ms)
{
    const struct {
        const char *keyword, *value;
    } options[] = {
        {"connect_timeout", o->seconds},
        {"tcp_user_timeout", o->milliseconds},
        {"keepalives_idle", "30"},
        {"keepalives_interval", "10"},
        {"keepalives_count", "3"},
        {"target_session_attrs", "read-write"},
        {"fallback_application_name", "antiphon"},
        {"dbname", url},
        {"client_encoding", "UTF8"},
        {NULL, NULL},
    };

    (void)snprintf(o->milliseconds, sizeof(o->milliseconds), "%d", clamp_to_int(timeout_ms));
    (void)snprintf(o->seconds, sizeof(o->seconds), "%d", clamp_to_int((timeout_ms + 999) / 1000));
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        o->keywords[i] = options[i].keyword;
        o->values[i] = options[i].value;
    }
}

/* A server that refuses the user or knows no such database is there. */
static enum store_arrival postgres_arrival(const struct sql_conf *conf)
{
    struct connect_options o;
    struct err e;

    if (postgres_error_in_url(conf->place, &e))
        return STORE_UNKNOWN;
    set_options(&o, conf->place, conf->timeout_ms);
    switch (PQpingParams(o.keywords, o.values, 1)) {
    case PQPING_OK:
        return STORE_THERE;
    case PQPING_REJECT:
    case PQPING_NO_RESPONSE:
        return STORE_COMING;
    case PQPING_NO_ATTEMPT:
        break;
    }
    return STORE_UNKNOWN;
}

/* Sets the server's limits of time, and its planner. An eighth less leaves time for the answer to
 * arrive. The second time ends a transaction whose gateway stopped in the middle, so that it does
 * not keep others waiting. Every statement follows keys from row to row; the planner, which knows
 * little of a recursion, would now and then read the whole table at each step of a chain, and
 * compile what runs for a millisecond. */
static int set_up(struct postgres *p, struct err *reterr)
{
    int statement_ms = clamp_to_int(p->timeout_ms - p->timeout_ms / 8);
    char text[256];

    (void)snprintf(text, sizeof(text),
                   "SET statement_timeout = %d; "
                   "SET idle_in_transaction_session_timeout = %d; "
                   "SET enable_seqscan = off; SET enable_hashjoin = off; "
                   "SET enable_mergejoin = off; SET jit = off",
                   statement_ms, clamp_to_int(p->timeout_ms));
    return postgres_script(&p->sql, text, reterr);
}

static int open_connection(struct postgres *p, const char *url, struct err *reterr)
{
    struct connect_options o;

    set_options(&o, url, p->timeout_ms);
    p->conn = PQconnectdbParams(o.keywords, o.values, 1);
    if (PQstatus(p->conn) != CONNECTION_OK || PQsetnonblocking(p->conn, 1) == -1) {
        postgres_error_of_connection(p->conn, reterr);
        return -1;
    }
    (void)PQsetNoticeProcessor(p->conn, on_notice, NULL);
    return set_up(p, reterr);
}

static void postgres_free(struct postgres *p)
{
    if (p != NULL)
        PQfinish(p->conn);
    free(p);
}

static void postgres_close(struct sql *db)
{
    postgres_free(postgres_of(db));
}

static int postgres_connect(const struct sql_conf *conf, struct sql **ret, struct err *reterr)
{
    struct postgres *p;

    if (postgres_error_in_url(conf->place, reterr))
        return -1;
    p = calloc(1, sizeof(*p));
    if (p == NULL)
        return err_set_no_memory(reterr);
    p->sql.driver = &sql_postgres;
    p->timeout_ms = conf->timeout_ms;
    if (open_connection(p, conf->place, reterr) == -1) {
        postgres_free(p);
        return -1;
    }
    *ret = (struct sql *)p;
    return 0;
}

/* The number of the advisory lock is ours: whoever else uses advisory locks in this database should
 * take another one. It spells "antiphon". */
const struct sql_driver sql_postgres = {
    .name = "postgres",
    .bytes_type = "BYTEA",
    .seq_type = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    .by_key = "",
    .begin_read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    .begin_write = "BEGIN ISOLATION LEVEL READ COMMITTED",
    .stay_alone = "SELECT pg_advisory_xact_lock(7020676865323462510)",
    .vacuum = "VACUUM",
    .count_meta = SQL_POSTGRES_META,
    .one_writer = false,
    .connect = postgres_connect,
    .arrival = postgres_arrival,
    .close = postgres_close,
    .script = postgres_script,
    .run = postgres_run,
    .be_patient = postgres_be_patient,
    .is_in_transaction = postgres_is_in_transaction,
    .is_lost = postgres_is_lost,
    .size = postgres_size,
};
