/* upstream_pool_place.c -- places at upstreams: asked for, granted, given back.
 *
 * What the prompt of a request is, is found out before the lock is taken, since that is looking at all of it;
 * and only where there is a choice that it could decide. */
#include <stdlib.h>

#include "metrics/metrics.h"
#include "upstream/upstream_pool_internal.h"

/* ---- the candidates */

static const struct upstream_entry *entry_of(const struct upstream_want *want, size_t candidate)
{
    return &want->table->entries[want->route->candidates[candidate].entry];
}

static struct upstream_live *live_of(const struct upstream_want *want, size_t candidate)
{
    return entry_of(want, candidate)->live;
}

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
        highest = live_of(want, i)->number > highest ? live_of(want, i)->number : highest;
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

static bool was_tried(const struct upstream_ticket *t, size_t candidate)
{
    return t->tried != NULL && t->tried[candidate];
}

static void describe_candidate(struct upstream_pool *p, const struct upstream_ticket *t, size_t i,
                               uint64_t now_ms, struct routing_candidate *ret)
{
    const struct upstream_candidate *c = &t->want->route->candidates[i];
    struct upstream_live *l = live_of(t->want, i);
    const struct upstream_health_conf conf = upstream_pool_health_conf(p, l);
    const enum upstream_use use = upstream_health_use(&l->health, &conf, now_ms);

    *ret = (struct routing_candidate){
        .upstream = l->number,
        .tier = c->tier,
        .weight = c->weight,
        .in_flight = l->in_flight,
        .max_concurrency = upstream_live_limit(l, entry_of(t->want, i)),
        .may_be_used = use == UPSTREAM_USE_FREELY || use == UPSTREAM_USE_PROBE,
        .was_tried = was_tried(t, i),
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
    struct upstream_live *l = live_of(t->want, candidate);

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
    const struct upstream_live *l = live_of(want, candidate);
    const unsigned limit = upstream_live_limit(l, entry_of(want, candidate));

    return limit > 0 && l->in_flight >= limit;
}

static bool comes_back_sooner(const struct upstream_want *want, size_t a, size_t b)
{
    return live_of(want, a)->health.until_ms < live_of(want, b)->health.until_ms;
}

/* No other may be used: the one that was ejected first is better than none, and its errors are passed on. Returns
 * false when there is none, or those there are, are full: then *ret says that it waits. */
static bool try_ejected(struct upstream_pool *p, struct upstream_ticket *t, uint64_t now_ms,
                        struct upstream_no_place *ret)
{
    const size_t n = t->want->route->n;
    size_t best = n;

    for (size_t i = 0; i < n; i++) {
        if (live_of(t->want, i)->health.state != UPSTREAM_STATE_EJECTED || was_tried(t, i))
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
        const struct upstream_live *l = live_of(t->want, i);
        const struct upstream_health_conf conf = upstream_pool_health_conf(p, l);

        if (was_tried(t, i))
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

/* ---- asking */

/* The prompt matters where there is a choice, and it decides. */
static bool asks_affinity(const struct upstream_want *want)
{
    return want->route->n > 1 && want->route->policy->kind == ROUTING_AFFINITY;
}

/* Without the lock. Of a round that is asked again it is known. Out of memory, less is known. */
static void look_at_prompt(const struct upstream_pool *p, struct upstream_ticket *t,
                           struct arena *a)
{
    const struct upstream_want *want = t->want;
    struct prefix_marks marks;

    if (t->is_retry)
        return;
    t->prompt = (struct affinity_prompt){.session = 0};
    t->session = 0;
    if (!asks_affinity(want))
        return;
    (void)prefix_marks_read(want->body, p->key, a, &marks);
    t->session = upstream_pool_session(p, want, want->session);
    t->prompt = (struct affinity_prompt){
        .session = str_is_none(want->session_next)
                       ? t->session
                       : upstream_pool_session(p, want, want->session_next),
        .salt = affinity_salt(p->key, want->owner),
        .marks = marks.marks,
        .n_marks = marks.n,
    };
}

static void refuse_wait(const struct upstream_ticket *t, struct err *reterr)
{
    const int s = t->retry_after_s;

    switch (t->why) {
    case UPSTREAM_WHY_OWNER:
        err_set(reterr, ERR_RATE_LIMIT,
                "Too many requests of yours are waiting. Please try again in %ds.", s);
        break;
    case UPSTREAM_WHY_FULL:
        err_set(reterr, ERR_OVERLOADED,
                "Too many requests are waiting for this model. Please try again in %ds.", s);
        break;
    case UPSTREAM_WHY_MEMORY:
        err_set(reterr, ERR_OVERLOADED,
                "The requests that wait are too large in all (max_queue_memory). Please try again "
                "in %ds.",
                s);
        break;
    case UPSTREAM_WHY_TIME:
        err_set(reterr, ERR_OVERLOADED,
                "No upstream server had a place for this request in time (queue_timeout). Please "
                "try again in %ds.",
                s);
        break;
    case UPSTREAM_WHY_NOBODY:
        err_set(reterr, ERR_UPSTREAM_UNAVAILABLE,
                "No upstream server is available for this model.");
        return;
    }
    reterr->retry_after_s = s;
}

static void count_refusal(const struct upstream_ticket *t)
{
    static const unsigned reasons[] = {
        [UPSTREAM_WHY_OWNER] = METRIC_REJECTION_QUEUE_OWNER,
        [UPSTREAM_WHY_FULL] = METRIC_REJECTION_QUEUE_FULL,
        [UPSTREAM_WHY_MEMORY] = METRIC_REJECTION_QUEUE_MEMORY,
        [UPSTREAM_WHY_TIME] = METRIC_REJECTION_QUEUE_TIMEOUT,
        [UPSTREAM_WHY_NOBODY] = METRIC_REJECTION_NO_UPSTREAM,
    };

    metrics_count(METRIC_REJECTED, reasons[t->why]);
}

void upstream_pool_refuse(struct upstream_ticket *t, enum upstream_why why)
{
    t->state = UPSTREAM_TICKET_REFUSED;
    t->why = why;
    t->retry_after_s = (int)fair_queue_wait_s(&t->group->queue, t->group->n_at_once);
}

/* With the lock held: what a place that was asked for comes to. Those who wait have been asked whether they want
 * what is free now, and could not use it: nobody is overtaken. */
static void ask_for_place(struct upstream_pool *p, struct upstream_ticket *t, uint64_t now_ms)
{
    struct upstream_no_place no;

    if (t->until_ms > now_ms) {
        upstream_pool_wait_until(p, t, t->until_ms);
        return;
    }
    if (upstream_pool_try(p, t, now_ms, &no))
        return;
    t->until_ms = no.until_ms;
    if (no.is_refused)
        upstream_pool_refuse(t, UPSTREAM_WHY_NOBODY);
    else
        upstream_pool_enqueue(p, t, now_ms);
}

static void count_wait(const struct upstream_ticket *t, unsigned result)
{
    const uint64_t waited_ms = upstream_pool_now_ms() - t->asked_ms;
    const struct metric_labels labels = {
        {metric_word(METRIC_DOMAIN_GROUP, t->want->route->group), (uint16_t)result}};

    if (metrics_are_on)
        metrics_observe(METRIC_QUEUE_WAIT, metrics_of(METRIC_QUEUE_WAIT, &labels),
                        1000 * waited_ms);
}

static void count_grant(const struct upstream_ticket *t)
{
    const struct upstream_entry *u = entry_of(t->want, t->granted);
    const struct metric_labels labels = {
        {metric_word(METRIC_DOMAIN_UPSTREAM, u->name), (uint16_t)t->choice}};

    count_wait(t, METRIC_ADMISSION_GRANTED);
    if (metrics_are_on)
        metrics_add(metrics_of(METRIC_ROUTING, &labels), 1);
}

/* The round is over, and the next one asks anew. */
static void reset_round(struct upstream_ticket *t)
{
    t->retry = (struct upstream_retry){.n_attempts = 0};
    t->tried = NULL;
    t->until_ms = 0;
}

/* What has come of it, without the lock. */
static enum upstream_ticket_state tell_state(struct upstream_ticket *t,
                                             enum upstream_ticket_state state, struct err *reterr)
{
    if (state == UPSTREAM_TICKET_GRANTED) {
        count_grant(t);
    } else if (state == UPSTREAM_TICKET_REFUSED) {
        refuse_wait(t, reterr);
        count_refusal(t);
        if (t->why == UPSTREAM_WHY_TIME)
            count_wait(t, METRIC_ADMISSION_TIMEOUT);
        t->state = UPSTREAM_TICKET_IDLE;
        reset_round(t);
    }
    return state;
}

/* Choices are told to metrics by their number. */
#define ROUTING_WORD(symbol, word)                                                                 \
    _Static_assert((int)ROUTING_BY_##symbol == (int)METRIC_CHOICE_##symbol, "one order");
#include "affinity/routing_word.def"

enum upstream_ticket_state upstream_pool_admit(struct upstream_pool *p, struct upstream_ticket *t,
                                               const struct upstream_want *want, struct arena *a,
                                               struct err *reterr)
{
    enum upstream_ticket_state state;
    uint64_t now_ms;

    t->want = want;
    t->is_retry = t->retry.n_attempts > 0 || t->retry.loading_ms > 0;
    look_at_prompt(p, t, a);
    upstream_pool_read_session(p, t);
    uv_mutex_lock(&p->lock);
    now_ms = upstream_pool_now_ms();
    t->asked_ms = now_ms;
    if (!t->is_retry)
        t->since_ms = now_ms;
    t->group = upstream_pool_group(p, want);
    if (p->shares_affinity)
        t->prompt.salt = 0;
    if (t->group != NULL)
        ask_for_place(p, t, now_ms);
    state = t->group == NULL ? UPSTREAM_TICKET_IDLE : t->state;
    uv_mutex_unlock(&p->lock);
    if (state != UPSTREAM_TICKET_IDLE)
        return tell_state(t, state, reterr);
    (void)err_set_no_memory(reterr);
    return UPSTREAM_TICKET_REFUSED;
}

enum upstream_ticket_state upstream_pool_look(struct upstream_pool *p, struct upstream_ticket *t,
                                              struct err *reterr)
{
    enum upstream_ticket_state state;
    bool is_news;

    uv_mutex_lock(&p->lock);
    state = t->state;
    is_news = t->has_news;
    t->has_news = false;
    uv_mutex_unlock(&p->lock);
    return is_news ? tell_state(t, state, reterr) : state;
}

/* ---- giving back */

/* With the lock held: may another candidate be used than the one that has the place? */
static bool has_other(struct upstream_pool *p, const struct upstream_ticket *t, uint64_t now_ms)
{
    for (size_t i = 0; i < t->want->route->n; i++) {
        const struct upstream_live *l = live_of(t->want, i);
        const struct upstream_health_conf conf = upstream_pool_health_conf(p, l);
        const enum upstream_use use = upstream_health_use(&l->health, &conf, now_ms);

        if (i != t->granted && (use == UPSTREAM_USE_FREELY || use == UPSTREAM_USE_PROBE))
            return true;
    }
    return false;
}

/* The same: is there one that this round has not asked, and may? One that was ejected, or that another request
 * probes just now, is better than the one that has failed. */
static bool has_untried(const struct upstream_ticket *t)
{
    for (size_t i = 0; i < t->want->route->n; i++) {
        const enum upstream_health_state state = live_of(t->want, i)->health.state;

        if (i != t->granted && !was_tried(t, i) &&
            (state == UPSTREAM_STATE_UP || state == UPSTREAM_STATE_HALF_OPEN ||
             state == UPSTREAM_STATE_EJECTED))
            return true;
    }
    return false;
}

static uint32_t draw_chance(void)
{
    uint32_t chance;

    random_fill(NULL, &chance, sizeof(chance));
    return chance;
}

/* With the lock held. */
static void give_back(struct upstream_pool *p, struct upstream_ticket *t,
                      enum upstream_outcome outcome, uint64_t now_ms)
{
    struct upstream_live *l = live_of(t->want, t->granted);
    const struct upstream_health_conf conf = upstream_pool_health_conf(p, l);
    const struct upstream_health_moment moment = {
        .now_ms = now_ms, .is_last = !has_other(p, t, now_ms), .chance = draw_chance()};
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

static struct upstream_retry_conf retry_conf(const struct upstream_pool *p,
                                             const struct upstream_ticket *t)
{
    const struct upstream_entry *u = entry_of(t->want, t->granted);

    return (struct upstream_retry_conf){.attempts = u->retry_attempts,
                                        .retry_on = u->retry_on,
                                        .max_wait_ms = p->config->retry_max_wait_ms,
                                        .loading_wait_ms = u->config->loading_wait_ms};
}

static void note_tried(struct upstream_ticket *t, struct arena *a)
{
    const size_t n = t->want->route->n;

    if (t->tried == NULL) {
        t->tried = arena_alloc(a, n);
        if (t->tried == NULL)
            return;
        memset(t->tried, 0, n);
    }
    t->tried[t->granted] = true;
}

static void count_plan(const struct upstream_ticket *t, enum upstream_outcome outcome,
                       const struct upstream_plan *plan)
{
    const struct upstream_entry *u = entry_of(t->want, t->granted);
    const int reason = upstream_outcome_row(outcome)->retry;

    if (plan->next == UPSTREAM_NEXT_GIVE_UP && plan->denied != UPSTREAM_NOT_DENIED)
        metrics_count(METRIC_RETRIES_DENIED, (unsigned)plan->denied);
    else if (plan->next != UPSTREAM_NEXT_GIVE_UP && metrics_are_on && reason >= 0)
        metrics_add(
            metrics_of(METRIC_RETRIES,
                       &(struct metric_labels){
                           {metric_word(METRIC_DOMAIN_UPSTREAM, u->name), (uint16_t)reason}}),
            1);
}

struct upstream_plan upstream_pool_end(struct upstream_pool *p, struct upstream_ticket *t,
                                       const struct upstream_end *end, struct arena *a)
{
    struct upstream_plan plan = {.next = UPSTREAM_NEXT_GIVE_UP, .denied = UPSTREAM_NOT_DENIED};
    struct upstream_retry_moment moment = {.is_shown = end->is_shown,
                                           .has_client_left = end->has_client_left,
                                           .retry_after_s = end->retry_after_s,
                                           .chance = draw_chance()};
    struct upstream_retry_conf conf;
    uint64_t now_ms;

    uv_mutex_lock(&p->lock);
    now_ms = upstream_pool_now_ms();
    if (t->state != UPSTREAM_TICKET_GRANTED) {
        uv_mutex_unlock(&p->lock);
        return plan;
    }
    conf = retry_conf(p, t);
    moment.n_retrying = p->n_retrying - t->is_counted;
    moment.n_rounds = p->n_rounds;
    moment.has_other = has_untried(t);
    give_back(p, t, end->outcome, now_ms);
    if (end->outcome == UPSTREAM_OUTCOME_OK)
        fair_queue_note_duration(&t->group->queue, now_ms - t->begun_ms);
    else if (!end->is_final)
        plan = upstream_retry_plan(&t->retry, &conf, end->outcome, &moment);
    upstream_pool_pump(p, now_ms);
    uv_mutex_unlock(&p->lock);
    count_plan(t, end->outcome, &plan);
    t->retry_after_s = upstream_retry_after_s(&t->retry, end->retry_after_s);
    t->until_ms = plan.next == UPSTREAM_NEXT_SAME ? now_ms + plan.wait_ms : 0;
    if (plan.next == UPSTREAM_NEXT_OTHER)
        note_tried(t, a);
    else
        t->tried = NULL; /* after a wait it is whoever may be used by then */
    if (plan.next == UPSTREAM_NEXT_GIVE_UP)
        reset_round(t);
    return plan;
}

void upstream_pool_leave(struct upstream_pool *p, struct upstream_ticket *t)
{
    enum upstream_ticket_state was;
    uint64_t now_ms;

    uv_mutex_lock(&p->lock);
    now_ms = upstream_pool_now_ms();
    was = t->state;
    if (was == UPSTREAM_TICKET_WAITING)
        upstream_pool_unwait(p, t);
    else if (was == UPSTREAM_TICKET_GRANTED)
        give_back(p, t, UPSTREAM_OUTCOME_CLIENT_GONE, now_ms);
    t->state = UPSTREAM_TICKET_IDLE;
    t->has_news = false;
    if (was == UPSTREAM_TICKET_GRANTED)
        upstream_pool_pump(p, now_ms);
    uv_mutex_unlock(&p->lock);
    if (was == UPSTREAM_TICKET_WAITING)
        count_wait(t, METRIC_ADMISSION_CANCELLED);
    reset_round(t);
}
