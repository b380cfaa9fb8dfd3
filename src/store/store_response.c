/* store_response.c -- responses: saved, shown, continued, deleted. */
#include "store/store_response.h"

#include <stdlib.h>

#include "store/store_cuts.h"
#include "store/store_history.h"
#include "store/store_idempotency.h"
#include "store/store_idempotency_key.h"
#include "store/store_item.h"
#include "store/store_lock.h"
#include "store/store_time.h"

static void set_previous_not_found(struct err *e, str id)
{
    err_set_param(e, ERR_PREVIOUS_NOT_FOUND, "previous_response_id",
                  "Previous response with id '%.*s' not found.", STR_ARG(id));
}

/* ---- saving */

struct save {
    struct store_session *s;
    str owner;
    const struct store_response *r;
    struct amount amount;
    int64_t *refs;
    int64_t history, parent; /* parent 0: none */
    bool in_conversation;
};

static int enter_new(struct save *v, struct err *reterr)
{
    const struct history_new h = {
        .owner = v->owner, .created_at = v->r->created_at, .amount = v->amount};

    return history_add(v->s, &h, &v->history, reterr);
}

/* The parent is looked for once more when nobody else can delete it any longer. */
static int enter_parents(struct save *v, struct err *reterr)
{
    const struct sql_value values[] = {{.s = v->r->parent_id}, {.s = v->owner}};
    const struct sql_value *seq;
    struct found parent = {.is_there = false};
    bool is_there = false;

    if (id_is_possible(v->r->parent_id) &&
        session_find(v->s, SQL_PARENT_FIND, values, &parent, reterr) == -1)
        return -1;
    v->parent = parent.v[0];
    v->history = parent.v[1];
    seq = &(struct sql_value){.i = v->parent};
    if (parent.is_there && history_use(v->s, v->history, v->amount, &is_there, reterr) == -1)
        return -1;
    if (is_there && session_find(v->s, SQL_PARENT_IS_THERE, seq, &parent, reterr) == -1)
        return -1;
    if (is_there && parent.is_there)
        return 0;
    set_previous_not_found(reterr, v->r->parent_id);
    return -1;
}

static int enter_conversation(struct save *v, struct err *reterr)
{
    str id = v->r->conversation_id;
    struct conversation c;

    if (conversation_use(v->s, v->owner, id, v->amount, &c, reterr) == -1)
        return -1;
    if (!c.is_there) {
        lock_set_no_conversation(reterr, id);
        return -1;
    }
    if (lock_check(v->s, c.seq, id, v->r->lock, reterr) == -1)
        return -1;
    v->history = c.seq;
    v->in_conversation = v->r->status == STORE_COMPLETED || v->r->status == STORE_INCOMPLETE;
    return str_is_none(v->r->lock) ? 0 : lock_release(v->s, v->r->lock, reterr);
}

static int enter_history(struct save *v, struct err *reterr)
{
    if (!str_is_none(v->r->parent_id))
        return enter_parents(v, reterr);
    if (!str_is_none(v->r->conversation_id))
        return enter_conversation(v, reterr);
    return enter_new(v, reterr);
}

static int write_response(struct save *v, int64_t *ret_seq, struct err *reterr)
{
    const struct store_response *r = v->r;
    const struct sql_value values[] = {
        {.s = r->id},         {.i = v->history}, {.i = v->parent}, {.i = (int64_t)r->status},
        {.i = r->created_at}, {.s = r->head},    {.s = r->tail}};
    struct item_place place = {.history = v->history, .in_conversation = v->in_conversation};
    struct found row;

    if (session_find(v->s, SQL_RESPONSE_ADD, values, &row, reterr) == -1)
        return -1;
    *ret_seq = place.response = row.v[0];
    if (cuts_add(v->s, *ret_seq, r->cuts, reterr) == -1)
        return -1;
    return items_add(v->s, &place, &r->items, v->refs, reterr);
}

int response_add(struct store_session *s, str owner, const struct store_response *r,
                 uint64_t more_bytes, struct response_row *ret, struct err *reterr)
{
    const uint64_t own_bytes = r->id.len + r->head.len + r->tail.len;
    struct save v = {.s = s,
                     .owner = owner,
                     .r = r,
                     .amount = {1, own_bytes + items_bytes(&r->items) + more_bytes, r->cuts.len}};
    int rc = -1;

    *ret = (struct response_row){.bytes = own_bytes, .status = r->status};
    if (items_resolve(s, owner, &r->items, &v.refs, reterr) == 0 && enter_history(&v, reterr) == 0)
        rc = write_response(&v, &ret->seq, reterr);
    ret->history = v.history;
    free(v.refs);
    return rc;
}

/* What has failed is no answer that is given a second time. */
static int settle_key(struct store_session *s, const struct store_response *r, struct err *reterr)
{
    if (str_is_none(r->idempotency_lock))
        return 0;
    if (r->status == STORE_FAILED || r->status == STORE_CANCELLED)
        return store_drop_key(s, r->idempotency_lock, reterr);
    return key_finish_with_response(s, r->idempotency_lock, r->id, reterr);
}

int store_save_response(struct store_session *s, str owner, const struct store_response *r,
                        struct err *reterr)
{
    struct response_row row;
    struct tx tx;
    int rc = -1;

    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    if (response_add(s, owner, r, 0, &row, reterr) == 0)
        rc = settle_key(s, r, reterr);
    return tx_end(&tx, rc, reterr);
}

/* ---- showing */

struct get {
    struct arena *arena;
    struct store_response *r;
    int64_t seq; /* 0: not found */
};

static int on_response(void *arg, const struct sql_value *columns, struct err *reterr)
{
    struct get *g = arg;

    g->seq = columns[0].i;
    *g->r = (struct store_response){.id = arena_dup(g->arena, columns[1].s),
                                    .status = (enum store_status)columns[2].i,
                                    .created_at = columns[3].i,
                                    .parent_id = arena_dup(g->arena, columns[4].s),
                                    .conversation_id = arena_dup(g->arena, columns[5].s),
                                    .head = arena_dup(g->arena, columns[6].s),
                                    .tail = arena_dup(g->arena, columns[7].s)};
    if (!str_is_none(g->r->id) && !str_is_none(g->r->head) && !str_is_none(g->r->tail))
        return 0;
    return err_set_no_memory(reterr);
}

int response_load(struct store_session *s, str owner, str id, struct arena *a,
                  struct store_response *ret, struct err *reterr)
{
    const struct sql_value values[] = {{.s = id}, {.s = owner}};
    struct get g = {.arena = a, .r = ret};
    struct item_rows output = {.arena = a};

    if (id_is_possible(id) &&
        session_run(s, SQL_RESPONSE_GET, values, on_response, &g, NULL, reterr) == -1)
        return -1;
    if (g.seq == 0) {
        response_set_not_found(reterr, id);
        return -1;
    }
    if (session_run(s, SQL_RESPONSE_OUTPUT, &(struct sql_value){.i = g.seq}, item_rows_add, &output,
                    NULL, reterr) == -1)
        return -1;
    ret->items = output.items;
    return 0;
}

int store_get_response(struct store_session *s, str owner, str id, struct arena *a,
                       struct store_response *ret, struct err *reterr)
{
    struct store_response r;
    struct tx tx;
    int rc;

    if (tx_begin(&tx, s, STORE_READ, reterr) == -1)
        return -1;
    rc = tx_end(&tx, response_load(s, owner, id, a, &r, reterr), reterr);
    if (rc == 0)
        *ret = r;
    return rc;
}

int store_list_input_items(struct store_session *s, str owner, str response_id,
                           const struct store_page *page, struct arena *a, struct store_list *ret,
                           struct err *reterr)
{
    static const struct list_kind input = {SQL_INPUT_ASCENDING, SQL_INPUT_DESCENDING,
                                           SQL_INPUT_PLACE};
    struct response_row response;
    struct tx tx;
    int rc;

    if (tx_begin(&tx, s, STORE_READ, reterr) == -1)
        return -1;
    rc = response_find(s, owner, response_id, &response, reterr);
    if (rc == 0)
        rc = items_list(s, &input, response.seq, page, a, ret, reterr);
    return tx_end(&tx, rc, reterr);
}

/* ---- continuing */

struct previous {
    struct arena *arena;
    int64_t seq; /* 0: not found */
    str tail;
};

static int on_previous(void *arg, const struct sql_value *columns, struct err *reterr)
{
    struct previous *p = arg;

    p->seq = columns[0].i;
    p->tail = arena_dup(p->arena, columns[2].s);
    if (!str_is_none(p->tail))
        return 0;
    return err_set_no_memory(reterr);
}

static int load_history(struct store_session *s, const struct sql_value *id_and_owner,
                        struct arena *a, struct store_history *ret, struct err *reterr)
{
    struct previous p = {.arena = a};
    struct item_rows rows = {.arena = a};

    if (id_is_possible(id_and_owner[0].s) &&
        session_run(s, SQL_PARENT_FIND, id_and_owner, on_previous, &p, NULL, reterr) == -1)
        return -1;
    if (p.seq == 0) {
        set_previous_not_found(reterr, id_and_owner[0].s);
        return -1;
    }
    if (session_run(s, SQL_CHAIN, &(struct sql_value){.i = p.seq}, item_rows_add, &rows, NULL,
                    reterr) == -1)
        return -1;
    *ret = (struct store_history){.items = rows.items, .tail = p.tail};
    return 0;
}

int store_load_history(struct store_session *s, str owner, str response_id, struct arena *a,
                       struct store_history *ret, struct err *reterr)
{
    const struct sql_value values[] = {{.s = response_id}, {.s = owner}};
    struct tx tx;

    if (tx_begin(&tx, s, STORE_READ, reterr) == -1)
        return -1;
    return tx_end(&tx, load_history(s, values, a, ret, reterr), reterr);
}
