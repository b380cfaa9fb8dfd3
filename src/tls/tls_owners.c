/* tls_owners.c -- chains by hash. */
#include "tls/tls_owners.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/str_map.h"
#include "ev/log.h"
#include "ev/loop.h"

enum { CHAINS = 16384 };

struct kept_owner {
    struct kept_owner *next;
    size_t len;
    char text[];
};

struct tls_owners {
    uv_mutex_t lock; /* of what follows; nothing is taken while it is held */
    size_t n;
    bool has_refused;
    uint64_t seed; /* constant */
    struct kept_owner *chains[CHAINS];
};

struct tls_owners *tls_owners_new(void)
{
    struct tls_owners *o = calloc(1, sizeof(*o));

    if (o == NULL || uv_mutex_init(&o->lock) != 0) {
        free(o);
        return NULL;
    }
    random_fill(NULL, &o->seed, sizeof(o->seed));
    return o;
}

void tls_owners_free(struct tls_owners *o)
{
    if (o == NULL)
        return;
    for (size_t i = 0; i < CHAINS; i++) {
        while (o->chains[i] != NULL) {
            struct kept_owner *first = o->chains[i];

            o->chains[i] = first->next;
            free(first);
        }
    }
    uv_mutex_destroy(&o->lock);
    free(o);
}

static struct kept_owner *find_owner(struct kept_owner *first, str owner)
{
    while (first != NULL && !str_eq(str_from(first->text, first->len), owner))
        first = first->next;
    return first;
}

static struct kept_owner *add_owner(struct tls_owners *o, struct kept_owner **chain, str owner)
{
    struct kept_owner *k = o->n < TLS_OWNERS_MOST ? malloc(sizeof(*k) + owner.len) : NULL;

    if (k == NULL)
        return NULL;
    k->len = owner.len;
    memcpy(k->text, owner.p, owner.len);
    k->next = *chain;
    *chain = k;
    o->n++;
    return k;
}

str tls_owners_keep(struct tls_owners *o, str owner)
{
    struct kept_owner **chain = &o->chains[str_map_hash(o->seed, owner) % CHAINS], *k;
    bool is_told;

    uv_mutex_lock(&o->lock);
    k = find_owner(*chain, owner);
    if (k == NULL)
        k = add_owner(o, chain, owner);
    is_told = k != NULL || o->has_refused;
    o->has_refused = o->has_refused || k == NULL;
    uv_mutex_unlock(&o->lock);
    if (!is_told)
        log_msg(LOG_ERROR,
                "certificates of clients have named %d owners, or memory is short: clients with "
                "others are shut out until the gateway is started again",
                TLS_OWNERS_MOST);
    return k == NULL ? STR_NONE : str_from(k->text, k->len);
}
