/* resolve.c -- a small cache of names in front of uv_getaddrinfo().
 *
 * A name is in the list while it is being looked up, and for KEEP_MS after that.
 * Names that cannot be resolved are forgotten at once: the next call asks anew. */
#include "net/resolve.h"

#include <netdb.h>
#include <stdlib.h>

enum {
    KEEP_MS = 60 * 1000,
    MAX_NAMES = 32, /* kept; those being looked up are not counted against it */
};

struct name {
    uv_getaddrinfo_t request;
    struct resolver *resolver; /* NULL: it has been freed meanwhile */
    struct name *next;
    struct resolve_wait *waits;
    struct address_list list;
    uint64_t until_ms; /* 0: being looked up */
    char host[];
};

struct resolver {
    struct loop *loop;
    struct name *names; /* the newest first */
};

void resolve_cancel(struct resolve_wait *wait)
{
    if (wait->link == NULL)
        return;
    *wait->link = wait->next;
    if (wait->next != NULL)
        wait->next->link = wait->link;
    wait->link = NULL;
}

static void add_wait(struct name *name, struct resolve_wait *wait)
{
    wait->next = name->waits;
    wait->link = &name->waits;
    if (wait->next != NULL)
        wait->next->link = &wait->next;
    name->waits = wait;
}

/* Reports to all who wait. Each may ask again or cancel others. */
static void report_to_all(struct name *name, const struct address_list *list)
{
    while (name->waits != NULL) {
        struct resolve_wait *wait = name->waits;

        resolve_cancel(wait);
        wait->on_resolved(wait->arg, list);
    }
}

static void names_add(struct resolver *r, struct name *name)
{
    name->next = r->names;
    r->names = name;
}

static void names_remove(struct resolver *r, struct name *name)
{
    struct name **p = &r->names;

    while (*p != name)
        p = &(*p)->next;
    *p = name->next;
}

/* Drops names that are too old, and the oldest of too many. */
static void drop_old_names(struct resolver *r)
{
    uint64_t now = loop_now_ms(r->loop);
    size_t n_kept = 0;

    for (struct name *name = r->names, *next; name != NULL; name = next) {
        next = name->next;
        if (name->until_ms != 0 && (name->until_ms <= now || ++n_kept > MAX_NAMES)) {
            names_remove(r, name);
            free(name);
        }
    }
}

/* The name is not in the list while those who wait for it are told: they may ask for others, and
 * that drops old ones. */
static void on_lookup(uv_getaddrinfo_t *request, int status, struct addrinfo *result)
{
    struct name *name = request->data;
    struct resolver *r = name->resolver;

    for (const struct addrinfo *a = result; a != NULL && status == 0; a = a->ai_next)
        address_add(&name->list, a->ai_addr);
    uv_freeaddrinfo(result);
    if (r != NULL) {
        names_remove(r, name);
        report_to_all(name, name->list.n > 0 ? &name->list : NULL);
    }
    if (r == NULL || name->list.n == 0) {
        free(name);
        return;
    }
    name->until_ms = loop_now_ms(r->loop) + KEEP_MS;
    names_add(r, name);
}

static struct name *start_lookup(struct resolver *r, const char *host)
{
    static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    size_t size = strlen(host) + 1;
    struct name *name = calloc(1, sizeof(*name) + size);

    if (name == NULL)
        return NULL;
    name->resolver = r;
    name->request.data = name;
    memcpy(name->host, host, size);
    if (uv_getaddrinfo(loop_uv(r->loop), &name->request, on_lookup, host, NULL, &hints) != 0) {
        free(name);
        return NULL;
    }
    names_add(r, name);
    return name;
}

bool resolver_get(struct resolver *r, const char *host, struct resolve_wait *wait,
                  struct address_list *ret)
{
    struct name *name;

    if (address_of_literal(host, ret))
        return true;
    drop_old_names(r);
    for (name = r->names; name != NULL && strcmp(name->host, host) != 0;)
        name = name->next;
    if (name != NULL && name->until_ms != 0) {
        *ret = name->list;
        return true;
    }
    if (name == NULL)
        name = start_lookup(r, host);
    if (name != NULL)
        add_wait(name, wait);
    return false;
}

bool resolver_is_busy(const struct resolver *r)
{
    const struct name *name = r->names;

    while (name != NULL && name->until_ms != 0)
        name = name->next;
    return name != NULL;
}

struct resolver *resolver_new(struct loop *loop)
{
    struct resolver *r = calloc(1, sizeof(*r));

    if (r != NULL)
        r->loop = loop;
    return r;
}

void resolver_free(struct resolver *r)
{
    if (r == NULL)
        return;
    for (struct name *name = r->names, *next; name != NULL; name = next) {
        next = name->next;
        name->resolver = NULL;
        if (name->until_ms != 0)
            free(name);
        else
            (void)uv_cancel((uv_req_t *)&name->request); /* on_lookup frees it */
    }
    free(r);
}
