/* sql_sqlite.c -- the driver for SQLite: a file, or memory for as long as the
 * connection lives.
 *
 * The file is in WAL mode: one connection writes while others read what was
 * there before. With sync each COMMIT waits for the disk. An idle connection
 * holds little: a bounded page cache and the statements that it has used. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "store/sql.h"
#include "store/sql_sqlite.h"

struct sqlite {
    struct sql sql; /* must be first */
    sqlite3 *db;
    char *path;
    struct sqlite_files files; /* as they were when it was opened */
    bool is_memory;
    sqlite3_stmt *statements[SQL_STATEMENTS]; /* NULL: not used yet */
};

/* ---- statements */

/* Prepares a statement with ?1 for $1: $1 is a name to SQLite, numbered as it comes. */
static int prepare_statement(struct sqlite *s, enum sql_statement which, struct err *reterr)
{
    struct buf text = {0};
    int rc;

    buf_c(&text, sql_statements[which].text);
    if (buf_failed(&text)) {
        err_set_no_memory(reterr);
        buf_fini(&text);
        return -1;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.p[i] == '$')
            text.p[i] = '?';
    }
    rc = sqlite3_prepare_v3(s->db, text.p, (int)text.len, SQLITE_PREPARE_PERSISTENT,
                            &s->statements[which], NULL);
    buf_fini(&text);
    return rc == SQLITE_OK ? 0 : sqlite_failed(s->db, rc, reterr);
}

static int bind_one(sqlite3_stmt *st, int number, char kind, const struct sql_value *v)
{
    if (kind == 'i')
        return sqlite3_bind_int64(st, number, v->i);
    if (str_is_none(v->s))
        return sqlite3_bind_null(st, number);
    if (kind == 't')
        return sqlite3_bind_text64(st, number, v->s.p, v->s.len, SQLITE_STATIC, SQLITE_UTF8);
    return sqlite3_bind_blob64(st, number, v->s.p, v->s.len, SQLITE_STATIC);
}

static int bind_all(sqlite3_stmt *st, const char *kinds, const struct sql_value *values)
{
    int rc = SQLITE_OK;

    for (int i = 0; kinds[i] != '\0' && rc == SQLITE_OK; i++)
        rc = bind_one(st, i + 1, kinds[i], &values[i]);
    return rc;
}

enum { MOST_COLUMNS = 12 };

/* An empty value has no address in SQLite, but is not NULL. */
static str column_bytes(sqlite3_stmt *st, int i)
{
    const char *p;

    if (sqlite3_column_type(st, i) == SQLITE_NULL)
        return STR_NONE;
    p = sqlite3_column_blob(st, i);
    return str_from(p == NULL ? "" : p, (size_t)sqlite3_column_bytes(st, i));
}

static int row_report(sqlite3_stmt *st, const char *kinds, sql_on_row *on_row, void *arg,
                      struct err *reterr)
{
    struct sql_value columns[MOST_COLUMNS] = {{.i = 0}};

    for (int i = 0; i < MOST_COLUMNS && kinds[i] != '\0'; i++) {
        if (kinds[i] == 'i')
            columns[i].i = sqlite3_column_int64(st, i);
        else
            columns[i].s = column_bytes(st, i);
    }
    return on_row(arg, columns, reterr);
}

static int step_all(struct sqlite *s, sqlite3_stmt *st, const char *kinds, sql_on_row *on_row,
                    void *arg, struct err *reterr)
{
    int rc;

    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        if (on_row != NULL && row_report(st, kinds, on_row, arg, reterr) == -1)
            return -1;
    }
    return rc == SQLITE_DONE ? 0 : sqlite_failed(s->db, rc, reterr);
}

static int run_statement(struct sql *sql, enum sql_statement which, const struct sql_value *values,
                         sql_on_row *on_row, void *arg, uint64_t *ret_changed, struct err *reterr)
{
    struct sqlite *s = (struct sqlite *)sql;
    const struct sql_statement_row *row = &sql_statements[which];
    sqlite3_stmt *st;
    int rc;

    if (s->statements[which] == NULL && prepare_statement(s, which, reterr) == -1)
        return -1;
    st = s->statements[which];
    rc = bind_all(st, row->parameters, values);
    rc = rc == SQLITE_OK ? step_all(s, st, row->columns, on_row, arg, reterr)
                         : sqlite_failed(s->db, rc, reterr);
    if (rc == 0 && ret_changed != NULL)
        *ret_changed = (uint64_t)sqlite3_changes64(s->db);
    (void)sqlite3_reset(st);
    (void)sqlite3_clear_bindings(st); /* the caller's bytes die now */
    return rc;
}

static int run_script(struct sql *sql, const char *text, struct err *reterr)
{
    struct sqlite *s = (struct sqlite *)sql;
    int rc = sqlite3_exec(s->db, text, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : sqlite_failed(s->db, rc, reterr);
}

/* ---- opening */

/* The analyzer of gcc does not see that a struct sql is the start of a struct sqlite. */
#ifndef __clang__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

static void close_db(struct sql *sql)
{
    struct sqlite *s = (struct sqlite *)sql;

    if (s == NULL)
        return;
    for (size_t i = 0; i < SQL_STATEMENTS; i++)
        sqlite3_finalize(s->statements[i]);
    sqlite3_close(s->db);
    free(s->path);
    free(s);
}

/* Makes a file that its owner alone may read, since it holds what people have said; SQLite gives
 * its other files the permissions of this one. */
static void create_private(const char *path)
{
    int fd;

    do
        fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR);
    while (fd == -1 && errno == EINTR); /* file systems of a network */
    if (fd != -1)
        (void)close(fd);
}

/* Changing to WAL wants the file for itself, and does not wait for it. */
static int enter_wal(struct sqlite *s, uint64_t timeout_ms, struct err *reterr)
{
    enum { PAUSE_MS = 5 };
    uint64_t waited_ms = 0;
    int rc;

    do {
        rc = sqlite3_exec(s->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
        if ((rc & 0xff) != SQLITE_BUSY)
            break;
        (void)sqlite3_sleep(PAUSE_MS);
        waited_ms += PAUSE_MS;
    } while (waited_ms < timeout_ms);
    return rc == SQLITE_OK ? 0 : sqlite_failed(s->db, rc, reterr);
}

/* Sorting happens in memory: a service may have no directory for temporary files.
 * Ids are random, so a page of an index is written often: with a WAL of 16 MB
 * instead of 4 it is copied into the file less often, and a stored request takes a
 * fifth less CPU time (sqlite_journal_pages). */
#define PRAGMAS "PRAGMA foreign_keys = ON; PRAGMA cache_size = -1024; PRAGMA temp_store = MEMORY"

static int set_up_connection(struct sqlite *s, const struct sql_conf *conf, struct err *reterr)
{
    int timeout_ms = conf->timeout_ms > INT_MAX ? INT_MAX : (int)conf->timeout_ms;

    (void)sqlite3_extended_result_codes(s->db, 1);
    (void)sqlite3_busy_timeout(s->db, timeout_ms);
    (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    if (sqlite3_db_readonly(s->db, "main") == 1)
        return sqlite_failed(s->db, SQLITE_READONLY, reterr);
    if (!s->is_memory &&
        (sqlite_prepare_new(s->db, reterr) == -1 || enter_wal(s, conf->timeout_ms, reterr) == -1))
        return -1;
    if (!s->is_memory)
        (void)sqlite3_wal_autocheckpoint(s->db, (int)sqlite_journal_pages(s->path));
    return run_script(&s->sql,
                      conf->sync ? "PRAGMA synchronous = FULL;" PRAGMAS
                                 : "PRAGMA synchronous = NORMAL;" PRAGMAS,
                      reterr);
}

static int open_db(struct sqlite *s, struct err *reterr)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int rc;

    if (!s->is_memory && sqlite_place_check(s->path, reterr) == -1)
        return -1;
    if (!s->is_memory)
        create_private(s->path);
    rc = sqlite3_open_v2(s->path, &s->db, flags, NULL);
    return rc == SQLITE_OK ? 0 : sqlite_failed(s->db, rc, reterr);
}

static int check_files(struct sql *sql, struct err *reterr)
{
    struct sqlite *s = (struct sqlite *)sql;

    return s->is_memory ? 0 : sqlite_files_check(&s->files, s->path, reterr);
}

/* Looks for trouble. When the file is not at its place any more, all that is stored is brought into
 * the one that is open, in case that somebody wants to have it back. */
static int probe_files(struct sql *sql, struct err *reterr)
{
    struct sqlite *s = (struct sqlite *)sql;

    if (s->is_memory)
        return 0;
    if (sqlite_files_check(&s->files, s->path, reterr) == 0)
        return sqlite_files_check_space(s->path, reterr);
    if (sqlite_files_belong_together(&s->files, s->path))
        (void)sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    return -1;
}

/* True when the failure has to do with the place, and not with what stands there. */
static bool is_of_place(const struct sqlite *s)
{
    switch (sqlite3_errcode(s->db) & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_NOMEM:
        return false;
    default:
        return !s->is_memory && s->db != NULL;
    }
}

static int connect_db(const struct sql_conf *conf, struct sql **ret, struct err *reterr)
{
    struct sqlite *s = calloc(1, sizeof(*s));

    if (s == NULL || (s->path = strdup(conf->place)) == NULL) {
        err_set_no_memory(reterr);
        free(s);
        return -1;
    }
    s->sql.driver = &sql_sqlite;
    s->is_memory = strcmp(s->path, ":memory:") == 0;
    if (open_db(s, reterr) == -1 || set_up_connection(s, conf, reterr) == -1) {
        if (is_of_place(s))
            (void)sqlite_place_explain(s->path, reterr);
        close_db(&s->sql);
        return -1;
    }
    sqlite_files_note(&s->files, s->path);
    *ret = &s->sql;
    return 0;
}

#ifndef __clang__
#pragma GCC diagnostic pop
#endif

/* ---- the rest */

static bool is_in_transaction(const struct sql *sql)
{
    return sqlite3_get_autocommit(((const struct sqlite *)sql)->db) == 0;
}

static bool is_lost(const struct sql *sql)
{
    (void)sql;
    return false; /* a file has no other end */
}

static int copy_db(struct sql *sql, const char *to, enum sql_copy how, struct err *reterr)
{
    const struct sqlite *s = (const struct sqlite *)sql;

    return check_files(sql, reterr) == -1 ? -1 : sqlite_copy(s->path, to, how, reterr);
}

static int report_size(struct sql *sql, uint64_t *ret, struct err *reterr)
{
    const struct sqlite *s = (const struct sqlite *)sql;

    (void)reterr;
    *ret = s->is_memory ? 0 : sqlite_files_bytes(s->path);
    return 0;
}

static int give_space_back(struct sql *sql, bool *ret_more, struct err *reterr)
{
    const struct sqlite *s = (const struct sqlite *)sql;

    *ret_more = false;
    if (s->is_memory)
        return 0;
    return check_files(sql, reterr) == -1 ? -1 : sqlite_give_back(s->db, ret_more, reterr);
}

/* A database that was moved or replaced is left as it is, and nothing is made at its place. */
static bool has_its_files(struct sql *sql)
{
    const struct sqlite *s = (const struct sqlite *)sql;
    struct err e;

    return !s->is_memory && check_files(sql, &e) == 0;
}

static bool make_room(struct sql *sql, bool with_reserve)
{
    const struct sqlite *s = (const struct sqlite *)sql;

    return has_its_files(sql) && sqlite_make_room(s->db, s->path, with_reserve);
}

static void keep_reserve(struct sql *sql)
{
    const struct sqlite *s = (const struct sqlite *)sql;

    if (has_its_files(sql))
        sqlite_reserve_keep(s->path);
}

static void convert_file(struct sql *sql)
{
    const struct sqlite *s = (const struct sqlite *)sql;

    if (has_its_files(sql))
        sqlite_convert(s->db, s->path);
}

/* VACUUM sorts in a file: else the whole database would have to be in memory. */
#define VACUUM                                                                                     \
    "PRAGMA temp_store = FILE; PRAGMA auto_vacuum = INCREMENTAL; VACUUM;"                          \
    "PRAGMA temp_store = MEMORY; PRAGMA wal_checkpoint(TRUNCATE)"

const struct sql_driver sql_sqlite = {
    .name = "SQLite",
    .bytes_type = "BLOB",
    .seq_type = "INTEGER PRIMARY KEY AUTOINCREMENT",
    .by_key = " WITHOUT ROWID",
    .begin_read = "BEGIN",
    .begin_write = "BEGIN IMMEDIATE",
    .stay_alone = "", /* as it is already */
    .vacuum = VACUUM,
    .count_meta = SQL_SQLITE_META,
    .one_writer = true,
    .connect = connect_db,
    .close = close_db,
    .script = run_script,
    .run = run_statement,
    .is_in_transaction = is_in_transaction,
    .is_lost = is_lost,
    .check = check_files,
    .probe = probe_files,
    .copy = copy_db,
    .size = report_size,
    .give_back = give_space_back,
    .make_room = make_room,
    .keep_reserve = keep_reserve,
    .convert = convert_file,
    .release_reserve = sqlite_reserve_release,
};
