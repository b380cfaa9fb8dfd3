/* sql.c -- the statements, as a table. */
#include "store/sql.h"

const struct sql_statement_row sql_statements[SQL_STATEMENTS] = {
#define STATEMENT(symbol, parameters, columns, text)                                               \
    [SQL_##symbol] = {#symbol, parameters, columns, text},
#include "store/sql_statement.def"
#undef STATEMENT
};
