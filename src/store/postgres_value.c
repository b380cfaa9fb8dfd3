/* postgres_value.c -- between struct sql_value and PostgreSQL's binary forms. */
#include "store/postgres_value.h"

#include <assert.h>
#include <endian.h>

/* The server's own limit of a bytea or text; a row of several may still be refused. */
enum { MAX_VALUE_BYTES = (1 << 30) - 1 };

/* From PostgreSQL's pg_type.dat; libpq has no header for them. */
enum { OID_BOOL = 16, OID_BYTEA = 17, OID_INT8 = 20, OID_INT2 = 21, OID_INT4 = 23, OID_TEXT = 25 };

static Oid type_of(char letter)
{
    switch (letter) {
    case 'i':
        return OID_INT8;
    case 't':
        return OID_TEXT;
    default:
        return OID_BYTEA;
    }
}

size_t postgres_types(const char *letters, Oid types[POSTGRES_MAX_VALUES])
{
    size_t n = strlen(letters);

    assert(n <= POSTGRES_MAX_VALUES);
    for (size_t i = 0; i < n; i++)
        types[i] = type_of(letters[i]);
    return n;
}

/* ---- parameters */

static void set_bytes(struct postgres_parameters *to, str s)
{
    to->values[to->n] = s.p;
    to->lengths[to->n] = (int)s.len;
}

static void set_integer(struct postgres_parameters *to, int64_t i)
{
    uint64_t *wire = &to->integers[to->n];

    *wire = htobe64((uint64_t)i);
    set_bytes(to, str_from((const char *)wire, sizeof(*wire)));
}

int postgres_parameters_set(struct postgres_parameters *to, const char *letters,
                            const struct sql_value *values, struct err *reterr)
{
    *to = (struct postgres_parameters){.n = 0};
    for (; letters[to->n] != '\0'; to->n++) {
        to->formats[to->n] = 1;
        if (letters[to->n] == 'i') {
            set_integer(to, values[to->n].i);
        } else if (values[to->n].s.len <= MAX_VALUE_BYTES) {
            set_bytes(to, values[to->n].s);
        } else {
            err_set(reterr, ERR_STORE, "One value is larger than the store can hold (1 GB).");
            return -1;
        }
    }
    return 0;
}

/* ---- columns */

/* A signed integer of 2, 4 or 8 bytes, or a boolean. */
static bool read_integer(const PGresult *result, int column, int64_t *ret)
{
    const unsigned char *p = (const unsigned char *)PQgetvalue(result, 0, column);
    int n = PQgetlength(result, 0, column);
    Oid type = PQftype(result, column);
    uint64_t bits = 0;

    if (type != OID_INT8 && type != OID_INT4 && type != OID_INT2 && type != OID_BOOL)
        return false;
    if (n > 0 && (p[0] & 0x80) != 0)
        bits = UINT64_MAX;
    for (int i = 0; i < n; i++)
        bits = bits << 8 | p[i];
    *ret = (int64_t)bits;
    return true;
}

static bool read_value(const PGresult *result, int column, char letter, struct sql_value *ret)
{
    *ret = (struct sql_value){.i = 0, .s = STR_NONE};
    if (PQgetisnull(result, 0, column) == 1)
        return true;
    if (letter == 'i')
        return read_integer(result, column, &ret->i);
    ret->s = str_from(PQgetvalue(result, 0, column), (size_t)PQgetlength(result, 0, column));
    return true;
}

bool postgres_row(const PGresult *result, const char *letters,
                  struct sql_value values[POSTGRES_MAX_VALUES])
{
    int n = (int)strlen(letters);

    if (PQnfields(result) != n || n > POSTGRES_MAX_VALUES)
        return false;
    for (int i = 0; i < n; i++) {
        if (!read_value(result, i, letters[i], &values[i]))
            return false;
    }
    return true;
}
