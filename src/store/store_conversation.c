/* store_conversation.c -- conversations and their items (CONTRACT 6, 6.1). */
#include "store/store_conversation.h"

#include <stdlib.h>

#include "store/store_delete.h"
#include "store/store_history.h"
#include "store/store_item.h"

static void set_no_conversation(struct err *e, str id)
{
    err_set(e, ERR_NOT_FOUND, "Conversation with id '%.*s' not found.", STR_ARG(id));
}

static void set_no_item(struct err *e, str id)
{
    err_set(e, ERR_NOT_FOUND, "Item with id '%.*s' not found.", STR_ARG(id));
}

static int find_conversation(struct store_session *s, str owner, str id, int64_t *ret_seq,
                             struct err *reterr)
{
    const struct sql_value values[] = {{.s = id}, {.s = owner}};
    struct found row = {.is_there = false};

    if (id_is_possible(id) && session_find(s, SQL_CONVERSATION_FIND, values, &row, reterr) == -1)
        return -1;
    if (!row.is_there) {
        set_no_conversation(reterr, id);
        return -1;
    }
    *ret_seq = row.v[0];
    return 0;
}

static int find_to_use(struct store_session *s, str owner, str id, uint64_t bytes,
                       struct conversation *ret, struct err *reterr)
{
    if (conversation_use(s, owner, id, (struct amount){.bytes = bytes}, ret, reterr) == -1)
        return -1;
    if (ret->is_there)
        return 0;
    set_no_conversation(reterr, id);
    return -1;
}

/* ---- the conversation itself */

int store_create_conversation(struct store_session *s, str owner,
                              const struct store_conversation *c, const struct store_items *items,
                              struct err *reterr)
{
    const struct history_new h = {
        .owner = owner,
        .conversation_id = c->id,
        .metadata = c->metadata,
        .created_at = c->created_at,
        .amount = {.bytes = c->id.len + c->metadata.len + items_bytes(items)}};
    struct item_place place = {.in_conversation = true};
    int64_t *refs;
    struct tx tx;
    int rc = -1;

    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    if (items_resolve(s, owner, items, &refs, reterr) == 0 &&
        history_add(s, &h, &place.history, reterr) == 0)
        rc = items_add(s, &place, items, refs, reterr);
    free(refs);
    return tx_end(&tx, rc, reterr);
}

struct get {
    struct arena *arena;
    struct store_conversation *c;
};

static int on_conversation(void *arg, const struct sql_value *columns, struct err *reterr)
{
    struct get *g = arg;

    *g->c = (struct store_conversation){.id = arena_dup(g->arena, columns[0].s),
                                        .created_at = columns[1].i,
                                        .metadata = arena_dup(g->arena, columns[2].s)};
    if (!str_is_none(g->c->id) && !str_is_none(g->c->metadata))
        return 0;
    return err_set_no_memory(reterr);
}

int store_get_conversation(struct store_session *s, str owner, str id, struct arena *a,
                           struct store_conversation *ret, struct err *reterr)
{
    const struct sql_value values[] = {{.s = id}, {.s = owner}};
    struct store_conversation c = {.id = STR_NONE};
    struct get g = {.arena = a, .c = &c};

    if (id_is_possible(id) &&
        session_run(s, SQL_CONVERSATION_GET, values, on_conversation, &g, NULL, reterr) == -1)
        return -1;
    if (str_is_none(c.id)) {
        set_no_conversation(reterr, id);
        return -1;
    }
    *ret = c;
    return 0;
}

static int update_conversation(struct store_session *s, str owner, str id, str metadata,
                               struct err *reterr)
{
    struct conversation c;
    bool is_needed;

    if (find_to_use(s, owner, id, metadata.len, &c, reterr) == -1 ||
        history_shrink(s, c.seq, (struct amount){.bytes = c.metadata_bytes}, &is_needed, reterr) ==
            -1)
        return -1;
    return session_do(s, SQL_CONVERSATION_UPDATE,
                      (const struct sql_value[]){{.i = c.seq}, {.s = metadata}}, reterr);
}

int store_update_conversation(struct store_session *s, str owner, str id, str metadata,
                              struct err *reterr)
{
    struct tx tx;

    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    return tx_end(&tx, update_conversation(s, owner, id, metadata, reterr), reterr);
}

static int delete_conversation(struct store_session *s, str owner, str id, struct err *reterr)
{
    struct conversation c;
    bool is_needed;

    if (find_to_use(s, owner, id, 0, &c, reterr) == -1)
        return -1;
    if (c.n_responses == 0)
        return history_remove(s, c.seq, reterr);
    if (history_shrink(s, c.seq, (struct amount){.bytes = c.metadata_bytes}, &is_needed, reterr) ==
        -1)
        return -1;
    return session_do(s, SQL_CONVERSATION_FORGET, &(struct sql_value){.i = c.seq}, reterr);
}

int store_delete_conversation(struct store_session *s, str owner, str id, struct err *reterr)
{
    struct tx tx;

    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    return tx_end(&tx, delete_conversation(s, owner, id, reterr), reterr);
}

/* ---- its items */

static const struct list_kind list_of_items = {SQL_CONVERSATION_ASCENDING,
                                               SQL_CONVERSATION_DESCENDING, SQL_CONVERSATION_PLACE};

int store_add_items(struct store_session *s, str owner, str conversation_id,
                    const struct store_items *items, struct err *reterr)
{
    struct conversation c;
    int64_t *refs;
    struct tx tx;
    int rc = -1;

    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    if (items_resolve(s, owner, items, &refs, reterr) == 0 &&
        find_to_use(s, owner, conversation_id, items_bytes(items), &c, reterr) == 0) {
        const struct item_place place = {.history = c.seq, .in_conversation = true};

        rc = items_add(s, &place, items, refs, reterr);
    }
    free(refs);
    return tx_end(&tx, rc, reterr);
}

int store_list_items(struct store_session *s, str owner, str conversation_id,
                     const struct store_page *page, struct arena *a, struct store_list *ret,
                     struct err *reterr)
{
    struct tx tx;
    int64_t seq;
    int rc;

    if (tx_begin(&tx, s, STORE_READ, reterr) == -1)
        return -1;
    rc = find_conversation(s, owner, conversation_id, &seq, reterr);
    if (rc == 0)
        rc = items_list(s, &list_of_items, seq, page, a, ret, reterr);
    return tx_end(&tx, rc, reterr);
}

int conversation_context(struct store_session *s, int64_t seq, struct arena *a,
                         struct store_items *ret, struct err *reterr)
{
    struct item_rows rows = {.arena = a};

    if (session_run(s, SQL_CONVERSATION_CONTEXT, &(struct sql_value){.i = seq}, item_rows_add,
                    &rows, NULL, reterr) == -1)
        return -1;
    *ret = rows.items;
    return 0;
}

static int get_item(struct store_session *s, int64_t conversation, str id, struct arena *a,
                    struct store_item *ret, struct err *reterr)
{
    const struct sql_value values[] = {{.i = conversation}, {.s = id}};
    struct item_rows rows = {.arena = a};

    if (id_is_possible(id) &&
        session_run(s, SQL_CONVERSATION_ITEM, values, item_rows_add, &rows, NULL, reterr) == -1)
        return -1;
    if (rows.items.n == 0) {
        set_no_item(reterr, id);
        return -1;
    }
    *ret = rows.items.v[0];
    return 0;
}

int store_get_item(struct store_session *s, str owner, str conversation_id, str item_id,
                   struct arena *a, struct store_item *ret, struct err *reterr)
{
    struct tx tx;
    int64_t seq;
    int rc;

    if (tx_begin(&tx, s, STORE_READ, reterr) == -1)
        return -1;
    rc = find_conversation(s, owner, conversation_id, &seq, reterr);
    if (rc == 0)
        rc = get_item(s, seq, item_id, a, ret, reterr);
    return tx_end(&tx, rc, reterr);
}

/* An item that a response came with stays with it. */
static int remove_item(struct store_session *s, int64_t conversation, int64_t item,
                       struct err *reterr)
{
    const struct sql_value value = {.i = item};
    struct found row;
    uint64_t removed = 0;
    bool is_needed;

    if (session_find(s, SQL_CONVERSATION_ITEM_FORGET, &value, &row, reterr) == -1 ||
        session_run(s, SQL_CONVERSATION_ITEM_REMOVE, &value, NULL, NULL, &removed, reterr) == -1)
        return -1;
    if (removed > 0)
        return history_shrink(s, conversation, (struct amount){.bytes = (uint64_t)row.v[1]},
                              &is_needed, reterr);
    return response_remove_upwards(s, row.v[0], reterr);
}

static int delete_item(struct store_session *s, str owner, str conversation_id, str item_id,
                       bool is_hidden, struct err *reterr)
{
    const enum sql_statement find_place =
        is_hidden ? SQL_CONVERSATION_HIDDEN_PLACE : SQL_CONVERSATION_PLACE;
    const struct sql_value *values;
    struct conversation c;
    struct found place = {.is_there = false};

    if (find_to_use(s, owner, conversation_id, 0, &c, reterr) == -1)
        return -1;
    values = (const struct sql_value[]){{.i = c.seq}, {.s = item_id}};
    if (id_is_possible(item_id) && session_find(s, find_place, values, &place, reterr) == -1)
        return -1;
    if (place.v[1] != 0)
        return remove_item(s, c.seq, place.v[1], reterr);
    if (is_hidden)
        return 0;
    set_no_item(reterr, item_id);
    return -1;
}

int store_delete_item(struct store_session *s, str owner, str conversation_id, str item_id,
                      struct err *reterr)
{
    struct tx tx;

    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    return tx_end(&tx, delete_item(s, owner, conversation_id, item_id, false, reterr), reterr);
}

int store_delete_hidden(struct store_session *s, str owner, str conversation_id, str item_id,
                        struct err *reterr)
{
    struct tx tx;

    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    return tx_end(&tx, delete_item(s, owner, conversation_id, item_id, true, reterr), reterr);
}

int store_load_conversation(struct store_session *s, str owner, str id, struct arena *a,
                            struct store_history *ret, struct err *reterr)
{
    struct store_items items = {0};
    int64_t seq;
    struct tx tx;
    int rc;

    if (tx_begin(&tx, s, STORE_READ, reterr) == -1)
        return -1;
    rc = find_conversation(s, owner, id, &seq, reterr);
    if (rc == 0)
        rc = conversation_context(s, seq, a, &items, reterr);
    rc = tx_end(&tx, rc, reterr);
    if (rc == 0)
        *ret = (struct store_history){.items = items};
    return rc;
}
