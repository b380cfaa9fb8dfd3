/* sql_sqlite_error.c -- what SQLite's failures mean, and what to do about them.
 *
 * Clients read these words as well, so they name no path; who opens a store adds
 * it. */
#include <string.h>

#include "store/sql_sqlite.h"

/* A row without extended code covers all of a primary one; the first that fits. */
static const struct {
    int code;
    const char *words;
} meanings[] = {
    {SQLITE_FULL, "The store is full: its disk has no space left, or the file reached its limit."},
    {SQLITE_IOERR_NOMEM, "The store ran out of memory."},
    {SQLITE_IOERR, "The store's disk failed"},
    {SQLITE_READONLY,
     "The store cannot be written: look at the permissions of its file and directory."},
    {SQLITE_PERM, "The store may not be opened: look at the permissions of its file."},
    {SQLITE_CANTOPEN,
     "The store cannot be opened: look whether its directory exists and can be written"},
    {SQLITE_BUSY, "Another process writes the store for longer than store_timeout allows."},
    {SQLITE_LOCKED, "Another process writes the store for longer than store_timeout allows."},
    {SQLITE_NOTADB, "The store's file is not a database: name another one, or move it away."},
    {SQLITE_CORRUPT,
     "The store's file is damaged: restore it from a backup, or move it away to start anew."},
    {SQLITE_TOOBIG, "One value is larger than the store can hold (1 GB)."},
    {SQLITE_CONSTRAINT_UNIQUE, "The store already has something with this id."},
};

static const char *words_for(int rc)
{
    for (size_t i = 0; i < COUNT_OF(meanings); i++) {
        if (meanings[i].code == rc || meanings[i].code == (rc & 0xff))
            return meanings[i].words;
    }
    return NULL;
}

/* The system's own reason, where it has one and ours ends without a full stop. */
static void set_with_reason(struct err *e, const char *words, int system_errno)
{
    size_t len = strlen(words);

    if (words[len - 1] == '.')
        err_set(e, ERR_STORE, "%s", words);
    else if (system_errno == 0)
        err_set(e, ERR_STORE, "%s.", words);
    else
        err_set(e, ERR_STORE, "%s: %s.", words, strerror(system_errno));
}

int sqlite_failed(sqlite3 *db, int rc, struct err *reterr)
{
    const char *words = words_for(rc);

    if (rc == SQLITE_NOMEM || db == NULL)
        err_set_no_memory(reterr);
    else if (words != NULL)
        set_with_reason(reterr, words, sqlite3_system_errno(db));
    else
        err_set(reterr, ERR_STORE, "The store failed: %s.", sqlite3_errmsg(db));
    return -1;
}
