/* sql_sqlite.h -- what the files of the SQLite driver share. Internal to them. */
#ifndef ANTIPHON_STORE_SQL_SQLITE_H
#define ANTIPHON_STORE_SQL_SQLITE_H

#include <sqlite3.h>

#include "base/err.h"

/* Puts the failure of the last call on db into words that say what to do. db may
 * be NULL when it could not be made. Returns -1. */
int sqlite_failed(sqlite3 *db, int rc, struct err *reterr);

#endif
