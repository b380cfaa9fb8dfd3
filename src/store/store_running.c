/* store_running.c -- starting what was claimed, and learning what is wanted of it. */
#include "store/store_running.h"

#include <string.h>

#include "store/store_lock.h"

/* Tells about work that is not there under its lock: STORE_TAKEN or STORE_DELETED. */
static int explain_missing(struct store_session *s, str id, enum store_wish *ret,
                           struct err *reterr)
{
    struct found row = {.is_there = false};

    if (session_find(s, SQL_RESPONSE_IS_THERE, &(struct sql_value){.s = id}, &row, reterr) == -1)
        return -1;
    *ret = row.is_there ? STORE_TAKEN : STORE_DELETED;
    return 0;
}

int work_use(struct store_session *s, enum sql_statement which, str id, str lock,
             int64_t *ret_response, enum store_wish *ret, struct err *reterr)
{
    struct buf name = {0};
    struct found row = {.is_there = false};
    int rc = work_name_write(s, lock, &name, reterr);

    if (rc == 0)
        rc = session_find(s, which, (const struct sql_value[]){{.s = id}, {.s = buf_str(&name)}},
                          &row, reterr);
    buf_fini(&name);
    *ret_response = row.v[0];
    *ret = row.v[1] != 0 ? STORE_CANCEL : STORE_GO_ON;
    return rc == 0 && !row.is_there ? explain_missing(s, id, ret, reterr) : rc;
}

static int start_work(struct store_session *s, str id, str lock, str head, str tail,
                      enum store_wish *ret, struct err *reterr)
{
    int64_t response;

    if (work_use(s, SQL_WORK_START, id, lock, &response, ret, reterr) == -1)
        return -1;
    if (response == 0)
        return 0;
    return session_do(s, SQL_RESPONSE_START,
                      (const struct sql_value[]){{.i = response}, {.s = head}, {.s = tail}},
                      reterr);
}

int store_start_work(struct store_session *s, str id, str lock, str head, str tail,
                     enum store_wish *ret, struct err *reterr)
{
    struct tx tx;

    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    return tx_end(&tx, start_work(s, id, lock, head, tail, ret, reterr), reterr);
}

struct wishes {
    size_t skip; /* of a whole name: the part of the holder */
    const str *locks;
    size_t n;
    enum store_wish *wishes;
};

static int on_wish(void *arg, const struct sql_value *columns, struct err *reterr)
{
    struct wishes *w = arg;
    str lock = str_skip(columns[0].s, w->skip);

    (void)reterr;
    for (size_t i = 0; i < w->n; i++) {
        if (str_eq(w->locks[i], lock))
            w->wishes[i] = columns[1].i != 0 ? STORE_CANCEL : STORE_GO_ON;
    }
    return 0;
}

static int get_wishes(struct store_session *s, const str *ids, struct wishes *w, struct err *reterr)
{
    const struct sql_value mine[] = {{.s = str_from_c(s->worker)}, {.i = (int64_t)w->skip}};

    for (size_t i = 0; i < w->n; i++)
        w->wishes[i] = STORE_TAKEN;
    if (session_run(s, SQL_WORK_WISHES, mine, on_wish, w, NULL, reterr) == -1)
        return -1;
    for (size_t i = 0; i < w->n; i++) {
        if (w->wishes[i] == STORE_TAKEN && explain_missing(s, ids[i], &w->wishes[i], reterr) == -1)
            return -1;
    }
    return 0;
}

int store_get_wishes(struct store_session *s, const str *ids, const str *locks, size_t n,
                     enum store_wish *ret, struct err *reterr)
{
    struct wishes w = {.skip = strlen(s->worker), .locks = locks, .n = n, .wishes = ret};
    struct tx tx;

    if (tx_begin(&tx, s, STORE_READ, reterr) == -1)
        return -1;
    return tx_end(&tx, get_wishes(s, ids, &w, reterr), reterr);
}
