/* upstream_pool_wait.c -- who waits: in the queue of a group for a place, or for a time.
 *
 * Whatever gives a place back, or changes what an upstream may be used for, pumps: the queues are gone through
 * in their order as long as places are found. What time brings is looked after by one timer of the main
 * thread, which runs only while there is something to wait for. */
#include "affinity/keyed_hash.h"
#include "upstream/upstream_pool_internal.h"

#include <stdlib.h>

/* ---- groups */

static unsigned sum_of_limits(const struct upstream_want *want)
{
    unsigned sum = 0;

    for (size_t i = 0; i < want->route->n; i++) {
        const struct upstream_entry *u = upstream_want_entry(want, i);

        sum += upstream_live_limit(u->live, u);
    }
    return sum;
}

static struct upstream_group *add_group(struct upstream_pool *p, str name)
{
    struct upstream_group *g = calloc(1, sizeof(*g));

    if (g == NULL)
        return NULL;
    g->name = arena_dup(&p->memory, name);
    if (str_is_none(g->name)) {
        free(g);
        return NULL;
    }
    fair_queue_init(&g->queue, 0, 0);
    g->next = p->groups;
    p->groups = g;
    return g;
}

struct upstream_group *upstream_pool_group(struct upstream_pool *p,
                                           const struct upstream_want *want)
{
    const struct upstream_policy *policy = want->route->policy;
    struct upstream_group *g = p->groups;

    while (g != NULL && !str_eq(g->name, want->route->group))
        g = g->next;
    if (g == NULL)
        g = add_group(p, want->route->group);
    if (g == NULL)
        return NULL;
    g->queue.limit = policy->queue_limit;
    g->queue.owner_limit = policy->queue_owner;
    g->timeout_ms = policy->queue_timeout_ms;
    g->n_at_once = sum_of_limits(want);
    return g;
}

/* ---- waiting */

static void begin_waiting(struct upstream_pool *p, struct upstream_ticket *t)
{
    t->state = UPSTREAM_TICKET_WAITING;
    t->has_news = false;
    t->next = p->waiting;
    t->link = &p->waiting;
    if (t->next != NULL)
        t->next->link = &t->next;
    p->waiting = t;
    p->n_waiting++;
    p->waiting_bytes += t->want->body_bytes;
}

/* A ticket waits no more, in whatever state it is now. */
static void end_waiting(struct upstream_pool *p, struct upstream_ticket *t)
{
    *t->link = t->next;
    if (t->next != NULL)
        t->next->link = t->link;
    t->link = NULL;
    p->n_waiting--;
    p->waiting_bytes -= t->want->body_bytes;
}

void upstream_pool_wait_until(struct upstream_pool *p, struct upstream_ticket *t, uint64_t until_ms)
{
    t->until_ms = until_ms;
    t->deadline_ms = 0;
    begin_waiting(p, t);
    upstream_pool_look_at(p, until_ms);
}

void upstream_pool_enqueue(struct upstream_pool *p, struct upstream_ticket *t, uint64_t now_ms)
{
    const struct fair_place place = {.owner = keyed_hash(p->key, t->want->owner),
                                     .of = t->want->priority,
                                     .weight = t->want->weight,
                                     .is_later = t->want->is_later || t->is_retry};

    if (p->config->max_queue_memory_bytes > 0 &&
        p->waiting_bytes + t->want->body_bytes > p->config->max_queue_memory_bytes) {
        upstream_pool_refuse(t, UPSTREAM_WHY_MEMORY);
        return;
    }
    switch (fair_queue_add(&t->group->queue, &t->queued, &place)) {
    case FAIR_QUEUED:
        break;
    case FAIR_OWNER_FULL:
        upstream_pool_refuse(t, UPSTREAM_WHY_OWNER);
        return;
    case FAIR_FULL:
    case FAIR_NO_MEMORY:
        upstream_pool_refuse(t, UPSTREAM_WHY_FULL);
        return;
    }
    t->deadline_ms = t->group->timeout_ms == 0 ? UINT64_MAX : now_ms + t->group->timeout_ms;
    begin_waiting(p, t);
    upstream_pool_look_at(p, t->deadline_ms);
    if (t->until_ms > 0)
        upstream_pool_look_at(p, t->until_ms);
}

void upstream_pool_unwait(struct upstream_pool *p, struct upstream_ticket *t)
{
    fair_queue_remove(&t->group->queue, &t->queued);
    end_waiting(p, t);
}

/* The wait of a ticket is over: its worker hears of that. */
static void end_wait(struct upstream_pool *p, struct upstream_ticket *t)
{
    upstream_pool_unwait(p, t);
    t->has_news = true;
    loop_post(t->loop, &t->told);
}

/* ---- places that become free */

struct pump {
    struct upstream_pool *pool;
    uint64_t now_ms;
};

static struct upstream_ticket *ticket_of(const struct fair_ticket *queued)
{
    return (struct upstream_ticket *)((uintptr_t)queued - offsetof(struct upstream_ticket, queued));
}

/* A ticket that may be served has its place when this returns. One that nobody may serve is served an end. */
static bool serve(void *arg, const struct fair_ticket *queued)
{
    const struct pump *pump = arg;
    struct upstream_ticket *t = ticket_of(queued);
    struct upstream_no_place no;

    if (upstream_pool_try(pump->pool, t, pump->now_ms, &no))
        return true;
    t->until_ms = no.until_ms;
    if (no.until_ms > 0)
        upstream_pool_look_at(pump->pool, no.until_ms);
    if (no.is_refused)
        upstream_pool_refuse(t, UPSTREAM_WHY_NOBODY);
    return no.is_refused;
}

/* Serves one ticket of the group; false when none could be. */
static bool serve_group(struct upstream_group *g, struct pump *pump)
{
    struct fair_ticket *queued = g->queue.n == 0 ? NULL : fair_queue_next(&g->queue, serve, pump);

    if (queued == NULL)
        return false;
    end_wait(pump->pool, ticket_of(queued));
    return true;
}

/* Groups may have upstreams in common: whoever was served is asked last when the next place is free, so that
 * no group takes them all. */
static bool serve_next_group(struct upstream_pool *p, struct pump *pump)
{
    for (struct upstream_group **at = &p->groups; *at != NULL; at = &(*at)->next) {
        struct upstream_group *const g = *at;

        if (!serve_group(g, pump))
            continue;
        *at = g->next;
        while (*at != NULL)
            at = &(*at)->next;
        *at = g;
        g->next = NULL;
        return true;
    }
    return false;
}

void upstream_pool_pump(struct upstream_pool *p, uint64_t now_ms)
{
    struct pump pump = {p, now_ms};

    while (p->n_waiting > 0 && serve_next_group(p, &pump))
        ;
}

/* ---- what time brings */

static void soonest(uint64_t *at_ms, uint64_t other_ms)
{
    if (other_ms != 0 && other_ms < *at_ms)
        *at_ms = other_ms;
}

void upstream_pool_look_at(struct upstream_pool *p, uint64_t at_ms)
{
    if (at_ms == UINT64_MAX || (p->due_ms != 0 && p->due_ms <= at_ms))
        return;
    p->due_ms = at_ms;
    loop_post(p->loop, &p->due);
}

/* A retry's time has come: it asks for its place, and waits for one if there is none. */
static void end_time(struct upstream_pool *p, struct upstream_ticket *t, uint64_t now_ms)
{
    struct upstream_no_place no;

    end_waiting(p, t);
    t->until_ms = 0;
    t->asked_ms = now_ms;
    t->state = UPSTREAM_TICKET_IDLE;
    if (!upstream_pool_try(p, t, now_ms, &no)) {
        t->until_ms = no.until_ms;
        if (no.is_refused)
            upstream_pool_refuse(t, UPSTREAM_WHY_NOBODY);
        else
            upstream_pool_enqueue(p, t, now_ms);
    }
    if (t->state == UPSTREAM_TICKET_WAITING)
        return;
    t->has_news = true;
    loop_post(t->loop, &t->told);
}

static void end_what_is_over(struct upstream_pool *p, struct upstream_ticket *t, uint64_t now_ms)
{
    const bool is_queued = fair_ticket_waits(&t->queued);

    if (is_queued && t->deadline_ms <= now_ms) {
        upstream_pool_refuse(t, UPSTREAM_WHY_TIME);
        end_wait(p, t);
    } else if (!is_queued && t->until_ms <= now_ms) {
        end_time(p, t, now_ms);
    }
}

/* Those who have waited long enough; of all others, also of those who wait for a place from now on, when that
 * will be. */
static void look_at_waiting(struct upstream_pool *p, uint64_t now_ms, uint64_t *next_ms)
{
    struct upstream_ticket *next;

    for (struct upstream_ticket *t = p->waiting; t != NULL; t = next) {
        next = t->next;
        end_what_is_over(p, t, now_ms);
        if (t->state != UPSTREAM_TICKET_WAITING)
            continue;
        soonest(next_ms, t->deadline_ms);
        if (t->until_ms > now_ms)
            soonest(next_ms, t->until_ms);
    }
}

static void advance_lives(struct upstream_pool *p, uint64_t now_ms, uint64_t *next_ms)
{
    struct upstream_health_news news;

    for (struct upstream_live *l = p->lives; l != NULL; l = l->next) {
        const struct upstream_health_conf conf = upstream_pool_health_conf(p, l);
        uint64_t at_ms;

        if (upstream_health_advance(&l->health, now_ms, &news))
            upstream_pool_news(p, l, &news);
        at_ms = upstream_health_next_ms(&l->health, &conf, now_ms);
        if (at_ms != UINT64_MAX)
            soonest(next_ms, at_ms);
    }
}

void upstream_pool_on_time(void *arg)
{
    enum { LEAST_MS = 2 };
    struct upstream_pool *p = arg;
    uint64_t now_ms, next_ms = UINT64_MAX;

    uv_mutex_lock(&p->lock);
    now_ms = upstream_pool_now_ms();
    advance_lives(p, now_ms, &next_ms);
    upstream_pool_pump(p, now_ms);
    look_at_waiting(p, now_ms, &next_ms);
    p->due_ms = next_ms == UINT64_MAX ? 0 : next_ms;
    uv_mutex_unlock(&p->lock);
    if (next_ms != UINT64_MAX)
        loop_timer_start(p->timer, next_ms > now_ms + LEAST_MS ? next_ms - now_ms : LEAST_MS);
}
