/* sql_sqlite.h -- what the files of the SQLite driver share. Internal to them. */
#ifndef ANTIPHON_STORE_SQL_SQLITE_H
#define ANTIPHON_STORE_SQL_SQLITE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "store/sql.h"

/* Puts the failure of the last call on db into words that say what to do. db may
 * be NULL when it could not be made. Returns -1. */
int sqlite_failed(sqlite3 *db, int rc, struct err *reterr);

/* ---- sql_sqlite_place.c */

/* Fails when there is something else than a file; before it is opened. */
int sqlite_place_check(const char *path, struct err *reterr);

/* Explains why a database could not be opened there. True with *reterr filled when that is seen. */
bool sqlite_place_explain(const char *path, struct err *reterr);

/* ---- sql_sqlite_files.c */

/* Files that a connection has open. An open file keeps its inode to itself, so whoever has the same
 * one later is the same file. */
struct sqlite_files {
    struct sqlite_file_id {
        bool is_known;
        dev_t device;
        ino_t inode;
    } database, log; /* the log may come later than the database */
};

void sqlite_files_note(struct sqlite_files *f, const char *path);

/* Checks that the files are still at their place. */
int sqlite_files_check(struct sqlite_files *f, const char *path, struct err *reterr);

/* False when another log is beside the database: then nothing may be written into it. */
bool sqlite_files_belong_together(const struct sqlite_files *f, const char *path);

/* Checks that there is room for a few responses. */
int sqlite_files_check_space(const char *path, struct err *reterr);

uint64_t sqlite_files_bytes(const char *path);

/* ---- sql_sqlite_copy.c */

/* sql_driver.copy of the database at this path. */
int sqlite_copy(const char *from, const char *to, enum sql_copy how, struct err *reterr);

/* ---- sql_sqlite_space.c; path: of the file */

/* The number of pages after which the journal is copied into the file. */
unsigned sqlite_journal_pages(const char *path);

/* Prepares a file that is empty, before anything is written to it: it can be given back in
 * pieces. */
int sqlite_prepare_new(sqlite3 *db, struct err *reterr);

/* Gives up to 1 MiB back. *ret_more: that is not all. */
int sqlite_give_back(sqlite3 *db, bool *ret_more, struct err *reterr);

/* Prepares a file of an earlier version, unless it is large; once, when a gateway starts. */
void sqlite_convert(sqlite3 *db, const char *path);

/* Space that is kept for removing something when there is no other. Released when the
 * disk is full: false when it is not, or there was none. */
void sqlite_reserve_keep(const char *path);
bool sqlite_reserve_release(const char *path);

/* Empties the journal as far as that can be done. False: the disk is not full. */
bool sqlite_make_room(sqlite3 *db, const char *path, bool with_reserve);

#endif
