/* upstream_pool_hint.c -- what servers are told of the session of a request (OPERATIONS 4.5).
 *
 * Its name, for servers that choose among others themselves. And its slot, for llama.cpp, that has so many places for
 * prompts: whoever gets the slot of another finds nothing of his there, so a session keeps the one it was given until
 * it is the one that has rested longest and another wants one. A busy slot makes a request wait inside the server,
 * where other slots may be free; therefore none is named unless it is known of all rounds there which slots they
 * use. */
#include <stdlib.h>

#include "affinity/session_names.h"
#include "upstream/upstream_pool_internal.h"

enum { MOST_SLOTS = 1024 };

struct upstream_slot {
    uint64_t session; /* its name; 0: nobody's */
    uint64_t used_ms; /* last */
    bool is_busy;
};

/* ---- the name */

uint64_t upstream_pool_session(const struct upstream_pool *p, const struct upstream_want *want,
                               str text)
{
    return text.len == 0 ? 0 : affinity_session_hash(p->key, want->owner, want->route->name, text);
}

/* Is there a candidate that is told anything? */
static bool wants_hint(const struct upstream_want *want)
{
    for (size_t i = 0; i < want->route->n; i++) {
        const struct config *c = upstream_want_entry(want, i)->config;

        if (c->session_header || c->slot_pinning)
            return true;
    }
    return false;
}

void upstream_pool_read_session(const struct upstream_pool *p, struct upstream_ticket *t)
{
    const struct upstream_want *want = t->want;
    struct upstream_hint *h = &t->hint;

    *h = (struct upstream_hint){.slot = -1};
    if (!wants_hint(want))
        return;
    h->session = upstream_pool_session(p, want, want->session);
    h->session_next = str_is_none(want->session_next)
                          ? h->session
                          : upstream_pool_session(p, want, want->session_next);
}

/* Without memory for names, those of chains change. */
static void take_name(struct upstream_pool *p, struct upstream_hint *h)
{
    if (h->session_next == 0)
        return;
    if (p->names == NULL)
        p->names = session_names_new();
    h->name = session_names_first(p->names, h->session != 0 ? h->session : h->session_next);
    if (p->names != NULL && h->name != h->session_next)
        session_names_note(p->names, h->session_next, h->name);
}

/* ---- the slot */

bool upstream_entry_asks_slots(const struct upstream_entry *u)
{
    return u->wants_slots || u->config->slot_pinning;
}

static unsigned make_slots(struct upstream_live *l)
{
    const unsigned n = l->n_slots < MOST_SLOTS ? l->n_slots : MOST_SLOTS;
    struct upstream_slot *more;

    if (n <= l->n_known_slots)
        return n;
    more = realloc(l->slots, n * sizeof(*more));
    if (more == NULL)
        return l->n_known_slots;
    for (unsigned i = l->n_known_slots; i < n; i++)
        more[i] = (struct upstream_slot){.session = 0};
    l->slots = more;
    l->n_known_slots = n;
    return n;
}

/* The slot of the session, though it may be busy; else the free one that has rested longest; or NULL. */
static struct upstream_slot *find_slot(struct upstream_slot *slots, unsigned n, uint64_t session)
{
    struct upstream_slot *oldest = NULL;

    for (unsigned i = 0; i < n; i++) {
        if (slots[i].session == session)
            return &slots[i];
        if (!slots[i].is_busy && (oldest == NULL || slots[i].used_ms < oldest->used_ms))
            oldest = &slots[i];
    }
    return oldest;
}

static void take_slot(struct upstream_hint *h, struct upstream_live *l, uint64_t now_ms)
{
    const unsigned n = make_slots(l);
    struct upstream_slot *slot = find_slot(l->slots, n, h->name);

    if (slot == NULL || slot->is_busy)
        return;
    *slot = (struct upstream_slot){.session = h->name, .used_ms = now_ms, .is_busy = true};
    h->slot = (int)(slot - l->slots);
    l->n_pinned++;
}

void upstream_pool_take_hint(struct upstream_pool *p, struct upstream_ticket *t,
                             struct upstream_live *l, uint64_t now_ms)
{
    const struct upstream_entry *u = upstream_want_entry(t->want, t->granted);

    t->hint.name = 0;
    t->hint.slot = -1;
    take_name(p, &t->hint);
    if (u->config->slot_pinning && t->want->takes_slot && t->hint.name != 0 &&
        l->n_pinned == l->in_flight)
        take_slot(&t->hint, l, now_ms);
}

void upstream_pool_end_hint(struct upstream_ticket *t, struct upstream_live *l)
{
    if (t->hint.slot < 0)
        return;
    l->slots[t->hint.slot].is_busy = false;
    l->n_pinned--;
    t->hint.slot = -1;
}

void upstream_live_forget_slots(struct upstream_live *l)
{
    for (unsigned i = 0; i < l->n_known_slots; i++)
        l->slots[i].session = 0;
}
