/* upstream_pool_place.c -- a place at an upstream: who may have it, granted, given back; with the lock held. */
#include <stdlib.h>

#include "metrics/metrics.h"
#include "upstream/upstream_pool_internal.h"

/* ---- the candidates */

struct upstream_health_conf upstream_pool_health_conf(const struct upstream_pool *p,
                                                      const struct upstream_live *l)
{
    const struct config *c = l->entry != NULL ? l->entry->config : p->config;

    return (struct upstream_health_conf){.eject_after = c->eject_after,
                                         .eject_time_ms = c->eject_time_ms,
                                         .loading_wait_ms = c->loading_wait_ms};
}

/* What the newest table says holds for all, also for those who came with one of before. */
unsigned upstream_live_limit(const struct upstream_live *l, const struct upstream_entry *u)
{
    if (l->entry != NULL)
        u = l->entry;
    return u->wants_slots ? l->n_slots : u->max_concurrency;
}

static bool takes_turns(const struct upstream_want *want)
{
    return want->route->policy->kind == ROUTING_ROUND_ROBIN;
}

static size_t highest_number(const struct upstream_want *want)
{
    size_t highest = 0;

    for (size_t i = 0; i < want->route->n; i++)
        highest = upstream_want_live(want, i)->number > highest
                      ? upstream_want_live(want, i)->number
                      : highest;
    return highest;
}

/* The turns of a group are found by the number of the upstream. All that a choice is made among have one
 * before any is pointed to, since they move when there are more. False when out of memory. */
static bool make_turns(struct upstream_group *g, size_t highest)
{
    struct routing_turn *more;

    if (highest < g->n_turns)
        return true;
    more = realloc(g->turns, (highest + 1) * sizeof(*more));
    if (more == NULL)
        return false;
    memset(more + g->n_turns, 0, (highest + 1 - g->n_turns) * sizeof(*more));
    g->turns = more;
    g->n_turns = highest + 1;
    return true;
}

static void describe_candidate(struct upstream_pool *p, const struct upstream_ticket *t, size_t i,
                               uint64_t now_ms, struct routing_candidate *ret)
{
    const struct upstream_candidate *c = &t->want->route->candidates[i];
    struct upstream_live *l = upstream_want_live(t->want, i);
    const struct upstream_health_conf conf = upstream_pool_health_conf(p, l);
    const enum upstream_use use = upstream_health_use(&l->health, &conf, now_ms);

    *ret = (struct routing_candidate){
        .upstream = l->number,
        .tier = c->tier,
        .weight = c->weight,
        .in_flight = l->in_flight,
        .max_concurrency = upstream_live_limit(l, upstream_want_entry(t->want, i)),
        .may_be_used = use == UPSTREAM_USE_FREELY || use == UPSTREAM_USE_PROBE,
        .was_tried = upstream_ticket_has_tried(t, i),
        .n_served = l->n_served,
        .turn = l->number < t->group->n_turns ? &t->group->turns[l->number] : NULL,
    };
}

/* ---- a place */

/* Who knew most of the prompt was not asked, since it was busy or has failed. Told once of a round. */
static void note_lost(struct upstream_ticket *t, const struct routing_candidate *granted,
                      enum routing_word choice)
{
    const bool is_away = choice == ROUTING_BY_OVERFLOW || choice == ROUTING_BY_FAILOVER;

    t->lost_bytes = is_away && t->known_bytes > granted->known_bytes ? t->known_bytes : 0;
    if (t->lost_bytes > 0)
        t->known_bytes = 0;
}

static void grant_place(struct upstream_pool *p, struct upstream_ticket *t, size_t candidate,
                        enum routing_word choice, uint64_t now_ms)
{
    struct upstream_live *l = upstream_want_live(t->want, candidate);

    t->state = UPSTREAM_TICKET_GRANTED;
    t->granted = candidate;
    t->choice = choice;
    t->begun_ms = now_ms;
    t->is_counted = t->retry.n_attempts > 0;
    t->probe = upstream_health_begin(&l->health);
    note_lost(t, &p->scratch[candidate], choice);
    upstream_pool_take_hint(p, t, l, now_ms);
    l->in_flight++;
    l->n_served++;
    p->n_rounds++;
    p->n_retrying += t->is_counted;
    if (p->affinity != NULL)
        affinity_note(p->affinity, &t->prompt, l->number, now_ms);
}

static size_t most_known(const struct routing_candidate *c, size_t n)
{
    size_t most = 0;

    for (size_t i = 0; i < n; i++)
        most = c[i].known_bytes > most ? c[i].known_bytes : most;
    return most;
}

/* Who cannot be given turns for want of memory is chosen by load. */
static enum routing_policy policy_of(const struct upstream_ticket *t)
{
    if (takes_turns(t->want) && !make_turns(t->group, highest_number(t->want)))
        return ROUTING_LEAST;
    return t->want->route->policy->kind;
}

static struct routing_choice choose(struct upstream_pool *p, struct upstream_ticket *t,
                                    uint64_t now_ms)
{
    const struct upstream_route *route = t->want->route;
    const struct routing_conf conf = {.policy = policy_of(t),
                                      .affinity_min = p->affinity_min,
                                      .affinity_wait_ms = p->config->affinity_wait_ms,
                                      .wait_bytes = ROUTING_WAIT_BYTES};
    const struct routing_request r = {.prompt = {.session = t->session,
                                                 .salt = t->prompt.salt,
                                                 .marks = t->prompt.marks,
                                                 .n_marks = t->prompt.n_marks},
                                      .waited_ms = now_ms - t->since_ms};

    struct routing_choice choice;

    for (size_t i = 0; i < route->n; i++)
        describe_candidate(p, t, i, now_ms, &p->scratch[i]);
    choice = routing_choose(&conf, p->affinity, &r, p->scratch, route->n, now_ms);
    if (!t->is_retry)
        t->known_bytes = most_known(p->scratch, route->n);
    return choice;
}

/* Whatever else is wrong with it, it gets no more than its limit. */
static bool is_full(const struct upstream_want *want, size_t candidate)
{
    const struct upstream_live *l = upstream_want_live(want, candidate);
    const unsigned limit = upstream_live_limit(l, upstream_want_entry(want, candidate));

    return limit > 0 && l->in_flight >= limit;
}

static bool comes_back_sooner(const struct upstream_want *want, size_t a, size_t b)
{
    return upstream_want_live(want, a)->health.until_ms <
           upstream_want_live(want, b)->health.until_ms;
}

/* No other may be used: the one that was ejected first is better than none, and its errors are passed on. Returns
 * false when there is none, or those there are, are full: then *ret says that it waits. */
static bool try_ejected(struct upstream_pool *p, struct upstream_ticket *t, uint64_t now_ms,
                        struct upstream_no_place *ret)
{
    const size_t n = t->want->route->n;
    size_t best = n;

    for (size_t i = 0; i < n; i++) {
        if (upstream_want_live(t->want, i)->health.state != UPSTREAM_STATE_EJECTED ||
            upstream_ticket_has_tried(t, i))
            continue;
        if (is_full(t->want, i))
            ret->is_refused = false;
        else if (best == n || comes_back_sooner(t->want, i, best))
            best = i;
    }
    if (best == n)
        return false;
    grant_place(p, t, best, n == 1 ? ROUTING_BY_ONLY : ROUTING_BY_FAILOVER, now_ms);
    return true;
}

/* None may be used as it is: one that loads its model is asked whether it has it by now. Returns false with
 * *ret filled when there is none to be asked just now. Its time to be asked is looked after with those of all
 * upstreams. */
static bool try_loading(struct upstream_pool *p, struct upstream_ticket *t, uint64_t now_ms,
                        struct upstream_no_place *ret)
{
    const size_t n = t->want->route->n;

    *ret = (struct upstream_no_place){.is_refused = true};
    for (size_t i = 0; i < n; i++) {
        const struct upstream_live *l = upstream_want_live(t->want, i);
        const struct upstream_health_conf conf = upstream_pool_health_conf(p, l);

        if (upstream_ticket_has_tried(t, i))
            continue;
        if (upstream_health_use(&l->health, &conf, now_ms) == UPSTREAM_USE_ASK &&
            !is_full(t->want, i)) {
            grant_place(p, t, i, n == 1 ? ROUTING_BY_ONLY : ROUTING_BY_LEAST, now_ms);
            return true;
        }
        if (l->health.state == UPSTREAM_STATE_LOADING ||
            l->health.state == UPSTREAM_STATE_HALF_OPEN)
            ret->is_refused = false; /* who asks it now will tell, or its time */
    }
    return false;
}

bool upstream_pool_try(struct upstream_pool *p, struct upstream_ticket *t, uint64_t now_ms,
                       struct upstream_no_place *ret)
{
    const struct routing_choice choice = choose(p, t, now_ms);

    *ret = (struct upstream_no_place){.is_refused = false};
    switch (choice.outcome) {
    case ROUTING_CHOSEN:
        grant_place(p, t, choice.index, choice.word, now_ms);
        return true;
    case ROUTING_WAITS:
        ret->until_ms = choice.until_ms;
        return false;
    case ROUTING_FULL:
        return false;
    case ROUTING_NONE:
        break;
    }
    if (try_loading(p, t, now_ms, ret))
        return true;
    return ret->is_refused && try_ejected(p, t, now_ms, ret);
}

/* ---- given back */

/* May another candidate be used than the one that has the place? */
static bool has_other(struct upstream_pool *p, const struct upstream_ticket *t, uint64_t now_ms)
{
    for (size_t i = 0; i < t->want->route->n; i++) {
        const struct upstream_live *l = upstream_want_live(t->want, i);
        const struct upstream_health_conf conf = upstream_pool_health_conf(p, l);
        const enum upstream_use use = upstream_health_use(&l->health, &conf, now_ms);

        if (i != t->granted && (use == UPSTREAM_USE_FREELY || use == UPSTREAM_USE_PROBE))
            return true;
    }
    return false;
}

uint32_t upstream_pool_chance(void)
{
    uint32_t chance;

    random_fill(NULL, &chance, sizeof(chance));
    return chance;
}

void upstream_pool_give_back(struct upstream_pool *p, struct upstream_ticket *t,
                             enum upstream_outcome outcome, uint64_t now_ms)
{
    struct upstream_live *l = upstream_want_live(t->want, t->granted);
    const struct upstream_health_conf conf = upstream_pool_health_conf(p, l);
    const struct upstream_health_moment moment = {
        .now_ms = now_ms, .is_last = !has_other(p, t, now_ms), .chance = upstream_pool_chance()};
    struct upstream_health_news news;

    upstream_pool_end_hint(t, l);
    l->in_flight--;
    p->n_rounds--;
    p->n_retrying -= t->is_counted;
    t->state = UPSTREAM_TICKET_IDLE;
    if (upstream_health_end(&l->health, &conf, t->probe, outcome, &moment, &news))
        upstream_pool_news(p, l, &news);
    upstream_pool_look_at(p, upstream_health_next_ms(&l->health, &conf, now_ms));
}
