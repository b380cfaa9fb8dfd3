/* sql_schema.c -- tables and migrations.
 *
 *     history   a tree of responses, or a conversation and what continues it.
 *               is_deleted: the conversation is; its responses live on.
 *               locked_by: a name that begins with that of a holder, or with work/ when
 *               it is that of a response under way.
 *               used_at: in milliseconds of the store's own time (store_time.h),
 *               for what is used most is used again within the second;
 *               created_at is what clients see, in seconds of the wall clock.
 *     response  head and tail are NULL once it was deleted but is still needed
 *               by those that continue it. last_item: the newest item of the
 *               history when it was saved, which is where a conversation stood.
 *     item      response: whose request or output it was, NULL when a client
 *               added it to a conversation. ref: the item that has the body.
 *               in_conversation: 1; 0 when it never was or was deleted from it; 2
 *               when the conversation held an item with this id before.
 *     meta      one row. compatible_from: what a program must know at least to use the tables
 *               (schema.h).
 *     clock     one row: the store's own time, when it was written down.
 *     work      a response that is under way, from when it was accepted (store_work.h).
 *               Locked or not, started or not: these two are its state. bytes: what
 *               the history counts for it besides its items.
 *     journal   the events of such a response, in rows (store_events.h). Before them, as
 *               the pieces of row -1, its request: work is changed with each row, and
 *               SQLite reads all of what it changes.
 *     cuts      of the events of a response that has ended, in pieces (store_cuts.h).
 *               first: which of all bytes comes first in it; cuts_at: since when, in the
 *               store's own time.
 *     idempotency  a key, locked while its request runs, with the answer afterwards;
 *               begun_at: in the store's own time (store_idempotency.h).
 *
 * What a column means is a part of the version: a change of meaning is a migration
 * as much as a new column is. Migrations run in one transaction, a file is copied before
 * (NAME.v<version>), and within a major version they only add: tables, indexes, columns with
 * defaults. So the program of before goes on with them (docs/upgrade.md).
 *
 *     1   until it had a successor it was changed in place, which is why the second
 *         migration looks at what it finds: items without is_hidden, and uses in
 *         seconds or milliseconds of a wall clock
 *     2   uses are in the store's own time. Those of before begin anew, in the same
 *         order: nothing can tell whether the clock that they are from was right
 *     3   responses under way, events, idempotency keys
 *     4   compatible_from
 *
 * A response belongs to a conversation when it has no parent and its history is
 * one; it may still be continued by responses that are no part of it.
 *
 * Rows of a history are numbered in the order in which they came, since whoever
 * adds some holds a lock on the row of the history; sequences never go back. */
#include "store/sql_schema.h"

#include <string.h>

#include "base/buf.h"
#include "ev/log.h"
#include "store/store_session.h"

static int add_is_hidden(struct sql *db, struct err *reterr);
static int begin_time(struct sql *db, struct err *reterr);

static const struct migration {
    const char *script;
    int (*steps[2])(struct sql *db, struct err *reterr); /* after the script */
} migrations[SQL_SCHEMA_VERSION] = {
    {"CREATE TABLE history ("
     " seq {SEQ},"
     " owner TEXT NOT NULL,"
     " conversation_id TEXT UNIQUE,"
     " metadata {BYTES},"
     " created_at BIGINT NOT NULL,"
     " used_at BIGINT NOT NULL,"
     " is_deleted BIGINT NOT NULL DEFAULT 0,"
     " locked_by TEXT,"
     " locked_until BIGINT NOT NULL DEFAULT 0,"
     " n_responses BIGINT NOT NULL,"
     " bytes BIGINT NOT NULL);"
     "CREATE INDEX history_by_use ON history (used_at, seq);"
     "CREATE INDEX history_by_owner ON history (owner, used_at, seq);"
     "CREATE INDEX history_by_lock ON history (locked_by) WHERE locked_by IS NOT NULL;"

     "CREATE TABLE response ("
     " seq {SEQ},"
     " id TEXT NOT NULL UNIQUE,"
     " history BIGINT NOT NULL REFERENCES history (seq) ON DELETE CASCADE,"
     " parent BIGINT,"
     " status BIGINT NOT NULL,"
     " created_at BIGINT NOT NULL,"
     " last_item BIGINT NOT NULL,"
     " head {BYTES},"
     " tail {BYTES});"
     "CREATE INDEX response_by_history ON response (history);"
     "CREATE INDEX response_by_parent ON response (parent) WHERE parent IS NOT NULL;"

     "CREATE TABLE item ("
     " seq {SEQ},"
     " id TEXT NOT NULL,"
     " history BIGINT NOT NULL REFERENCES history (seq) ON DELETE CASCADE,"
     " response BIGINT,"
     " is_output BIGINT NOT NULL,"
     " is_hidden BIGINT NOT NULL,"
     " in_conversation BIGINT NOT NULL,"
     " ref BIGINT REFERENCES item (seq) ON DELETE SET NULL,"
     " body {BYTES});"
     "CREATE INDEX item_by_id ON item (id, seq);"
     "CREATE INDEX item_by_history ON item (history, seq);"
     "CREATE INDEX item_by_response ON item (response, seq) WHERE response IS NOT NULL;"
     "CREATE INDEX item_by_ref ON item (ref) WHERE ref IS NOT NULL",
     {NULL, NULL}},

    {"CREATE TABLE clock (time_ms BIGINT NOT NULL)", {add_is_hidden, begin_time}},

    {"ALTER TABLE history ADD COLUMN cuts_bytes BIGINT NOT NULL DEFAULT 0;"

     "CREATE TABLE work ("
     " response BIGINT PRIMARY KEY REFERENCES response (seq) ON DELETE CASCADE,"
     " history BIGINT NOT NULL,"
     " owner TEXT NOT NULL,"
     " is_started BIGINT NOT NULL DEFAULT 0,"
     " is_cancelled BIGINT NOT NULL DEFAULT 0,"
     " locked_by TEXT,"
     " locked_until BIGINT NOT NULL DEFAULT 0,"
     " n_claims BIGINT NOT NULL DEFAULT 0,"
     " bytes BIGINT NOT NULL,"
     " flags BIGINT NOT NULL);"
     "CREATE INDEX work_by_history ON work (history);"
     "CREATE INDEX work_by_lock ON work (locked_by) WHERE locked_by IS NOT NULL;"
     "CREATE INDEX work_queued ON work (owner, response)"
     " WHERE is_started = 0 AND locked_by IS NULL;"
     "CREATE INDEX work_lost ON work (response) WHERE is_started = 1 AND locked_by IS NULL;"

     "CREATE TABLE journal ("
     " response BIGINT NOT NULL REFERENCES response (seq) ON DELETE CASCADE,"
     " first BIGINT NOT NULL,"
     " cuts {BYTES},"
     " done {BYTES},"
     " pieces {BYTES},"
     " PRIMARY KEY (response, first));"

     "CREATE TABLE cuts ("
     " response BIGINT NOT NULL REFERENCES response (seq) ON DELETE CASCADE,"
     " first BIGINT NOT NULL,"
     " cuts_at BIGINT NOT NULL,"
     " bytes {BYTES} NOT NULL,"
     " PRIMARY KEY (response, first)){BY_KEY};"
     "CREATE INDEX cuts_by_age ON cuts (cuts_at, response) WHERE first = 0;"

     "CREATE TABLE idempotency ("
     " owner TEXT NOT NULL,"
     " path TEXT NOT NULL,"
     " key TEXT NOT NULL,"
     " sha256 {BYTES} NOT NULL,"
     " begun_at BIGINT NOT NULL,"
     " locked_by TEXT,"
     " locked_until BIGINT NOT NULL,"
     " response_id TEXT,"
     " status BIGINT NOT NULL DEFAULT 0,"
     " body {BYTES},"
     " PRIMARY KEY (owner, path, key));"
     "CREATE INDEX idempotency_by_lock ON idempotency (locked_by) WHERE locked_by IS NOT NULL;"
     "CREATE INDEX idempotency_by_age ON idempotency (begun_at)",
     {NULL, NULL}},

    {"ALTER TABLE meta ADD COLUMN compatible_from BIGINT NOT NULL DEFAULT 4", {NULL, NULL}},
};

/* ---- steps that a script cannot do */

/* SQLite has no ADD COLUMN IF NOT EXISTS; and PostgreSQL ends a transaction in which
 * something has failed, unless there is a savepoint. */
static int add_is_hidden(struct sql *db, struct err *reterr)
{
    const struct sql_driver *driver = db->driver;

    if (driver->script(db, "SAVEPOINT look", reterr) == -1)
        return -1;
    if (driver->script(db, "SELECT is_hidden FROM item LIMIT 0", NULL) == 0)
        return driver->script(db, "RELEASE SAVEPOINT look", reterr);
    return driver->script(db,
                          "ROLLBACK TO SAVEPOINT look;"
                          "ALTER TABLE item ADD COLUMN is_hidden BIGINT NOT NULL DEFAULT 0",
                          reterr);
}

static int begin_time(struct sql *db, struct err *reterr)
{
    const struct sql_value now = {.i = store_clock_ms()};

    if (db->driver->run(db, SQL_CLOCK_BEGIN, &now, NULL, NULL, NULL, reterr) == -1)
        return -1;
    return db->driver->run(db, SQL_USES_BEGIN, &now, NULL, NULL, NULL, reterr);
}

/* ---- migrating */

/* A script with the words that the driver has for its types and tables. */
static void script_write(const struct sql_driver *driver, const char *script, struct buf *out)
{
    const struct {
        str mark;
        const char *word;
    } words[] = {{STR("{SEQ}"), driver->seq_type},
                 {STR("{BYTES}"), driver->bytes_type},
                 {STR("{BY_KEY}"), driver->by_key}};
    str rest = str_from_c(script);

    while (rest.len > 0) {
        size_t n = str_find_char(rest, '{');

        buf_append(out, str_from(rest.p, n));
        rest = str_skip(rest, n);
        for (size_t i = 0; i < COUNT_OF(words); i++) {
            if (str_starts_with(rest, words[i].mark)) {
                buf_c(out, words[i].word);
                rest = str_skip(rest, words[i].mark.len);
            }
        }
    }
}

static int run_migration(struct sql *db, const struct migration *m, struct err *reterr)
{
    enum { STEPS = COUNT_OF(m->steps) };
    struct buf text = {0};
    int rc = -1;

    script_write(db->driver, m->script, &text);
    if (buf_failed(&text))
        err_set_no_memory(reterr);
    else
        rc = db->driver->script(db, buf_cstr(&text), reterr);
    buf_fini(&text);
    for (size_t i = 0; i < STEPS && rc == 0 && m->steps[i] != NULL; i++)
        rc = m->steps[i](db, reterr);
    return rc;
}

/* ---- which version is it? */

/* Versions before had no column that says it, and programs that know no other than their own. */
enum { COMPATIBLE_SINCE = 4 };

static const struct schema_reach reach = {.writes = SQL_SCHEMA_VERSION, .reads = SQL_SCHEMA_OLDEST};

static int on_number(void *arg, const struct sql_value *columns, struct err *reterr)
{
    (void)reterr;
    *(int64_t *)arg = columns[0].i;
    return 0;
}

static int read_number(struct sql *db, enum sql_statement which, int64_t *ret, struct err *reterr)
{
    *ret = 0;
    return db->driver->run(db, which, NULL, on_number, ret, NULL, reterr);
}

/* Fails when the tables can neither be used nor migrated. */
static int read_version(struct sql *db, struct store_schema *ret, enum schema_verdict *ret_verdict,
                        struct err *reterr)
{
    if (read_number(db, SQL_SCHEMA_GET, &ret->version, reterr) == -1)
        return -1;
    ret->compatible_from = ret->version;
    if (ret->version >= COMPATIBLE_SINCE &&
        read_number(db, SQL_SCHEMA_COMPATIBLE, &ret->compatible_from, reterr) == -1)
        return -1;
    *ret_verdict = schema_judge(reach, ret->version, ret->compatible_from);
    if (*ret_verdict == SCHEMA_TOO_OLD || *ret_verdict == SCHEMA_TOO_NEW)
        return schema_refuse(reach, ret->version, ret->compatible_from, reterr);
    return 0;
}

int sql_schema_look(struct sql *db, struct store_schema *ret, struct err *reterr)
{
    enum schema_verdict verdict = SCHEMA_EMPTY;
    int64_t n_tables;

    *ret = (struct store_schema){.writes = reach.writes, .reads = reach.reads};
    if (read_number(db, db->driver->count_meta, &n_tables, reterr) == -1 ||
        (n_tables > 0 && read_version(db, ret, &verdict, reterr) == -1))
        return -1;
    ret->is_usable = verdict == SCHEMA_CURRENT || verdict == SCHEMA_NEWER;
    return 0;
}

/* ---- preparing */

static int version_set(struct sql *db, struct err *reterr)
{
    const struct sql_value values[] = {{.i = SQL_SCHEMA_VERSION},
                                       {.i = SQL_SCHEMA_COMPATIBLE_FROM}};

    if (db->driver->script(db, "DELETE FROM meta", reterr) == -1)
        return -1;
    return db->driver->run(db, SQL_SCHEMA_SET, values, NULL, NULL, NULL, reterr);
}

/* A copy that cannot be made keeps the tables as they are. */
static void say_what_for(struct err *e)
{
    struct err plain;

    if (e == NULL)
        return;
    plain = *e;
    err_set(e, plain.code,
            "%s A copy is made before the tables are migrated, unless store_backup is false.",
            plain.msg);
}

/* Keeps what the migration is to change; nobody writes meanwhile. */
static int copy_before(struct sql *db, const char *place, int64_t version, struct err *reterr)
{
    struct buf to = {0};
    int rc = -1;

    if (place == NULL || db->driver->copy == NULL)
        return 0;
    buf_c(&to, place);
    buf_c(&to, ".v");
    buf_int(&to, version);
    if (buf_failed(&to))
        err_set_no_memory(reterr);
    else
        rc = db->driver->copy(db, buf_cstr(&to), SQL_COPY_REPLACES, reterr);
    buf_fini(&to);
    if (rc == -1)
        say_what_for(reterr);
    return rc;
}

static int migrate(struct sql *db, const char *place, int64_t version, struct err *reterr)
{
    if (version > 0) {
        log_line(LOG_INFO, "migrating the store",
                 (struct log_field[]){LOG_INT("from", version), LOG_INT("to", SQL_SCHEMA_VERSION),
                                      LOG_END});
        if (copy_before(db, place, version, reterr) == -1)
            return -1;
    }
    if (db->driver->be_patient != NULL && db->driver->be_patient(db, reterr) == -1)
        return -1;
    for (int64_t v = version; v < SQL_SCHEMA_VERSION; v++) {
        if (run_migration(db, &migrations[v], reterr) == -1)
            return -1;
    }
    return version_set(db, reterr);
}

/* Who uses the tables now knows the version that they have, and maybe no later one. */
static int refuse_to_share(int64_t version, struct err *reterr)
{
    err_set(reterr, ERR_STORE,
            "The store would have to be migrated (its tables have version %lld, this program works "
            "with %d) in a way that the running program cannot use: stop that one, and start this "
            "one then.",
            (long long)version, SQL_SCHEMA_VERSION);
    return -1;
}

static int prepare_tables(struct sql *db, const char *place, bool shares, struct err *reterr)
{
    struct store_schema schema = {.version = 0};
    enum schema_verdict verdict;

    if (db->driver->script(db, "CREATE TABLE IF NOT EXISTS meta (schema_version BIGINT NOT NULL)",
                           reterr) == -1 ||
        read_version(db, &schema, &verdict, reterr) == -1)
        return -1;
    if (verdict == SCHEMA_CURRENT || verdict == SCHEMA_NEWER)
        return 0;
    if (shares && verdict == SCHEMA_OLDER && schema.version < SQL_SCHEMA_COMPATIBLE_FROM)
        return refuse_to_share(schema.version, reterr);
    return migrate(db, place, schema.version, reterr);
}

int sql_schema_prepare(struct sql *db, const char *place, bool shares, struct err *reterr)
{
    if (db->driver->script(db, db->driver->begin_write, reterr) == -1)
        return -1;
    if (db->driver->script(db, db->driver->stay_alone, reterr) == 0 &&
        prepare_tables(db, place, shares, reterr) == 0 &&
        db->driver->script(db, "COMMIT", reterr) == 0)
        return 0;
    (void)db->driver->script(db, "ROLLBACK", NULL);
    return -1;
}

int sql_schema_check(struct sql *db, struct err *reterr)
{
    struct store_schema schema;

    if (sql_schema_look(db, &schema, reterr) == -1)
        return -1;
    if (schema.is_usable)
        return 0;
    if (schema.version == 0)
        err_set(reterr, ERR_STORE,
                "There is no table in it: antiphon serve makes them, or antiphon store upgrade.");
    else
        err_set(reterr, ERR_STORE,
                "The store was made by an older version of this program (its tables have version "
                "%lld, this one works with %lld): antiphon store upgrade brings it up to date, and "
                "so does antiphon serve. Nothing was changed.",
                (long long)schema.version, (long long)reach.writes);
    return -1;
}
