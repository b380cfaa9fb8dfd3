/* sql_schema.h -- the tables of a database, made and brought up to date. Internal
 * to the store. */
#ifndef ANTIPHON_STORE_SQL_SCHEMA_H
#define ANTIPHON_STORE_SQL_SCHEMA_H

#include "base/err.h"
#include "store/sql.h"

enum { SQL_SCHEMA_VERSION = 2 };

/* Makes the tables, or brings them up to date; several processes may do this at once. ERR_STORE
 * also when a newer program has made the tables. */
int sql_schema_prepare(struct sql *db, struct err *reterr);

#endif
