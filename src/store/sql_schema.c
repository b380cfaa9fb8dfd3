/* sql_schema.c -- tables and migrations.
 *
 *     history   a tree of responses, or a conversation and what continues it.
 *               is_deleted: the conversation is; its responses live on.
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
 *     meta      one row.
 *     clock     one row: the store's own time, when it was written down.
 *
 * What a column means is a part of the version: a change of meaning is a migration
 * as much as a new column is. Migrations run in one transaction, and no copy is
 * kept of what was there before: it would hold what clients have deleted since.
 *
 *     1   until it had a successor it was changed in place, which is why the second
 *         migration looks at what it finds: items without is_hidden, and uses in
 *         seconds or milliseconds of a wall clock
 *     2   uses are in the store's own time. Those of before begin anew, in the same
 *         order: nothing can tell whether the clock that they are from was right
 *
 * A response belongs to a conversation when it has no parent and its history is
 * one; it may still be continued by responses that are no part of it.
 *
 * Rows of a history are numbered in the order in which they came, since whoever
 * adds some holds a lock on the row of the history; sequences never go back. */
#include "store/sql_schema.h"

#include <string.h>

#include "base/buf.h"
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

/* ---- preparing */

/* A script with the types that the driver has for its columns. */
static void script_write(const struct sql_driver *driver, const char *script, struct buf *out)
{
    const struct {
        str mark;
        const char *type;
    } types[] = {{STR("{SEQ}"), driver->seq_type}, {STR("{BYTES}"), driver->bytes_type}};
    str rest = str_from_c(script);

    while (rest.len > 0) {
        size_t n = str_find_char(rest, '{');

        buf_append(out, str_from(rest.p, n));
        rest = str_skip(rest, n);
        for (size_t i = 0; i < COUNT_OF(types); i++) {
            if (str_starts_with(rest, types[i].mark)) {
                buf_c(out, types[i].type);
                rest = str_skip(rest, types[i].mark.len);
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

static int on_version(void *arg, const struct sql_value *columns, struct err *reterr)
{
    int64_t *version = arg;

    (void)reterr;
    *version = columns[0].i;
    return 0;
}

static int version_set(struct sql *db, int64_t version, struct err *reterr)
{
    const struct sql_value value = {.i = version};

    if (db->driver->script(db, "DELETE FROM meta", reterr) == -1)
        return -1;
    return db->driver->run(db, SQL_SCHEMA_SET, &value, NULL, NULL, NULL, reterr);
}

static const char too_new[] = "store_too_new";

bool store_is_too_new(const struct err *e)
{
    return strcmp(e->own_code, too_new) == 0;
}

static int prepare_tables(struct sql *db, struct err *reterr)
{
    int64_t version = 0;

    if (db->driver->script(db, "CREATE TABLE IF NOT EXISTS meta (schema_version BIGINT NOT NULL)",
                           reterr) == -1 ||
        db->driver->run(db, SQL_SCHEMA_GET, NULL, on_version, &version, NULL, reterr) == -1)
        return -1;
    if (version < 0 || version > SQL_SCHEMA_VERSION) {
        err_set(reterr, ERR_STORE,
                "The store was made by a newer version of this program (its tables have version "
                "%lld, this program knows %d): run that version, or name another store.",
                (long long)version, SQL_SCHEMA_VERSION);
        if (reterr != NULL)
            memcpy(reterr->own_code, too_new, sizeof(too_new));
        return -1;
    }
    if (version == SQL_SCHEMA_VERSION)
        return 0;
    if (db->driver->be_patient != NULL && db->driver->be_patient(db, reterr) == -1)
        return -1;
    for (int64_t v = version; v < SQL_SCHEMA_VERSION; v++) {
        if (run_migration(db, &migrations[v], reterr) == -1)
            return -1;
    }
    return version_set(db, SQL_SCHEMA_VERSION, reterr);
}

int sql_schema_prepare(struct sql *db, struct err *reterr)
{
    if (db->driver->script(db, db->driver->begin_write, reterr) == -1)
        return -1;
    if (db->driver->script(db, db->driver->stay_alone, reterr) == 0 &&
        prepare_tables(db, reterr) == 0 && db->driver->script(db, "COMMIT", reterr) == 0)
        return 0;
    (void)db->driver->script(db, "ROLLBACK", NULL);
    return -1;
}
