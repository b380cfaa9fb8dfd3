/* store_finish.c -- how responses under way end. */
#include <stdlib.h>

#include "store/store_cuts.h"
#include "store/store_history.h"
#include "store/store_item.h"
#include "store/store_lock.h"
#include "store/store_response_row.h"
#include "store/store_work.h"
#include "store/store_work_leave.h"

/* ---- with an end */

struct ending {
    const struct store_response *r;
    struct store_items output;
    int64_t *refs;
    uint64_t counted; /* by the history, besides items: of when it was accepted */
};

/* Lets the history count what it holds now. */
static int count_end(struct store_session *s, const struct response_row *row,
                     const struct ending *e, struct err *reterr)
{
    const struct store_response *r = e->r;
    const struct amount more = {0, r->id.len + r->head.len + r->tail.len + items_bytes(&e->output),
                                r->cuts.len};
    bool is_there, is_needed;

    if (history_use(s, row->history, more, &is_there, reterr) == -1)
        return -1;
    return history_shrink(s, row->history, (struct amount){.bytes = e->counted}, &is_needed,
                          reterr);
}

static int enter_conversation(struct store_session *s, const struct response_row *row,
                              enum store_status status, bool *ret_is_entered, struct err *reterr)
{
    struct found conversation;

    *ret_is_entered = false;
    if (status != STORE_COMPLETED && status != STORE_INCOMPLETE)
        return 0;
    if (session_find(s, SQL_RESPONSE_CONVERSATION, &(struct sql_value){.i = row->seq},
                     &conversation, reterr) == -1)
        return -1;
    *ret_is_entered = conversation.is_there;
    if (!conversation.is_there)
        return 0;
    return session_do(s, SQL_REQUEST_ENTER,
                      (const struct sql_value[]){{.i = row->seq}, {.i = row->history}}, reterr);
}

static int write_end(struct store_session *s, const struct response_row *row,
                     const struct ending *e, struct err *reterr)
{
    const struct store_response *r = e->r;
    struct item_place place = {.history = row->history, .response = row->seq};

    if (count_end(s, row, e, reterr) == -1 || work_leave(s, row->seq, r->id, reterr) == -1 ||
        enter_conversation(s, row, r->status, &place.in_conversation, reterr) == -1 ||
        session_do(s, SQL_RESPONSE_FINISH,
                   (const struct sql_value[]){
                       {.i = row->seq}, {.i = (int64_t)r->status}, {.s = r->head}, {.s = r->tail}},
                   reterr) == -1 ||
        cuts_add(s, row->seq, r->cuts, reterr) == -1)
        return -1;
    return items_add(s, &place, &e->output, e->refs, reterr);
}

/* ---- by whoever runs it */

/* Removes the work of a claim; *ret_is_ours false when it is not there under this lock. */
static int end_claimed(struct store_session *s, int64_t response, str lock, uint64_t *ret_counted,
                       bool *ret_is_ours, struct err *reterr)
{
    struct buf name = {0};
    struct found work = {.is_there = false};
    int rc = work_name_write(s, lock, &name, reterr);

    if (rc == 0)
        rc = session_find(s, SQL_WORK_END,
                          (const struct sql_value[]){{.i = response}, {.s = buf_str(&name)}}, &work,
                          reterr);
    buf_fini(&name);
    *ret_counted = (uint64_t)work.v[0];
    *ret_is_ours = work.is_there;
    return rc;
}

static int finish_work(struct store_session *s, str owner, struct ending *e, enum store_wish *ret,
                       struct err *reterr)
{
    struct response_row row;
    struct err e_find;
    bool is_ours;

    if (response_find_to_change(s, owner, e->r->id, &row, &e_find) == -1) {
        *ret = STORE_DELETED;
        if (e_find.code == ERR_NOT_FOUND)
            return 0;
        if (reterr != NULL)
            *reterr = e_find;
        return -1;
    }
    if (end_claimed(s, row.seq, e->r->lock, &e->counted, &is_ours, reterr) == -1)
        return -1;
    *ret = is_ours ? STORE_GO_ON : STORE_TAKEN;
    return is_ours ? write_end(s, &row, e, reterr) : 0;
}

/* Takes the items of the output: the others are stored since the response was accepted. */
static int take_output(struct ending *e, struct err *reterr)
{
    const struct store_items *all = &e->r->items;

    e->output.v = calloc(all->n + 1, sizeof(*e->output.v));
    if (e->output.v == NULL)
        return err_set_no_memory(reterr);
    for (size_t i = 0; i < all->n; i++) {
        if (all->v[i].is_output)
            e->output.v[e->output.n++] = all->v[i];
    }
    return 0;
}

int store_finish_work(struct store_session *s, str owner, const struct store_response *r,
                      enum store_wish *ret, struct err *reterr)
{
    struct ending e = {.r = r};
    struct tx tx;
    int rc = -1;

    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    if (take_output(&e, reterr) == 0 && items_resolve(s, owner, &e.output, &e.refs, reterr) == 0)
        rc = finish_work(s, owner, &e, ret, reterr);
    free(e.output.v);
    free(e.refs);
    return tx_end(&tx, rc, reterr);
}

/* ---- from outside */

static int cancel_queued(struct store_session *s, const struct response_row *row,
                         const struct store_response *r, bool *ret_is_done, struct err *reterr)
{
    struct ending e = {.r = r};
    struct found work;

    if (session_find(s, SQL_WORK_END_QUEUED, &(struct sql_value){.i = row->seq}, &work, reterr) ==
        -1)
        return -1;
    *ret_is_done = work.is_there;
    e.counted = (uint64_t)work.v[0];
    return work.is_there ? write_end(s, row, &e, reterr) : 0;
}

static int cancel_work(struct store_session *s, str owner, const struct store_response *r,
                       enum store_cancelled *ret, struct err *reterr)
{
    struct response_row row;
    bool is_done;

    if (response_find_to_change(s, owner, r->id, &row, reterr) == -1)
        return -1;
    *ret = STORE_CANCEL_LATE;
    if (store_status_is_terminal(row.status))
        return 0;
    if (cancel_queued(s, &row, r, &is_done, reterr) == -1)
        return -1;
    *ret = STORE_CANCEL_STORED;
    if (is_done)
        return 0;
    *ret = STORE_CANCEL_WISHED;
    return session_do(s, SQL_WORK_CANCEL, &(struct sql_value){.i = row.seq}, reterr);
}

int store_cancel_work(struct store_session *s, str owner, const struct store_response *r,
                      enum store_cancelled *ret, struct err *reterr)
{
    struct tx tx;

    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    return tx_end(&tx, cancel_work(s, owner, r, ret, reterr), reterr);
}
