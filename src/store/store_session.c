/* store_session.c -- sessions: which driver, transactions, statements. */
#include "store/store_session.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "metrics/metrics.h"
#include "store/sql_schema.h"
#include "store/store_time.h"

/* ---- which driver */

static const struct {
    str prefix;
    const struct sql_driver *driver;
    const char *place; /* when the URL is the prefix and nothing else */
    bool keeps_prefix; /* else the place is what follows */
} kinds[] = {
    {.prefix = STR_INIT("memory"), .driver = &sql_sqlite, .place = ":memory:"},
    {.prefix = STR_INIT("sqlite:"), .driver = &sql_sqlite},
    {.prefix = STR_INIT("postgres://"), .driver = &sql_postgres, .keeps_prefix = true},
    {.prefix = STR_INIT("postgresql://"), .driver = &sql_postgres, .keeps_prefix = true},
};

static int place_set(struct store_session *s, const char *place, struct err *reterr)
{
    s->conf.place = strdup(place);
    if (s->conf.place != NULL)
        return 0;
    return err_set_no_memory(reterr);
}

static bool is_of_kind(size_t i, str url)
{
    if (kinds[i].place != NULL)
        return str_eq(url, kinds[i].prefix);
    return str_starts_with(url, kinds[i].prefix) && url.len > kinds[i].prefix.len;
}

/* A URL may hold a password, so the message does not repeat it. */
static int driver_find(struct store_session *s, const char *url, struct err *reterr)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (!is_of_kind(i, str_from_c(url)))
            continue;
        s->driver = kinds[i].driver;
        if (kinds[i].place != NULL)
            return place_set(s, kinds[i].place, reterr);
        return place_set(s, kinds[i].keeps_prefix ? url : url + kinds[i].prefix.len, reterr);
    }
    err_set(reterr, ERR_STORE,
            "The store has to be memory, sqlite:PATH or postgres://USER@HOST/DATABASE.");
    return -1;
}

int session_init(struct store_session *s, const struct store_conf *conf, struct err *reterr)
{
    *s = (struct store_session){.conf = {.sync = conf->sync, .timeout_ms = conf->timeout_ms},
                                .lock_ms = conf->lock_ms,
                                .key_age_ms = conf->limits.max_key_age_s * 1000};
    holder_name_make(conf->lock_ms, s->instance);
    holder_name_make(conf->work_ms == 0 ? conf->lock_ms : conf->work_ms, s->worker);
    return driver_find(s, conf->url, reterr);
}

void session_fini(struct store_session *s)
{
    char *place = (char *)(uintptr_t)s->conf.place; /* ours: strdup() made it */

    session_disconnect(s);
    buf_fini(&s->taken);
    free(place);
    s->conf.place = NULL;
}

int session_connect(struct store_session *s, struct err *reterr)
{
    assert(s->db == NULL);
    return s->driver->connect(&s->conf, &s->db, reterr);
}

/* Paths are for whoever starts the program; other URLs may hold a password. */
static void name_store(const struct store_conf *conf, struct err *e)
{
    struct err plain;

    if (e == NULL || !str_starts_with(str_from_c(conf->url), STR("sqlite:")))
        return;
    plain = *e;
    err_set(e, plain.code, "store %s: %s", conf->url, plain.msg);
    memcpy(e->own_code, plain.own_code, sizeof(e->own_code));
}

static int prepare(struct store_session *s, const struct store_conf *conf, struct err *reterr)
{
    switch (conf->tables) {
    case STORE_MIGRATES:
    case STORE_SHARES:
        if (sql_schema_prepare(s->db, conf->backup ? s->conf.place : NULL,
                               conf->tables == STORE_SHARES, reterr) == -1)
            return -1;
        break;
    case STORE_AS_IT_IS:
        if (sql_schema_check(s->db, reterr) == -1)
            return -1;
        break;
    case STORE_UNREAD:
        return 0;
    }
    return store_time_read(s, reterr);
}

int session_open(struct store_session *s, const struct store_conf *conf, struct err *reterr)
{
    if (session_connect(s, reterr) == 0 && prepare(s, conf, reterr) == 0)
        return 0;
    session_disconnect(s);
    name_store(conf, reterr);
    return -1;
}

void session_disconnect(struct store_session *s)
{
    if (s->db != NULL)
        s->driver->close(s->db);
    s->db = NULL;
    s->in_transaction = false;
}

bool session_is_lost(const struct store_session *s)
{
    return s->db == NULL || s->driver->is_lost(s->db);
}

/* ---- transactions */

/* Undoes a transaction whose end has failed for want of memory: else nothing could begin behind it,
 * for ever. */
static int end_last_transaction(struct store_session *s, struct err *reterr)
{
    return s->driver->is_in_transaction(s->db) ? s->driver->script(s->db, "ROLLBACK", reterr) : 0;
}

int session_begin(struct store_session *s, enum store_access access, struct err *reterr)
{
    const char *begin = access == STORE_WRITE ? s->driver->begin_write : s->driver->begin_read;

    assert(!s->in_transaction);
    s->access = access;
    buf_reset(&s->taken);
    s->commit_sent = false;
    s->failure.code = ERR_NONE;
    if (end_last_transaction(s, reterr) == -1 || s->driver->script(s->db, begin, reterr) == -1)
        return -1;
    s->in_transaction = true;
    return 0;
}

int session_commit(struct store_session *s, struct err *reterr)
{
    if (s->failure.code != ERR_NONE) {
        if (reterr != NULL)
            *reterr = s->failure;
        session_rollback(s);
        return -1;
    }
    if (s->access == STORE_WRITE && s->driver->check != NULL &&
        s->driver->check(s->db, reterr) == -1) {
        session_rollback(s);
        return -1;
    }
    s->commit_sent = s->access == STORE_WRITE;
    if (s->driver->script(s->db, "COMMIT", reterr) == -1) {
        session_rollback(s);
        return -1;
    }
    s->in_transaction = false;
    metrics_add(metrics_at(METRIC_STORE_COMMITS, 0), s->access == STORE_WRITE);
    return 0;
}

/* A rollback fails when the database has already done it, or the connection is gone. When there is
 * no memory for it, the next transaction begins with it. */
void session_rollback(struct store_session *s)
{
    (void)s->driver->script(s->db, "ROLLBACK", NULL);
    s->in_transaction = false;
}

int tx_begin(struct tx *tx, struct store_session *s, enum store_access access, struct err *reterr)
{
    *tx = (struct tx){.s = s, .is_own = !s->in_transaction};
    return tx->is_own ? session_begin(s, access, reterr) : 0;
}

int tx_end(struct tx *tx, int rc, struct err *reterr)
{
    if (!tx->is_own)
        return rc;
    if (rc == 0)
        return session_commit(tx->s, reterr);
    session_rollback(tx->s);
    return -1;
}

/* ---- statements */

int session_run(struct store_session *s, enum sql_statement which, const struct sql_value *values,
                sql_on_row *on_row, void *arg, uint64_t *ret_changed, struct err *reterr)
{
    struct err failure;

    if (s->driver->run(s->db, which, values, on_row, arg, ret_changed, &failure) == 0)
        return 0;
    if (s->failure.code == ERR_NONE)
        s->failure = failure;
    if (reterr != NULL)
        *reterr = failure;
    return -1;
}

int session_do(struct store_session *s, enum sql_statement which, const struct sql_value *values,
               struct err *reterr)
{
    return session_run(s, which, values, NULL, NULL, NULL, reterr);
}

struct find {
    const char *kinds;
    struct found *found;
};

static int on_found(void *arg, const struct sql_value *columns, struct err *reterr)
{
    struct find *f = arg;

    (void)reterr;
    if (f->found->is_there)
        return 0;
    f->found->is_there = true;
    for (size_t i = 0; f->kinds[i] != '\0'; i++)
        f->found->v[i] = columns[i].i;
    return 0;
}

int session_find(struct store_session *s, enum sql_statement which, const struct sql_value *values,
                 struct found *ret, struct err *reterr)
{
    struct find f = {.kinds = sql_statements[which].columns, .found = ret};

    *ret = (struct found){.is_there = false};
    return session_run(s, which, values, on_found, &f, NULL, reterr);
}

int64_t store_clock_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- of a command */

struct command_session {
    struct store_session s; /* must be first */
    struct store_time time;
};

struct store_session *store_session_open(const struct store_conf *conf, struct err *reterr)
{
    struct command_session *c = malloc(sizeof(*c));

    if (c == NULL || store_time_init(&c->time) == -1) {
        err_set_no_memory(reterr);
        free(c);
        return NULL;
    }
    if (session_init(&c->s, conf, reterr) == 0) {
        c->s.time = &c->time;
        if (session_open(&c->s, conf, reterr) == 0)
            return &c->s;
    }
    store_session_close(&c->s);
    return NULL;
}

void store_session_close(struct store_session *s)
{
    struct command_session *c = (struct command_session *)s;

    if (c == NULL)
        return;
    session_fini(&c->s);
    store_time_fini(&c->time);
    free(c);
}
