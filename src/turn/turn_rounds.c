/* turn_rounds.c -- calls that the gateway has run, for clients that do not send them back
 * (CONTRACT 2.5 rule 8).
 *
 * A turn without such calls, and before there have been any, costs a look at a counter. */
#include "memory/call_memory.h"
#include "response/response_rounds.h"
#include "turn/turn_internal.h"
#include "wire/request/request_rounds.h"

static bool find_rounds(void *arg, struct call_key key, struct arena *a, str *ret)
{
    struct turn *t = arg;

    key.scope = turn_memory_scope(t);
    return !str_is_none(key.scope) && call_memory_find(t->flight.worker->rounds, &key, a, ret);
}

int turn_put_back(struct turn *t, struct err *reterr)
{
    const struct responses_request_options options = turn_request_options(t);
    const struct rounds_source source = {find_rounds, t};

    if (t->flight.worker->rounds == NULL || call_memory_is_empty(t->flight.worker->rounds))
        return 0;
    return request_put_back(&t->request, &source, &options.input, &t->flight.worker->ids,
                            &t->flight.arena, reterr);
}

enum { MAX_CONTEXTS = 2 };

struct keeping {
    const struct turn *turn;
    struct response_rounds rounds;
    struct call_context contexts[MAX_CONTEXTS];
    size_t n_contexts;
};

static void put_rounds(void *arg, struct call_cache *cache)
{
    struct keeping *k = arg;

    for (size_t i = 0; i < k->n_contexts; i++) {
        k->rounds.context = k->contexts[i];
        response_rounds_remember(&k->turn->response, &k->rounds, cache);
    }
}

static bool add_context(struct keeping *k, const struct item_list *items)
{
    const struct call_place nowhere = {.first = NULL};
    struct call_place place = nowhere;

    for (const struct item *it = items->first; it != NULL; it = it->next)
        call_place_pass(&place, it);
    return call_context_move(&k->contexts[k->n_contexts++], &nowhere, &place);
}

/* A client sends the compaction item of a context back, or what the context was before. */
static bool find_contexts(struct keeping *k)
{
    const struct turn *t = k->turn;

    return add_context(k, &t->request.items) &&
           (!t->compaction.has_replaced || add_context(k, &t->compaction.replaced));
}

void turn_keep_rounds(struct turn *t)
{
    const bool has_rounds = response_has_rounds(&t->response);
    struct keeping k = {.turn = t};
    struct buf text = {.limit = 0};

    if (t->flight.worker->rounds == NULL ||
        (!has_rounds && (call_memory_is_empty(t->flight.worker->rounds) ||
                         !response_has_clients_call(&t->response))))
        return;
    if (has_rounds)
        response_rounds_write(&t->response, &text);
    k.rounds.scope = turn_memory_scope(t);
    k.rounds.text = buf_str(&text);
    if (!buf_failed(&text) && !str_is_none(k.rounds.scope) && find_contexts(&k))
        call_memory_put(t->flight.worker->rounds, put_rounds, &k);
    buf_fini(&text);
}
