/* fair_queue.c -- for each class a ring of flows, for each flow two lists of tickets.
 *
 *     class high    ring:  flow A -> flow B -> (flow A)       the next one to be served first
 *     class normal                    |
 *     class low                       +-- later rounds:  ticket, ticket
 *                                     +-- new turns:     ticket, ticket, ticket
 *
 * A flow is there while it has tickets, and found by its owner in a table of chains. What is left of its turn
 * goes with it: whoever has nothing waiting saves up nothing. */
#include "upstream/fair_queue.h"

#include <stdlib.h>

struct ticket_list {
    struct fair_ticket *first, *last;
};

struct fair_flow {
    uint64_t owner;
    enum fair_class of;
    unsigned weight;
    unsigned deficit; /* grants left of its turn; 0: its turn has not begun */
    size_t n;
    struct ticket_list later, fresh;
    struct fair_flow *next, *prev; /* of the ring */
    struct fair_flow *chain;       /* of the table */
};

void fair_queue_init(struct fair_queue *q, size_t limit, size_t owner_limit)
{
    *q = (struct fair_queue){.limit = limit, .owner_limit = owner_limit};
}

/* ---- lists of tickets */

static void list_append(struct ticket_list *l, struct fair_ticket *ticket)
{
    ticket->next = NULL;
    ticket->prev = l->last;
    *(l->last == NULL ? &l->first : &l->last->next) = ticket;
    l->last = ticket;
}

static void list_remove(struct ticket_list *l, struct fair_ticket *ticket)
{
    *(ticket->prev == NULL ? &l->first : &ticket->prev->next) = ticket->next;
    *(ticket->next == NULL ? &l->last : &ticket->next->prev) = ticket->prev;
    ticket->next = ticket->prev = NULL;
}

static struct ticket_list *list_of(struct fair_flow *f, bool is_later)
{
    return is_later ? &f->later : &f->fresh;
}

/* ---- flows */

static struct fair_flow **chain_of(struct fair_queue *q, uint64_t owner)
{
    return &q->flows[owner % FAIR_QUEUE_BUCKETS];
}

static struct fair_flow *find_flow(struct fair_queue *q, uint64_t owner, enum fair_class of)
{
    struct fair_flow *f = *chain_of(q, owner);

    while (f != NULL && (f->owner != owner || f->of != of))
        f = f->chain;
    return f;
}

/* Tickets of the owner, in all classes. */
static size_t count_owner(struct fair_queue *q, uint64_t owner)
{
    size_t n = 0;

    for (const struct fair_flow *f = *chain_of(q, owner); f != NULL; f = f->chain)
        n += f->owner == owner ? f->n : 0;
    return n;
}

/* Puts it behind all others of its ring. */
static void ring_append(struct fair_queue *q, struct fair_flow *f)
{
    struct fair_flow **next = &q->classes[f->of].next;

    if (*next == NULL) {
        *next = f->next = f->prev = f;
        return;
    }
    f->next = *next;
    f->prev = (*next)->prev;
    f->next->prev = f->prev->next = f;
}

static void ring_remove(struct fair_queue *q, struct fair_flow *f)
{
    struct fair_flow **next = &q->classes[f->of].next;

    f->next->prev = f->prev;
    f->prev->next = f->next;
    if (*next == f)
        *next = f->next == f ? NULL : f->next;
}

static struct fair_flow *add_flow(struct fair_queue *q, const struct fair_place *place)
{
    struct fair_flow **chain = chain_of(q, place->owner);
    struct fair_flow *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return NULL;
    f->owner = place->owner;
    f->of = place->of;
    f->chain = *chain;
    *chain = f;
    ring_append(q, f);
    return f;
}

static void free_flow(struct fair_queue *q, struct fair_flow *f)
{
    struct fair_flow **link = chain_of(q, f->owner);

    while (*link != f)
        link = &(*link)->chain;
    *link = f->chain;
    ring_remove(q, f);
    if (q->classes[f->of].next == NULL)
        q->classes[f->of].n_passed = 0;
    free(f);
}

/* ---- coming and going */

enum fair_answer fair_queue_add(struct fair_queue *q, struct fair_ticket *ticket,
                                const struct fair_place *place)
{
    struct fair_flow *f;

    if (count_owner(q, place->owner) >= q->owner_limit)
        return FAIR_OWNER_FULL;
    if (q->n >= q->limit)
        return FAIR_FULL;
    f = find_flow(q, place->owner, place->of);
    if (f == NULL)
        f = add_flow(q, place);
    if (f == NULL)
        return FAIR_NO_MEMORY;
    f->weight = place->weight > 0 ? place->weight : 1;
    if (f->deficit > f->weight)
        f->deficit = f->weight;
    ticket->flow = f;
    ticket->is_later = place->is_later;
    list_append(list_of(f, place->is_later), ticket);
    f->n++;
    q->n++;
    return FAIR_QUEUED;
}

void fair_queue_remove(struct fair_queue *q, struct fair_ticket *ticket)
{
    struct fair_flow *f = ticket->flow;

    if (f == NULL)
        return;
    ticket->flow = NULL;
    list_remove(list_of(f, ticket->is_later), ticket);
    q->n--;
    if (--f->n == 0)
        free_flow(q, f);
}

bool fair_ticket_waits(const struct fair_ticket *ticket)
{
    return ticket->flow != NULL;
}

static struct fair_ticket *first_ticket(const struct fair_flow *f)
{
    return f->later.first != NULL ? f->later.first : f->fresh.first;
}

void fair_queue_fini(struct fair_queue *q)
{
    for (enum fair_class c = 0; c < FAIR_CLASSES; c++) {
        while (q->classes[c].next != NULL)
            fair_queue_remove(q, first_ticket(q->classes[c].next));
    }
}

/* ---- whose turn it is */

struct question {
    fair_may_serve *may_serve;
    void *arg;
};

static struct fair_ticket *find_in_list(const struct ticket_list *l, const struct question *ask)
{
    struct fair_ticket *ticket = l->first;

    while (ticket != NULL && !ask->may_serve(ask->arg, ticket))
        ticket = ticket->next;
    return ticket;
}

static struct fair_ticket *find_in_flow(const struct fair_flow *f, const struct question *ask)
{
    struct fair_ticket *later = find_in_list(&f->later, ask);

    return later != NULL ? later : find_in_list(&f->fresh, ask);
}

static struct fair_ticket *find_in_class(const struct fair_queue *q, enum fair_class of,
                                         const struct question *ask)
{
    struct fair_flow *const next = q->classes[of].next;
    const struct fair_flow *f = next;
    struct fair_ticket *ticket;

    if (f == NULL)
        return NULL;
    do {
        ticket = find_in_flow(f, ask);
        f = f->next;
    } while (ticket == NULL && f != next);
    return ticket;
}

/* The class whose tenth grant this has to be, or FAIR_CLASSES. When two would have to have the same one,
 * the lower has it a grant early. */
static enum fair_class class_due(const struct fair_queue *q)
{
    const unsigned normal = q->classes[FAIR_CLASS_NORMAL].n_passed;
    const unsigned low = q->classes[FAIR_CLASS_LOW].n_passed;

    if (low >= FAIR_QUEUE_EVERY - 1 ||
        (low == FAIR_QUEUE_EVERY - 2 && normal == FAIR_QUEUE_EVERY - 2))
        return FAIR_CLASS_LOW;
    return normal >= FAIR_QUEUE_EVERY - 1 ? FAIR_CLASS_NORMAL : FAIR_CLASSES;
}

static struct fair_ticket *find_next(const struct fair_queue *q, const struct question *ask)
{
    const enum fair_class due = class_due(q);
    struct fair_ticket *ticket = due == FAIR_CLASSES ? NULL : find_in_class(q, due, ask);

    for (enum fair_class c = 0; c < FAIR_CLASSES && ticket == NULL; c++)
        ticket = c == due ? NULL : find_in_class(q, c, ask);
    return ticket;
}

static void count_grant(struct fair_queue *q, enum fair_class to)
{
    for (enum fair_class c = 0; c < FAIR_CLASSES; c++) {
        if (c == to)
            q->classes[c].n_passed = 0;
        else if (q->classes[c].next != NULL && q->classes[c].n_passed < FAIR_QUEUE_EVERY)
            q->classes[c].n_passed++;
    }
}

/* One grant of the turn of a flow; the last one of a turn sends it behind the others. */
static void spend_grant(struct fair_queue *q, struct fair_flow *f)
{
    if (f->deficit == 0)
        f->deficit = f->weight;
    if (--f->deficit > 0)
        return;
    ring_remove(q, f);
    ring_append(q, f);
}

struct fair_ticket *fair_queue_next(struct fair_queue *q, fair_may_serve *may_serve, void *arg)
{
    const struct question ask = {may_serve, arg};
    struct fair_ticket *ticket = find_next(q, &ask);

    if (ticket == NULL)
        return NULL;
    count_grant(q, ticket->flow->of);
    spend_grant(q, ticket->flow);
    fair_queue_remove(q, ticket);
    return ticket;
}

/* ---- how long it takes */

/* More says nothing: the estimate ends at a minute. So sums do not overflow. */
static const uint64_t most_ms = 24 * 3600 * 1000;

void fair_queue_note_duration(struct fair_queue *q, uint64_t duration_ms)
{
    uint64_t *const oldest = &q->durations_ms[q->n_durations % FAIR_QUEUE_DURATIONS];
    const uint64_t counted_ms = duration_ms < most_ms ? duration_ms : most_ms;

    q->duration_sum_ms += counted_ms - *oldest;
    *oldest = counted_ms;
    q->n_durations++;
}

unsigned fair_queue_wait_s(const struct fair_queue *q, size_t n_at_once)
{
    const size_t n = q->n_durations < FAIR_QUEUE_DURATIONS ? q->n_durations : FAIR_QUEUE_DURATIONS;
    const uint64_t share = (uint64_t)n * n_at_once * 1000;
    uint64_t seconds;

    if (share == 0)
        return FAIR_QUEUE_UNKNOWN_S;
    seconds = (q->n * q->duration_sum_ms + share - 1) / share;
    if (seconds > FAIR_QUEUE_MOST_S)
        return FAIR_QUEUE_MOST_S;
    return seconds < FAIR_QUEUE_LEAST_S ? FAIR_QUEUE_LEAST_S : (unsigned)seconds;
}
