/* turn_reasoning.c -- the reasoning that a client does not send back (CONTRACT 2.4).
 *
 * It belongs to the client's credentials: to the owner of its key, or, where no
 * keys are asked for, to whatever it sends as Authorization, of which only a
 * hash is kept. */
#include <openssl/evp.h>

#include "gateway/api_key.h"
#include "gateway/reasoning_memory.h"
#include "gateway/turn_internal.h"

/* STR_NONE when it cannot be told. */
static str scope_of(const struct turn *t, unsigned char hash[EVP_MAX_MD_SIZE])
{
    str credentials = http_request_header(t->http, STR("authorization"));
    unsigned n;

    if (t->worker->keys->n > 0)
        return t->caller.owner;
    if (str_is_none(credentials))
        return STR("");
    if (EVP_Digest(credentials.p, credentials.len, hash, &n, EVP_sha256(), NULL) != 1)
        return STR_NONE;
    return str_from((const char *)hash, n);
}

static bool find(void *arg, const struct call *c, struct arena *a, str *ret)
{
    const struct turn *t = arg;
    unsigned char hash[EVP_MAX_MD_SIZE];
    const struct reasoning_key key = {
        .scope = scope_of(t, hash), .call_id = c->id, .arguments = c->arguments, .name = c->name};

    return !str_is_none(key.scope) && reasoning_memory_find(t->worker->reasoning, &key, a, ret);
}

const struct reasoning_source *turn_reasoning(struct turn *t)
{
    t->reasoning_source = (struct reasoning_source){find, t};
    return t->worker->reasoning == NULL ? NULL : &t->reasoning_source;
}

void turn_keep_reasoning(struct turn *t)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    str scope;

    if (t->worker->reasoning == NULL)
        return;
    scope = scope_of(t, hash);
    if (!str_is_none(scope))
        reasoning_memory_keep(t->worker->reasoning, scope, &t->response);
}
