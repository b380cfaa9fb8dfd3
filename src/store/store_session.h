/* store_session.h -- one connection with what the store's functions need around
 * it: transactions, and statements whose failure is remembered. Internal to the
 * store. A session belongs to one thread at a time.
 *
 *     tx_begin -> session_run ... -> tx_end
 *
 * A function of store.h opens a transaction for itself, unless a task has
 * already opened one around it. Inside of a task's transaction a failed
 * statement spoils all of it, whatever the task makes of the failure. */
#ifndef ANTIPHON_STORE_STORE_SESSION_H
#define ANTIPHON_STORE_STORE_SESSION_H

#include "base/buf.h"
#include "store/sql.h"
#include "store/store.h"
#include "store/store_holder.h"

struct store_locks;
struct store_growth;
struct store_time;

struct store_session {
    const struct sql_driver *driver;
    struct sql_conf conf; /* place: own */
    uint64_t lock_ms, key_age_ms;
    char instance[HOLDER_NAME_BYTES]; /* begins all its locks ... */
    char worker[HOLDER_NAME_BYTES];   /* ... but those of work, which have a lease of their own */
    struct store_locks *locks;        /* of the store; NULL: a command's session */
    struct store_growth *growth;      /* of the store; NULL: a command's session */
    struct store_time *time;          /* of the store, or of the command's session */
    struct sql *db;                   /* NULL: not connected */
    bool in_transaction;
    enum store_access access; /* of the current transaction */
    bool commit_sent;         /* for something written: did it take effect? */
    struct buf taken;         /* locks taken in the current transaction, in lines */
    struct err failure;       /* the first of the current transaction; ERR_NONE: none */
};

/* Fills *s but does not connect. Returns 0, or -1 with *reterr filled: the URL
 * is none that we know. */
int session_init(struct store_session *s, const struct store_conf *conf, struct err *reterr);
void session_fini(struct store_session *s);

/* Connects for the first time: also prepares the tables, as conf->tables says. conf names the store
 * in messages. */
int session_open(struct store_session *s, const struct store_conf *conf, struct err *reterr);

int session_connect(struct store_session *s, struct err *reterr);
void session_disconnect(struct store_session *s);
bool session_is_lost(const struct store_session *s);

/* ---- transactions */

int session_begin(struct store_session *s, enum store_access access, struct err *reterr);

/* Ends the transaction in any case. */
int session_commit(struct store_session *s, struct err *reterr);
void session_rollback(struct store_session *s);

struct tx {
    struct store_session *s;
    bool is_own; /* else it is a part of the one around it */
};

int tx_begin(struct tx *tx, struct store_session *s, enum store_access access, struct err *reterr);

/* Commits when rc is 0, else undoes; returns what the whole has come to. */
int tx_end(struct tx *tx, int rc, struct err *reterr);

/* ---- statements */

/* Runs a statement, as sql_driver.run does. */
int session_run(struct store_session *s, enum sql_statement which, const struct sql_value *values,
                sql_on_row *on_row, void *arg, uint64_t *ret_changed, struct err *reterr);

/* Runs a statement of which only matters whether it went well. */
int session_do(struct store_session *s, enum sql_statement which, const struct sql_value *values,
               struct err *reterr);

/* The first row of a statement whose columns are integers. */
struct found {
    bool is_there;
    int64_t v[12];
};

int session_find(struct store_session *s, enum sql_statement which, const struct sql_value *values,
                 struct found *ret, struct err *reterr);

/* Milliseconds since 1970: what processes on several machines agree upon. */
int64_t store_clock_ms(void);

#endif
