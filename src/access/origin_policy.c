/* origin_policy.c -- the keys cors_origins and host_names, and the names in listen. */
#include "access/origin_policy.h"

#include "base/listen_spec.h"

/* The host of "HOST:PORT"; a Unix socket, which asks for no name, is one that nobody has. */
static const char *listen_host(struct arena *a, const char *text)
{
    str address = listen_spec_of(text).address;
    size_t n = address.len;

    while (n > 0 && address.p[n - 1] != ':')
        n--;
    return arena_dup(a, str_from(address.p, n > 0 ? n - 1 : 0)).p;
}

int origin_policy_make(const struct config *c, bool asks_for_key, struct arena *a,
                       struct origin_policy *ret)
{
    const char **names = arena_array(a, c->host_names.n + c->listen.n, sizeof(*names));
    size_t n = 0;

    if (names == NULL)
        return -1;
    for (size_t i = 0; i < c->host_names.n; i++)
        names[n++] = c->host_names.items[i];
    for (size_t i = 0; i < c->listen.n; i++) {
        names[n] = listen_host(a, c->listen.items[i]);
        if (names[n++] == NULL)
            return -1;
    }
    *ret = (struct origin_policy){.cors = {c->cors_origins.items, c->cors_origins.n},
                                  .names = {names, n},
                                  .is_only_names = c->host_names.n > 0,
                                  .asks_for_key = asks_for_key};
    return 0;
}
