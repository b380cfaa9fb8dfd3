/* upstream_pool_ticket.c -- what is asked of the pool, from any thread: a ticket is admitted, looked at, ended, left.
 *
 * What the prompt of a request is, is found out before the lock is taken, since that is looking at all of it;
 * and only where there is a choice that it could decide, unless who asks has found it out. Clients and metrics
 * are told without the lock. */
#include <stdlib.h>

#include "metrics/metrics.h"
#include "upstream/upstream_pool_internal.h"

/* ---- asking */

/* The prompt matters where there is a choice, and it decides. */
static bool asks_affinity(const struct upstream_want *want)
{
    return want->route->n > 1 && want->route->policy->kind == ROUTING_AFFINITY;
}

/* What is remembered; 0: nothing. */
static uint64_t next_session(const struct upstream_pool *p, const struct upstream_ticket *t)
{
    const struct upstream_want *want = t->want;

    if (want->is_last)
        return 0;
    return str_is_none(want->session_next) ? t->session
                                           : upstream_pool_session(p, want, want->session_next);
}

struct prefix_marks upstream_pool_read_prompt(const struct upstream_pool *p, str body,
                                              struct arena *a)
{
    struct prefix_marks marks;

    (void)prefix_marks_read(body, p->key, a, &marks);
    return marks;
}

/* Reads the prompt of a new round; that of one that is asked again has been read. Out of memory, less is known. */
static void look_at_prompt(const struct upstream_pool *p, struct upstream_ticket *t,
                           struct arena *a)
{
    const struct upstream_want *want = t->want;

    if (t->is_retry)
        return;
    t->marks = (struct prefix_marks){.n = 0};
    t->prompt = (struct affinity_prompt){.session = 0};
    t->session = 0;
    if (!asks_affinity(want))
        return;
    t->marks = want->marks.n > 0 ? want->marks : upstream_pool_read_prompt(p, want->body, a);
    t->session = upstream_pool_session(p, want, want->session);
    t->prompt = (struct affinity_prompt){
        .session = next_session(p, t), .marks = t->marks.marks, .n_marks = t->marks.n};
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
    const struct upstream_entry *u = upstream_want_entry(t->want, t->granted);
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

/* Tells metrics, and the caller, what has come of a ticket. */
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
    t->prompt.salt = p->shares_affinity ? 0 : affinity_salt(p->key, want->owner);
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

/* ---- the end of an attempt */

/* With the lock held: may a candidate be asked that this round has not asked? One that was ejected, or that another request
 * probes just now, is better than the one that has failed. */
static bool has_untried(const struct upstream_ticket *t)
{
    for (size_t i = 0; i < t->want->route->n; i++) {
        const enum upstream_health_state state = upstream_want_live(t->want, i)->health.state;

        if (i != t->granted && !upstream_ticket_has_tried(t, i) &&
            (state == UPSTREAM_STATE_UP || state == UPSTREAM_STATE_HALF_OPEN ||
             state == UPSTREAM_STATE_EJECTED))
            return true;
    }
    return false;
}

static struct upstream_retry_conf retry_conf(const struct upstream_pool *p,
                                             const struct upstream_ticket *t)
{
    const struct upstream_entry *u = upstream_want_entry(t->want, t->granted);

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
    const struct upstream_entry *u = upstream_want_entry(t->want, t->granted);
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
                                           .chance = upstream_pool_chance()};
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
    upstream_pool_give_back(p, t, end->outcome, now_ms);
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
        upstream_pool_give_back(p, t, UPSTREAM_OUTCOME_CLIENT_GONE, now_ms);
    t->state = UPSTREAM_TICKET_IDLE;
    t->has_news = false;
    if (was == UPSTREAM_TICKET_GRANTED)
        upstream_pool_pump(p, now_ms);
    uv_mutex_unlock(&p->lock);
    if (was == UPSTREAM_TICKET_WAITING)
        count_wait(t, METRIC_ADMISSION_CANCELLED);
    reset_round(t);
}

/* ---- behind the answer */

void upstream_pool_note_answer(struct upstream_pool *p, const struct upstream_ticket *t,
                               str message)
{
    const struct prefix_mark mark = prefix_marks_behind(&t->marks, message);
    const struct affinity_prompt prompt = {.salt = t->prompt.salt, .marks = &mark, .n_marks = 1};

    uv_mutex_lock(&p->lock);
    if (p->affinity != NULL)
        affinity_note(p->affinity, &prompt, upstream_want_live(t->want, t->granted)->number,
                      upstream_pool_now_ms());
    uv_mutex_unlock(&p->lock);
}
