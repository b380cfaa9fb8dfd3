/* sql_sqlite_memory.h -- SQLite's memory counts as ours does. */
#ifndef ANTIPHON_STORE_SQL_SQLITE_MEMORY_H
#define ANTIPHON_STORE_SQL_SQLITE_MEMORY_H

/* Makes SQLite take its memory from the budget (base/budget.h): pages, rows, and a store in memory
 * whole. Once, before a database is opened. Returns 0, or -1 when SQLite will not. */
int sql_sqlite_count_memory(void);

#endif
