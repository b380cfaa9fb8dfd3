/* sql_schema.h -- the tables of a database, made and brought up to date. Internal
 * to the store. */
#ifndef ANTIPHON_STORE_SQL_SCHEMA_H
#define ANTIPHON_STORE_SQL_SCHEMA_H

#include "base/err.h"
#include "store/schema.h"
#include "store/sql.h"

/* What this program writes, the oldest that it migrates, and the oldest whose programs can go on using
 * the tables then (schema.h). */
enum { SQL_SCHEMA_VERSION = 4, SQL_SCHEMA_OLDEST = 1, SQL_SCHEMA_COMPATIBLE_FROM = 4 };

/* Makes the tables, or brings them up to date; several processes may do this at once. place: a file of
 * which a copy is made at PLACE.v<version> before its tables are changed, or NULL. shares: tables that
 * the program of before could not use then stay as they are. ERR_STORE also when they can neither be
 * used nor migrated. */
int sql_schema_prepare(struct sql *db, const char *place, bool shares, struct err *reterr);

/* Changes nothing. ERR_STORE also when the tables cannot be used as they are. */
int sql_schema_check(struct sql *db, struct err *reterr);

/* As store_schema(). */
int sql_schema_look(struct sql *db, struct store_schema *ret, struct err *reterr);

#endif
