/* peer_context.c -- contexts as rows of links: one for each response, which points to the one before. */
#include "flight/peer_context.h"

#include <stdlib.h>

struct peer_account {
    size_t bytes;
    size_t n_parts; /* links and contexts that are in it */
    bool is_closed;
};

/* What one response has added. */
struct context_link {
    struct context_link *before; /* a reference, or NULL */
    struct peer_account *account;
    struct arena memory;
    struct store_items items;
    size_t n_items, bytes; /* with all before */
    unsigned n_refs;
};

struct peer_context {
    struct context_link *last;
    struct peer_account *account; /* of the tail, which goes with the context */
    struct buf tail;
    unsigned n_refs;
};

/* ---- accounts */

struct peer_account *peer_account_new(void)
{
    return calloc(1, sizeof(struct peer_account));
}

static void free_unused_account(struct peer_account *a)
{
    if (a->is_closed && a->n_parts == 0)
        free(a);
}

void peer_account_close(struct peer_account *a)
{
    if (a == NULL)
        return;
    a->is_closed = true;
    free_unused_account(a);
}

static size_t own_bytes(const struct context_link *l)
{
    return l->before == NULL ? l->bytes : l->bytes - l->before->bytes;
}

bool peer_account_add(struct peer_account *a, struct peer_context *c, size_t max_bytes)
{
    size_t n_new = c->account == NULL ? c->tail.len : 0;

    for (const struct context_link *l = c->last; l != NULL && l->account == NULL; l = l->before)
        n_new += own_bytes(l);
    if (a->bytes > max_bytes || n_new > max_bytes - a->bytes)
        return false;
    for (struct context_link *l = c->last; l != NULL && l->account == NULL; l = l->before) {
        l->account = a;
        a->n_parts++;
    }
    if (c->account == NULL) {
        c->account = a;
        a->n_parts++;
    }
    a->bytes += n_new;
    return true;
}

size_t peer_account_bytes(const struct peer_account *a)
{
    return a->bytes;
}

static void leave_account(struct peer_account *a, size_t bytes)
{
    if (a == NULL)
        return;
    a->bytes -= bytes;
    a->n_parts--;
    free_unused_account(a);
}

/* ---- links */

/* A chain may be long: no recursion. */
static void unref_link(struct context_link *l)
{
    while (l != NULL && --l->n_refs == 0) {
        struct context_link *const before = l->before;

        leave_account(l->account, own_bytes(l));
        arena_fini(&l->memory);
        free(l);
        l = before;
    }
}

static struct context_link *new_link(struct context_link *before, const struct store_items *items,
                                     struct arena *memory)
{
    struct context_link *l = calloc(1, sizeof(*l));

    if (l == NULL)
        return NULL;
    l->before = before;
    l->items = *items;
    l->memory = *memory;
    l->n_items = items->n;
    l->bytes = sizeof(*l) + memory->used;
    l->n_refs = 1;
    *memory = (struct arena){.limit = memory->limit};
    if (before != NULL) {
        before->n_refs++;
        l->n_items += before->n_items;
        l->bytes += before->bytes;
    }
    return l;
}

/* ---- contexts */

struct peer_context *peer_context_new(struct peer_context *before, const struct store_items *items,
                                      struct arena *memory, struct buf *tail)
{
    struct peer_context *c = calloc(1, sizeof(*c));

    if (c != NULL)
        c->last = new_link(before == NULL ? NULL : before->last, items, memory);
    if (c == NULL || c->last == NULL) {
        free(c);
        return NULL;
    }
    c->tail = *tail;
    *tail = (struct buf){.limit = tail->limit};
    c->n_refs = 1;
    return c;
}

struct peer_context *peer_context_ref(struct peer_context *c)
{
    c->n_refs++;
    return c;
}

void peer_context_unref(struct peer_context *c)
{
    if (c == NULL || --c->n_refs > 0)
        return;
    unref_link(c->last);
    leave_account(c->account, c->tail.len);
    buf_fini(&c->tail);
    free(c);
}

size_t peer_context_items(const struct peer_context *c)
{
    return c->last->n_items;
}

size_t peer_context_bytes(const struct peer_context *c)
{
    return c->last->bytes + c->tail.len;
}

int peer_context_history(const struct peer_context *c, struct arena *a, struct store_history *ret,
                         struct err *reterr)
{
    struct store_items all = {.n = c->last->n_items};
    size_t end = all.n;

    all.v = arena_array(a, all.n + 1, sizeof(*all.v)); /* there may be none */
    if (all.v == NULL)
        return err_set_no_memory(reterr);
    for (const struct context_link *l = c->last; l != NULL; l = l->before) {
        end -= l->items.n;
        for (size_t i = 0; i < l->items.n; i++)
            all.v[end + i] = l->items.v[i];
    }
    *ret = (struct store_history){.items = all, .tail = buf_str(&c->tail)};
    return 0;
}
