/* store_history.c -- making, using and removing histories. */
#include "store/store_history.h"

#include "store/store_item.h"
#include "store/store_purge.h"
#include "store/store_time.h"

int history_add(struct store_session *s, const struct history_new *h, int64_t *ret_seq,
                struct err *reterr)
{
    const struct sql_value values[] = {{.s = h->owner},
                                       {.s = h->conversation_id},
                                       {.s = h->metadata},
                                       {.i = h->created_at},
                                       {.i = store_time_ms(s->time)},
                                       {.i = (int64_t)h->amount.n_responses},
                                       {.i = (int64_t)h->amount.bytes},
                                       {.i = (int64_t)h->amount.cuts_bytes}};
    struct found row;

    if (session_find(s, SQL_HISTORY_ADD, values, &row, reterr) == -1)
        return -1;
    *ret_seq = row.v[0];
    store_growth_add(s->growth, &h->amount);
    return 0;
}

int history_use(struct store_session *s, int64_t seq, struct amount more, bool *ret_is_there,
                struct err *reterr)
{
    const struct sql_value values[] = {{.i = seq},
                                       {.i = store_time_ms(s->time)},
                                       {.i = (int64_t)more.n_responses},
                                       {.i = (int64_t)more.bytes},
                                       {.i = (int64_t)more.cuts_bytes}};
    uint64_t changed = 0;

    if (session_run(s, SQL_HISTORY_USE, values, NULL, NULL, &changed, reterr) == -1)
        return -1;
    *ret_is_there = changed > 0;
    store_growth_add(s->growth, &more);
    return 0;
}

int conversation_use(struct store_session *s, str owner, str id, struct amount more,
                     struct conversation *ret, struct err *reterr)
{
    const struct sql_value values[] = {{.s = id},
                                       {.s = owner},
                                       {.i = store_time_ms(s->time)},
                                       {.i = (int64_t)more.n_responses},
                                       {.i = (int64_t)more.bytes},
                                       {.i = (int64_t)more.cuts_bytes}};
    struct found row = {.is_there = false};

    if (id_is_possible(id) && session_find(s, SQL_CONVERSATION_USE, values, &row, reterr) == -1)
        return -1;
    *ret = (struct conversation){row.is_there, row.v[0], (uint64_t)row.v[1], (uint64_t)row.v[2]};
    if (row.is_there)
        store_growth_add(s->growth, &more);
    return 0;
}

int history_shrink(struct store_session *s, int64_t seq, struct amount less, bool *ret_is_needed,
                   struct err *reterr)
{
    const struct sql_value values[] = {{.i = seq},
                                       {.i = (int64_t)less.n_responses},
                                       {.i = (int64_t)less.bytes},
                                       {.i = (int64_t)less.cuts_bytes}};
    struct found row;

    if (session_find(s, SQL_HISTORY_SHRINK, values, &row, reterr) == -1)
        return -1;
    *ret_is_needed = row.v[0] != 0;
    return 0;
}

int history_remove(struct store_session *s, int64_t seq, struct err *reterr)
{
    const struct sql_value value = {.i = seq};
    uint64_t n_referrers = 0;

    if (session_run(s, SQL_RESCUE_CLAIM, &value, NULL, NULL, &n_referrers, reterr) == -1)
        return -1;
    if (n_referrers > 0 && (session_do(s, SQL_RESCUE_BYTES, &value, reterr) == -1 ||
                            session_do(s, SQL_RESCUE_BODIES, &value, reterr) == -1))
        return -1;
    return session_do(s, SQL_HISTORY_REMOVE, &value, reterr);
}
