/* turn_context.c -- a response that is stored nowhere, and continued all the same: what its client's
 * connection keeps of it (flight/peer_context.h).
 *
 * A response that is stored needs none of this: what continues it finds it in the store. */
#include "flight/peer_context.h"
#include "json/json_read.h"
#include "turn/turn_stages.h"

void turn_find_context(struct turn *t)
{
    if (!str_is_none(t->previous_id))
        t->before = peer_find_context(t->flight.peer, t->previous_id);
}

int turn_read_context(struct turn *t, struct err *reterr)
{
    if (t->before == NULL)
        return 0;
    return peer_context_history(t->before, &t->flight.arena, &t->history, reterr);
}

bool turn_leaves_context(const struct turn *t)
{
    return !t->request.store && t->response.status != RESPONSE_FAILED &&
           flight_has_client(&t->flight) && peer_keeps_contexts(t->flight.peer);
}

/* ---- what it is made of */

static bool keep_copy(struct turn *t, const struct store_item *item, struct store_item *ret)
{
    *ret = *item;
    ret->id = arena_dup(&t->kept, item->id);
    ret->body = arena_dup(&t->kept, item->body);
    return !str_is_none(ret->id) && !str_is_none(ret->body);
}

/* What came from the store belongs to a context of its own from now on: there it may be deleted. */
bool turn_keep_history(struct turn *t, struct store_items *items)
{
    for (size_t i = 0; i < t->history.items.n; i++) {
        if (!keep_copy(t, &t->history.items.v[i], &items->v[items->n++]))
            return false;
    }
    return true;
}

/* What a response was asked for as a summary replaces all before it as long as it is known for output: by a
 * hidden item, for it is no output of this response. */
static bool is_summary(const struct store_item *item)
{
    return item->is_output && str_eq(jr_member_string(item->body, STR("type")), STR("compaction"));
}

/* The items before are the request's own in the store, where nothing else has them. */
void turn_record_history(const struct turn *t, struct store_items *items)
{
    for (size_t i = 0; i < t->history.items.n; i++) {
        struct store_item *const item = &items->v[items->n++];

        *item = t->history.items.v[i];
        item->is_hidden = item->is_hidden || is_summary(item);
        item->is_output = false;
    }
}

/* A context that does not come about for want of memory is one that was not kept: the next request
 * brings everything. */
void turn_compose_context(struct turn *t)
{
    struct store_items items = {.n = 0};

    buf_init(&t->context_tail, 0);
    response_object_tail(&t->response, &t->context_tail);
    t->has_context = turn_keep_items(t, TURN_INPUT | TURN_OUTPUT, &items, NULL) == 0 &&
                     !buf_failed(&t->context_tail);
    t->record.items = items;
}

/* ---- it is left at the client's */

void turn_leave_context(struct turn *t)
{
    const struct peer client = t->flight.peer;

    if (!peer_keeps_contexts(client) || t->response.status == RESPONSE_FAILED)
        return;
    if (t->has_context)
        t->after = peer_context_new(t->before, &t->record.items, &t->kept, &t->context_tail);
    peer_keep_context(client, id_str(&t->response.id), t->after);
}

void turn_free_context(struct turn *t)
{
    peer_context_unref(t->before);
    peer_context_unref(t->after);
    buf_fini(&t->context_tail);
}
