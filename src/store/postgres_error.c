/* postgres_error.c -- errors of PostgreSQL as our own. */
#include "store/postgres_error.h"

#include "base/buf.h"

/* What an error means, by the beginning of its SQLSTATE; words end without a full stop where the
 * server's own are to follow. NULL: those alone. */
static const struct state {
    const char *prefix;
    bool ends_connection;
    const char *words;
} states[] = {
    {"08", true, NULL},
    {"0A000", true, NULL}, /* a prepared statement whose table has changed */
    {"25006", true, "The store cannot be written: its server is read-only."}, /* or a failover */
    {"25P03", true, NULL}, /* idle for too long in a transaction */
    {"26000", true, NULL}, /* a prepared statement that a connection pooler has lost */
    {"40", true, NULL},    /* a deadlock, which does not come back */
    {"42501", false, "The store's user lacks a right: make it the owner of the database"},
    {"53100", false, "The store is full: the disk of its server has no space left."},
    {"57014", false, "The store did not answer within store_timeout."},
    {"57P", true, NULL}, /* shut down, crashed or starting */
};

static const struct state *state_of(const PGresult *result)
{
    str sqlstate = str_from_c(PQresultErrorField(result, PG_DIAG_SQLSTATE));

    for (size_t i = 0; i < COUNT_OF(states); i++) {
        if (str_starts_with(sqlstate, str_from_c(states[i].prefix)))
            return &states[i];
    }
    return NULL;
}

bool postgres_error_ends_connection(const PGresult *result)
{
    const struct state *state = state_of(result);

    return state != NULL && state->ends_connection;
}

/* libpq's own messages have several lines, some of them indented. */
static void set_flat(const char *words, const char *message, struct err *reterr)
{
    str rest = str_trim(str_from_c(message)), line;
    struct buf flat = {0};

    while (rest.len > 0) {
        line = str_from(rest.p, str_find_char(rest, '\n'));
        rest = str_trim_start(str_skip(rest, line.len));
        buf_append(&flat, str_trim(line));
        buf_c(&flat, rest.len > 0 ? "; " : "");
    }
    err_set(reterr, ERR_STORE, "%s: %s", words, buf_cstr(&flat));
    buf_fini(&flat);
}

void postgres_error_of_connection(const PGconn *conn, struct err *reterr)
{
    if (conn == NULL)
        err_set_no_memory(reterr);
    else
        set_flat("The store cannot be reached", PQerrorMessage(conn), reterr);
}

/* The detail of an error would name values; its first line does not. */
void postgres_error_of_result(const PGresult *result, struct err *reterr)
{
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const struct state *state = state_of(result);
    const char *words = state == NULL || state->words == NULL ? "The store failed" : state->words;

    if (primary == NULL)
        set_flat(words, PQresultErrorMessage(result), reterr);
    else if (str_ends_with(str_from_c(words), STR(".")))
        err_set(reterr, ERR_STORE, "%s", words);
    else
        err_set(reterr, ERR_STORE, "%s: %s.", words, primary);
}

/* ---- URLs */

/* An @ or / in a password ends it for libpq, and the rest becomes a host. Its grammar is not
 * that of url_split(): several hosts may be listed, and # ends nothing. */
static bool has_bare_password(const char *url)
{
    str s = str_from_c(url);
    str place = str_skip(s, str_find(s, STR("://")) + 3);
    size_t at;

    place.len = str_find_char(place, '?');
    at = str_find_char(place, '@');
    return at < place.len && (str_find_char(place, '/') < at ||
                              str_find_char(str_skip(place, at + 1), '@') < place.len - at - 1);
}

/* Drops the end of libpq's message, where it quotes what it dislikes: that may be a part of the
 * password. */
static void set_unreadable(const char *message, struct err *reterr)
{
    str s = str_from_c(message);

    s.len = str_find(s, STR(": \""));
    err_set(reterr, ERR_STORE, "The store's URL cannot be read: %.*s.", STR_ARG(str_trim(s)));
}

bool postgres_error_in_url(const char *url, struct err *reterr)
{
    char *message = NULL;
    PQconninfoOption *options;

    if (has_bare_password(url)) {
        err_set(reterr, ERR_STORE,
                "The store's URL cannot be read: in a user or password write @ as %%40, / as %%2F, "
                "%% as %%25.");
        return true;
    }
    options = PQconninfoParse(url, &message);
    if (options == NULL && message == NULL)
        err_set_no_memory(reterr);
    else if (options == NULL)
        set_unreadable(message, reterr);
    PQfreemem(message);
    PQconninfoFree(options);
    return options == NULL;
}
