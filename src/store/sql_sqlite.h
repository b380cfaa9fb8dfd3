/* sql_sqlite.h -- what the files of the SQLite driver share. Internal to them. */
#ifndef ANTIPHON_STORE_SQL_SQLITE_H
#define ANTIPHON_STORE_SQL_SQLITE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Puts the failure of the last call on db into words that say what to do. db may
 * be NULL when it could not be made. Returns -1. */
int sqlite_failed(sqlite3 *db, int rc, struct err *reterr);

/* ---- sql_sqlite_files.c */

/* Which files a connection has open. An open file keeps its inode to itself, so whoever
 * has the same one later is the same file. */
struct sqlite_files {
    struct sqlite_file_id {
        bool is_known;
        dev_t device;
        ino_t inode;
    } database, log; /* the log may come later than the database */
};

void sqlite_files_note(struct sqlite_files *f, const char *path);

/* Are they still at their place? */
int sqlite_files_check(struct sqlite_files *f, const char *path, struct err *reterr);

/* False when another log is beside the database: then nothing may be written into it. */
bool sqlite_files_belong_together(const struct sqlite_files *f, const char *path);

/* Is there room for a few responses? */
int sqlite_files_check_space(const char *path, struct err *reterr);

uint64_t sqlite_files_bytes(const char *path);

#endif
