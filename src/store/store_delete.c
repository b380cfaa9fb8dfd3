/* store_delete.c -- deleting a response.
 *
 * It cannot be found from then on. Its rows stay while something needs them: a
 * response that continues it, a conversation that holds its items, a reference
 * to one of them. When the last response or item of its own history goes, what only
 * waited for it goes as well; what waited for another history goes with its own. */
#include "store/store_delete.h"

#include "store/store_history.h"
#include "store/store_item.h"

int response_remove_upwards(struct store_session *s, int64_t seq, struct err *reterr)
{
    while (seq != 0) {
        const struct sql_value value = {.i = seq};
        struct found row, bytes;
        bool is_needed;

        if (session_find(s, SQL_RESPONSE_REMOVE, &value, &row, reterr) == -1)
            return -1;
        if (!row.is_there)
            return 0;
        if (session_find(s, SQL_RESPONSE_ITEM_BYTES, &value, &bytes, reterr) == -1 ||
            session_do(s, SQL_RESPONSE_ITEMS_REMOVE, &value, reterr) == -1 ||
            history_shrink(s, row.v[1], 0, (uint64_t)bytes.v[0], &is_needed, reterr) == -1)
            return -1;
        seq = row.v[0];
    }
    return 0;
}

/* The history is changed first: nobody else changes it from then on. */
static int delete_found(struct store_session *s, int64_t seq, int64_t history, int64_t bytes,
                        bool *ret_is_there, struct err *reterr)
{
    uint64_t changed = 0;
    bool is_needed;

    if (history_shrink(s, history, 1, (uint64_t)bytes, &is_needed, reterr) == -1 ||
        session_run(s, SQL_RESPONSE_FORGET, &(struct sql_value){.i = seq}, NULL, NULL, &changed,
                    reterr) == -1)
        return -1;
    *ret_is_there = changed > 0;
    if (!*ret_is_there)
        return 0;
    return is_needed ? response_remove_upwards(s, seq, reterr) : history_remove(s, history, reterr);
}

static int delete_response(struct store_session *s, str owner, str id, struct err *reterr)
{
    const struct sql_value values[] = {{.s = id}, {.s = owner}};
    struct found r = {.is_there = false};

    if (id_is_possible(id) && session_find(s, SQL_RESPONSE_FIND, values, &r, reterr) == -1)
        return -1;
    if (r.is_there && delete_found(s, r.v[0], r.v[1], r.v[2], &r.is_there, reterr) == -1)
        return -1;
    if (r.is_there)
        return 0;
    err_set(reterr, ERR_NOT_FOUND, "Response with id '%.*s' not found.", STR_ARG(id));
    return -1;
}

int store_delete_response(struct store_session *s, str owner, str id, struct err *reterr)
{
    struct tx tx;

    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    return tx_end(&tx, delete_response(s, owner, id, reterr), reterr);
}
