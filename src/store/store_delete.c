/* store_delete.c -- deleting a response.
 *
 * A deleted response cannot be found. Its rows stay while something needs them: a
 * response that continues it, a conversation that holds its items, a reference
 * to one of them. When the last response or item of its own history goes, what only
 * waited for it goes as well; what waited for another history goes with its own. */
#include "store/store_delete.h"

#include "store/store_cuts.h"
#include "store/store_history.h"
#include "store/store_item.h"
#include "store/store_response_row.h"
#include "store/store_work_leave.h"

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
            history_shrink(s, row.v[1], (struct amount){.bytes = (uint64_t)bytes.v[0]}, &is_needed,
                           reterr) == -1)
            return -1;
        seq = row.v[0];
    }
    return 0;
}

/* Removes a response's work, and what the history counts for it goes into *bytes. */
static int remove_work(struct store_session *s, const struct response_row *r, str id,
                       uint64_t *bytes, struct err *reterr)
{
    const struct sql_value value = {.i = r->seq};
    struct found work;

    if (store_status_is_terminal(r->status))
        return 0;
    if (session_find(s, SQL_WORK_REMOVE, &value, &work, reterr) == -1)
        return -1;
    if (!work.is_there)
        return 0;
    *bytes = (uint64_t)work.v[0];
    return work_leave(s, r->seq, id, reterr);
}

static int delete_response(struct store_session *s, str owner, str id, struct err *reterr)
{
    struct response_row r;
    bool is_needed;
    uint64_t bytes, cuts_bytes;

    if (response_find_to_change(s, owner, id, &r, reterr) == -1)
        return -1;
    bytes = r.bytes;
    if (remove_work(s, &r, id, &bytes, reterr) == -1 ||
        session_do(s, SQL_RESPONSE_FORGET, &(struct sql_value){.i = r.seq}, reterr) == -1 ||
        cuts_remove(s, r.seq, &cuts_bytes, reterr) == -1 ||
        history_shrink(s, r.history, (struct amount){1, bytes, cuts_bytes}, &is_needed, reterr) ==
            -1)
        return -1;
    return is_needed ? response_remove_upwards(s, r.seq, reterr)
                     : history_remove(s, r.history, reterr);
}

int store_delete_response(struct store_session *s, str owner, str id, struct err *reterr)
{
    struct tx tx;

    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    return tx_end(&tx, delete_response(s, owner, id, reterr), reterr);
}
