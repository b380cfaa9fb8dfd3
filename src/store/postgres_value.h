/* postgres_value.h -- values as PostgreSQL sends and takes them.
 *
 * They travel in binary: bodies need no escapes, integers no digits.
 * Internal to the store. */
#ifndef ANTIPHON_STORE_POSTGRES_VALUE_H
#define ANTIPHON_STORE_POSTGRES_VALUE_H

#include <libpq-fe.h>

#include "store/sql.h"

/* Most parameters or columns of a statement. */
enum { POSTGRES_MAX_VALUES = 24 };

/* Types of the parameters with these letters; returns how many. */
size_t postgres_types(const char *letters, Oid types[POSTGRES_MAX_VALUES]);

/* Parameters as PQsendQueryPrepared() wants them; points into itself and into the values. */
struct postgres_parameters {
    size_t n;
    const char *values[POSTGRES_MAX_VALUES];
    int lengths[POSTGRES_MAX_VALUES], formats[POSTGRES_MAX_VALUES];
    uint64_t integers[POSTGRES_MAX_VALUES];
};

/* Fills the parameters. Texts have to be UTF-8 without NUL. */
int postgres_parameters_set(struct postgres_parameters *to, const char *letters,
                            const struct sql_value *values, struct err *reterr);

/* Reads the first row: views of the result. False when it is not of this form. */
bool postgres_row(const PGresult *result, const char *letters,
                  struct sql_value values[POSTGRES_MAX_VALUES]);

#endif
