/* turn_reasoning.c -- reasoning that a client sends back sealed, or not at all (CONTRACT 2.4).
 *
 * What is remembered belongs to the client's credentials: to the owner of its key, or, where no
 * keys are asked for, to whatever it sends as Authorization, of which only a
 * hash is kept. */
#include "access/api_key.h"
#include "ev/sha256.h"
#include "memory/call_memory.h"
#include "response/response_memory.h"
#include "turn/turn_internal.h"

static str make_scope(const struct turn *t, struct arena *a)
{
    str credentials = http_request_header(t->flight.http, STR("authorization"));
    unsigned char hash[SHA256_BYTES];

    if (atomic_load(&t->flight.worker->has_keys))
        return t->flight.caller.owner;
    if (str_is_none(credentials))
        return STR("");
    if (!sha256(credentials, hash))
        return STR_NONE;
    return arena_dup(a, str_from((const char *)hash, SHA256_BYTES));
}

str turn_memory_scope(struct turn *t)
{
    if (str_is_none(t->memory_scope))
        t->memory_scope = make_scope(t, &t->flight.arena);
    return t->memory_scope;
}

static bool find_reasoning(void *arg, const struct call *c, struct arena *a, str *ret)
{
    struct turn *t = arg;
    const struct call_key key = {.scope = turn_memory_scope(t),
                                 .call_id = call_shown_id(c),
                                 .arguments = c->arguments,
                                 .name = c->name};

    return !str_is_none(key.scope) && call_memory_find(t->flight.worker->reasoning, &key, a, ret);
}

const struct reasoning_source *turn_reasoning(struct turn *t)
{
    t->reasoning_source = (struct reasoning_source){find_reasoning, t};
    return t->flight.worker->reasoning == NULL ? NULL : &t->reasoning_source;
}

const struct text_seal *turn_seal(struct turn *t)
{
    owner_seal_init(&t->seal, t->flight.worker->seal_keys, t->flight.caller.owner);
    return &t->seal.text;
}

const struct text_seal *turn_asked_seal(struct turn *t)
{
    if (!t->request.include_encrypted_reasoning)
        return NULL;
    owner_seal_tell(t->flight.worker->forgets_seals);
    return turn_seal(t);
}

static void put_reasoning(void *arg, struct call_cache *cache)
{
    const struct turn *t = arg;

    response_remember(&t->response, t->memory_scope, cache);
}

void turn_keep_reasoning(struct turn *t)
{
    if (t->flight.worker->reasoning != NULL && response_is_to_remember(&t->response) &&
        !str_is_none(turn_memory_scope(t)))
        call_memory_put(t->flight.worker->reasoning, put_reasoning, t);
}
