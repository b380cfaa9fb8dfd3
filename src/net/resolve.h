/* resolve.h -- the addresses of names, looked up once and kept for a while.
 *
 * One resolver per loop; everything here runs on that loop's thread, the system's
 * lookup on libuv's pool. Calls that want the same name share one lookup. */
#ifndef ANTIPHON_NET_RESOLVE_H
#define ANTIPHON_NET_RESOLVE_H

#include "ev/loop.h"
#include "net/address.h"

struct name;
struct resolver;

/* A wait for a name, inside whoever waits. */
struct resolve_wait {
    /* list is NULL when the name cannot be resolved; it dies when this returns. */
    void (*on_resolved)(void *arg, const struct address_list *list);
    void *arg;
    struct resolve_wait *next, **link; /* link is NULL when nothing is waited for */
};

/* Makes a resolver; NULL when out of memory. */
struct resolver *resolver_new(struct loop *loop);

/* Frees a resolver that nobody waits for any more; lookups that still run end on their own, before
 * loop_free() returns. NULL is fine. */
void resolver_free(struct resolver *resolver);

/* True: *ret holds the addresses, with port 0. False: wait->on_resolved follows,
 * never from inside; or *wait stays unused, with link NULL, and there is no
 * memory for a lookup. */
bool resolver_get(struct resolver *resolver, const char *host, struct resolve_wait *wait,
                  struct address_list *ret);

/* True while a lookup is under way, waited for or not. */
bool resolver_is_busy(const struct resolver *resolver);

/* Ends a wait; fine when nothing is waited for. */
void resolve_cancel(struct resolve_wait *wait);

#endif
