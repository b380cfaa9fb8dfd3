/* postgres_error.h -- what PostgreSQL or its library say, in one line without secrets.
 *
 * Messages name what went wrong and, where it is known, what to do. They hold no
 * values of statements and no password. Internal to the store. */
#ifndef ANTIPHON_STORE_POSTGRES_ERROR_H
#define ANTIPHON_STORE_POSTGRES_ERROR_H

#include <stdbool.h>

#include <libpq-fe.h>

#include "base/err.h"

/* Fill *reterr with ERR_STORE. */
void postgres_error_of_result(const PGresult *result, struct err *reterr);
void postgres_error_of_connection(const PGconn *conn, struct err *reterr);

/* True for an error after which a new connection helps: the server has closed this one, or it no
 * longer is the one to write to. */
bool postgres_error_ends_connection(const PGresult *result);

/* Checks a URL, before libpq sees it, since that would quote a password that it took for something
 * else. True with *reterr filled when it is none that could be connected to. */
bool postgres_error_in_url(const char *url, struct err *reterr);

#endif
