/* store_events.c -- the journal of a response under way, and what becomes of it. */
#include "store/store_events.h"

#include "store/store_cuts.h"
#include "store/store_response.h"
#include "store/store_running.h"

/* ---- writing */

static int append_row(struct store_session *s, str id, str lock, const struct store_event_row *row,
                      enum store_wish *ret, struct err *reterr)
{
    int64_t response;

    if (work_use(s, SQL_WORK_USE, id, lock, &response, ret, reterr) == -1)
        return -1;
    if (response == 0)
        return 0;
    return session_do(s, SQL_JOURNAL_ADD,
                      (const struct sql_value[]){{.i = response},
                                                 {.i = row->first},
                                                 {.s = row->cuts},
                                                 {.s = row->done},
                                                 {.s = row->pieces}},
                      reterr);
}

int store_append_events(struct store_session *s, str id, str lock,
                        const struct store_event_row *row, enum store_wish *ret, struct err *reterr)
{
    struct tx tx;

    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    return tx_end(&tx, append_row(s, id, lock, row, ret, reterr), reterr);
}

/* ---- reading */

enum { ROWS_AT_ONCE = 256 };

struct rows {
    struct arena *arena;
    struct store_event_row *v;
    size_t n;
};

static bool copy_text(struct arena *a, str from, str *to)
{
    *to = arena_dup(a, from);
    return str_is_none(from) || !str_is_none(*to);
}

static int on_event_row(void *arg, const struct sql_value *columns, struct err *reterr)
{
    struct rows *rows = arg;
    struct store_event_row *row = &rows->v[rows->n++];

    row->first = columns[0].i;
    if (copy_text(rows->arena, columns[1].s, &row->cuts) &&
        copy_text(rows->arena, columns[2].s, &row->done) &&
        copy_text(rows->arena, columns[3].s, &row->pieces))
        return 0;
    return err_set_no_memory(reterr);
}

static int get_rows(struct store_session *s, int64_t response, int64_t from, struct arena *a,
                    struct store_events *ret, struct err *reterr)
{
    struct rows rows = {.arena = a, .v = arena_array(a, ROWS_AT_ONCE + 1, sizeof(*rows.v))};
    const struct sql_value values[] = {{.i = response}, {.i = from}, {.i = ROWS_AT_ONCE + 1}};

    if (rows.v == NULL)
        return err_set_no_memory(reterr);
    if (session_run(s, SQL_JOURNAL_GET, values, on_event_row, &rows, NULL, reterr) == -1)
        return -1;
    ret->rows = rows.v;
    ret->has_more = rows.n > ROWS_AT_ONCE;
    ret->n_rows = ret->has_more ? ROWS_AT_ONCE : rows.n;
    return 0;
}

static int get_events(struct store_session *s, str owner, str id, int64_t from, struct arena *a,
                      struct store_events *ret, struct err *reterr)
{
    struct response_row row;
    bool has_ended;

    if (response_find(s, owner, id, &row, reterr) == -1)
        return -1;
    ret->status = row.status;
    has_ended = store_status_is_terminal(row.status);
    if ((has_ended || from == 0) && response_load(s, owner, id, a, &ret->response, reterr) == -1)
        return -1;
    if (!has_ended)
        return get_rows(s, row.seq, from, a, ret, reterr);
    return cuts_load(s, row.seq, a, &ret->response.cuts, reterr);
}

int store_get_events(struct store_session *s, str owner, str id, int64_t from, struct arena *a,
                     struct store_events *ret, struct err *reterr)
{
    struct store_events events = {.n_rows = 0};
    struct tx tx;

    if (tx_begin(&tx, s, STORE_READ, reterr) == -1)
        return -1;
    if (tx_end(&tx, get_events(s, owner, id, from, a, &events, reterr), reterr) == -1)
        return -1;
    *ret = events;
    return 0;
}
