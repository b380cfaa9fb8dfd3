/* sql.h -- one connection to an SQL database, whichever it is.
 *
 * The statements are the table in sql_statement.def, written so that SQLite and
 * PostgreSQL both understand them: parameters are $1, $2 and so on. Every connection
 * prepares them as they are first used. A connection belongs to one thread at
 * a time. Internal to the store. */
#ifndef ANTIPHON_STORE_SQL_H
#define ANTIPHON_STORE_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "store/store.h"

enum sql_statement {
#define STATEMENT(symbol, parameters, columns, text) SQL_##symbol,
#include "store/sql_statement.def"
#undef STATEMENT
    SQL_STATEMENTS
};

/* parameters and columns have a letter for each: i a 64-bit integer, t a text, b bytes. */
struct sql_statement_row {
    const char *name, *parameters, *columns, *text;
};

extern const struct sql_statement_row sql_statements[SQL_STATEMENTS];

/* An integer, or a view: STR_NONE is NULL. Which one is told by the statement's
 * letter; an integer is never NULL as a parameter, and 0 for NULL in a column. */
struct sql_value {
    int64_t i;
    str s;
};

/* Takes one row of an answer; the views die when it returns. Returns 0, or -1 with *reterr filled,
 * which ends the statement. */
typedef int sql_on_row(void *arg, const struct sql_value *columns, struct err *reterr);

struct sql_conf {
    const char *place; /* a path or URL, as the driver wants it */
    bool sync;
    uint64_t timeout_ms;
};

struct sql;

enum sql_copy { SQL_COPY_IS_NEW, SQL_COPY_REPLACES };

struct sql_driver {
    const char *name;
    /* types of the columns in schema scripts, which have {BYTES} and {SEQ}: a
     * growing integer key */
    const char *bytes_type, *seq_type;
    const char *by_key; /* ends a table that is to have its rows in the order of its key */
    const char *begin_read, *begin_write; /* the first sees one state of everything throughout */
    const char *stay_alone; /* in a write transaction: until its end, no other gets past this */
    const char *vacuum;     /* gives unused space back; outside of transactions */
    enum sql_statement count_meta; /* how many tables of the name meta there are */
    bool one_writer;               /* writes go through one connection, several in a transaction */

    int (*connect)(const struct sql_conf *conf, struct sql **ret, struct err *reterr);
    void (*close)(struct sql *db); /* NULL is fine */

    /* Tells, after a failed attempt to connect, whether there is a server, and whether it lets
     * anybody in. NULL: there is none to wait for. */
    enum store_arrival (*arrival)(const struct sql_conf *conf);

    /* Runs statements without parameters and rows, separated by semicolons. */
    int (*script)(struct sql *db, const char *text, struct err *reterr);

    /* Runs a statement. on_row may be NULL. *ret_changed, unless NULL: rows written. */
    int (*run)(struct sql *db, enum sql_statement which, const struct sql_value *values,
               sql_on_row *on_row, void *arg, uint64_t *ret_changed, struct err *reterr);

    /* Lets each statement take a day, until the end of the open transaction: nothing shorter suits
     * what goes over all there is. NULL: statements have no timeout. */
    int (*be_patient)(struct sql *db, struct err *reterr);

    /* True while a transaction is open, also one that was to end, and did not. */
    bool (*is_in_transaction)(const struct sql *db);

    /* True when the connection is lost: only closing it is left. */
    bool (*is_lost)(const struct sql *db);

    /* Checks that what is committed now would be found again. Cheap: asked before each commit that
     * writes. NULL: always. */
    int (*check)(struct sql *db, struct err *reterr);

    /* Checks what would keep a larger write from succeeding: asked now and then, outside of
     * transactions, while something is wrong. NULL: nothing. */
    int (*probe)(struct sql *db, struct err *reterr);

    /* Copies the whole database as it is now into a file, which is there whole or not at all; others
     * may go on using the database. NULL: it has tools of its own for that. */
    int (*copy)(struct sql *db, const char *to, enum sql_copy how, struct err *reterr);

    /* Bytes of the database on disk. */
    int (*size)(struct sql *db, uint64_t *ret, struct err *reterr);

    /* Gives some unused space back, little enough to wait for; outside of transactions. It and what
     * follows are NULL for a database that looks after its disk by itself. */
    int (*give_back)(struct sql *db, bool *ret_more, struct err *reterr);

    /* Makes room on a full disk, so that something can be removed. False: it is not full.
     * with_reserve: with all that was kept for it. */
    bool (*make_room)(struct sql *db, bool with_reserve);

    /* Keep what make_room needs, and make, once, that give_back can work. */
    void (*keep_reserve)(struct sql *db);
    void (*convert)(struct sql *db);

    /* The first part of make_room, without a connection: to open takes space as well. */
    bool (*release_reserve)(const char *place);
};

/* The first member of what a driver returns. */
struct sql {
    const struct sql_driver *driver;
};

extern const struct sql_driver sql_sqlite, sql_postgres;

#endif
