/* flight_admission.c -- from the name of a model to a place at an upstream. */
#include "flight/flight_admission.h"

#include <inttypes.h>
#include <stdio.h>

#include "access/allowance.h"
#include "ev/log.h"
#include "flight/flight_limits.h"
#include "flight/reach.h"
#include "flight/worker.h"
#include "upstream/upstream_live.h"
#include "upstream/upstream_options.h"
#include "upstream/upstream_pool.h"
#include "upstream/upstream_watch.h"

/* ---- who may serve a model */

static const struct upstream_table *table_of(const struct flight *f)
{
    return f->worker->upstreams;
}

/* The one upstream serves every name. */
static void take_only_route(struct flight *f)
{
    struct flight_admission *a = &f->admission;

    a->only = (struct upstream_candidate){.model = STR_NONE, .weight = 1};
    a->route = (struct upstream_route){.name = STR(""),
                                       .match = UPSTREAM_MATCH_DEFAULT,
                                       .candidates = &a->only,
                                       .n = 1,
                                       .group = STR("default"),
                                       .policy = &table_of(f)->other_policy};
    a->has_route = true;
}

static bool has_listed(void *arg, size_t entry, str name)
{
    const struct upstream_table *t = arg;
    struct upstream_facts *facts = upstream_watch_facts(t->entries[entry].live->watch);
    bool has = false;

    for (size_t i = 0; facts != NULL && !has && i < facts->models.n; i++)
        has = str_eq(facts->models.v[i].id, name);
    upstream_facts_unref(facts);
    return has;
}

/* The next upstream that serves what it lists, and has not been heard yet; NULL: all have been. */
static const struct upstream_entry *next_unheard(struct flight *f)
{
    const struct upstream_table *t = table_of(f);
    struct flight_admission *a = &f->admission;

    while (a->n_heard < t->n) {
        const struct upstream_entry *u = &t->entries[a->n_heard++];
        struct upstream_facts *facts =
            u->serves_listed ? upstream_watch_facts(u->live->watch) : NULL;
        const bool is_heard = !u->serves_listed || facts != NULL;

        upstream_facts_unref(facts);
        if (!is_heard)
            return u;
    }
    return NULL;
}

/* Names in the file are there at once; lists may have to be waited for. */
static enum turn_next await_list(struct flight *f, struct err *reterr)
{
    const struct upstream_entry *u = next_unheard(f);

    if (u == NULL)
        return TURN_GO;
    if (flight_take_upstream(f, u))
        return TURN_WAIT;
    (void)err_set_no_memory(reterr);
    return TURN_FAIL;
}

/* Is the name, or a glob for it, in the file? */
static bool find_named(struct flight *f, str model)
{
    struct upstream_route *route = &f->admission.route;
    struct err e;

    return upstream_table_route(table_of(f), model, NULL, &f->arena, route, &e) == 0 &&
           route->match != UPSTREAM_MATCH_DEFAULT;
}

static enum turn_next look_up(struct flight *f, str model, struct err *reterr)
{
    const struct upstream_lists lists = {has_listed, f->worker->upstreams};
    enum turn_next next;

    if (find_named(f, model))
        return TURN_GO;
    next = await_list(f, reterr);
    if (next == TURN_GO && upstream_table_route(table_of(f), model, &lists, &f->arena,
                                                &f->admission.route, reterr) == -1)
        return TURN_FAIL;
    return next;
}

/* Who is down is asked nothing while a request is read and written. */
static const struct upstream_entry *find_likely(const struct flight *f)
{
    const struct upstream_route *route = &f->admission.route;
    const size_t likely =
        f->worker->pool == NULL ? 0 : upstream_pool_likely(f->worker->pool, table_of(f), route);

    return &table_of(f)->entries[route->candidates[likely].entry];
}

enum turn_next flight_find_route(struct flight *f, str model, struct err *reterr)
{
    const struct upstream_table *t = table_of(f);
    enum turn_next next = TURN_GO;

    if (!t->is_from_file || str_is_none(model)) {
        take_only_route(f);
        return TURN_GO;
    }
    next = look_up(f, model, reterr);
    if (next != TURN_GO)
        return next;
    f->admission.has_route = true;
    if (flight_take_upstream(f, find_likely(f)))
        return TURN_GO;
    (void)err_set_no_memory(reterr);
    return TURN_FAIL;
}

size_t flight_n_candidates(const struct flight *f)
{
    return f->admission.has_route ? f->admission.route.n : 1;
}

const struct upstream_entry *flight_candidate(const struct flight *f, size_t i)
{
    const struct flight_admission *a = &f->admission;

    return a->has_route ? &table_of(f)->entries[a->route.candidates[i].entry] : f->upstream;
}

str flight_sent_model(const struct flight *f)
{
    const struct flight_admission *a = &f->admission;

    for (size_t i = 0; a->has_route && i < a->route.n; i++) {
        if (&table_of(f)->entries[a->route.candidates[i].entry] == f->upstream)
            return a->route.candidates[i].model;
    }
    return STR_NONE;
}

struct name_list flight_names(struct flight *f)
{
    struct flight_admission *a = &f->admission;
    struct buf all = {.limit = 0};
    const str sent = flight_sent_model(f);

    if (str_is_none(sent))
        return upstream_model_aliases(f->upstream->config);
    buf_c(&all, "*=");
    buf_append(&all, sent);
    a->name = buf_failed(&all) ? NULL : arena_dup(&f->arena, buf_str(&all)).p;
    buf_fini(&all);
    return (struct name_list){&a->name, a->name == NULL ? 0 : 1};
}

/* ---- a place */

static uint64_t now_ms(const struct flight *f)
{
    return loop_now_ms(f->worker->loop);
}

static void begin_waiting(struct flight *f)
{
    struct flight_admission *a = &f->admission;

    if (a->is_waiting)
        return;
    f->n_tasks++; /* until it is told */
    a->is_waiting = true;
    a->wait_since_ms = now_ms(f);
}

static void end_waiting(struct flight *f)
{
    struct flight_admission *a = &f->admission;

    a->waited_ms = flight_waited_ms(f);
    a->is_waiting = false;
    f->n_tasks--;
}

static void on_told(void *arg)
{
    struct flight *f = arg;

    end_waiting(f);
    if (flight_has_client(f) && f->ops->front != NULL) {
        turn_wake(f);
        return;
    }
    if (flight_has_client(f))
        f->ops->on_admitted(f);
    flight_free_if_over(f);
}

static void describe_want(struct flight *f, const struct flight_round *round,
                          struct upstream_want *ret)
{
    static const enum fair_class classes[] = {[KEY_PRIORITY_HIGH] = FAIR_CLASS_HIGH,
                                              [KEY_PRIORITY_NORMAL] = FAIR_CLASS_NORMAL,
                                              [KEY_PRIORITY_LOW] = FAIR_CLASS_LOW};
    const struct allowance *allowance = f->caller.allowance;

    *ret = (struct upstream_want){
        .table = table_of(f),
        .route = &f->admission.route,
        .owner = flight_limits_user(f),
        .weight = allowance_weight(allowance),
        .priority = classes[allowance_priority(allowance)],
        .is_later = round->is_later,
        .body_bytes = round->body.len,
        .session = round->session,
        .session_next = round->session_next,
        .body = round->body,
        .takes_slot = round->takes_slot,
    };
}

static void write_session(const struct flight *f, uint64_t name, char out[16 + 1])
{
    out[0] = '\0';
    if (f->upstream->config->session_header && name != 0)
        (void)snprintf(out, 16 + 1, "%016" PRIx64, name);
}

static enum turn_next take_granted(struct flight *f, struct err *reterr)
{
    struct flight_admission *a = &f->admission;
    const struct upstream_candidate *c = &a->route.candidates[a->ticket.granted];

    a->has_choice = true;
    a->cache_lost_bytes += a->ticket.lost_bytes;
    a->ticket.lost_bytes = 0;
    if (flight_take_upstream(f, &table_of(f)->entries[c->entry])) {
        write_session(f, a->ticket.hint.name, a->session);
        return TURN_GO;
    }
    flight_leave_upstream(f);
    (void)err_set_no_memory(reterr);
    return TURN_FAIL;
}

static enum turn_next heed(struct flight *f, enum upstream_ticket_state state, struct err *reterr)
{
    struct flight_admission *a = &f->admission;

    a->has_asked = state == UPSTREAM_TICKET_WAITING || state == UPSTREAM_TICKET_GRANTED;
    switch (state) {
    case UPSTREAM_TICKET_GRANTED:
        return take_granted(f, reterr);
    case UPSTREAM_TICKET_WAITING:
        begin_waiting(f);
        return TURN_WAIT;
    case UPSTREAM_TICKET_IDLE:
    case UPSTREAM_TICKET_REFUSED:
        break;
    }
    return TURN_FAIL;
}

enum turn_next flight_admit(struct flight *f, const struct flight_round *round, struct err *reterr)
{
    struct upstream_pool *p = f->worker->pool;
    struct flight_admission *a = &f->admission;

    if (p == NULL)
        return TURN_GO;
    if (a->is_done)
        flight_cancel_call(f); /* of the round before, whose end it reads */
    if (!a->has_route)
        take_only_route(f);
    if (a->has_asked)
        return heed(f, upstream_pool_look(p, &a->ticket, reterr), reterr);
    a->session[0] = '\0';
    a->ticket.loop = f->worker->loop;
    a->ticket.told.fn = on_told;
    a->ticket.told.arg = f;
    describe_want(f, round, &a->want);
    return heed(f, upstream_pool_admit(p, &a->ticket, &a->want, &f->arena, reterr), reterr);
}

int flight_slot(const struct flight *f)
{
    const struct flight_admission *a = &f->admission;

    return a->has_asked && !a->is_waiting ? a->ticket.hint.slot : -1;
}

uint64_t flight_waited_ms(const struct flight *f)
{
    const struct flight_admission *a = &f->admission;

    return a->waited_ms + (a->is_waiting ? now_ms(f) - a->wait_since_ms : 0);
}

size_t flight_cache_lost(const struct flight *f)
{
    return f->admission.cache_lost_bytes;
}

bool flight_could_retry(const struct flight *f)
{
    return f->admission.has_asked && (f->admission.route.n > 1 || f->upstream->retry_attempts > 1);
}

/* ---- the end of an attempt */

static void log_failed(const struct flight *f, enum upstream_outcome outcome,
                       const struct upstream_plan *plan)
{
    static const str next[] = {[UPSTREAM_NEXT_GIVE_UP] = STR_INIT("give_up"),
                               [UPSTREAM_NEXT_SAME] = STR_INIT("same"),
                               [UPSTREAM_NEXT_OTHER] = STR_INIT("other")};
    const unsigned result = upstream_outcome_row(outcome)->result;

    if (!log_is_on(LOG_DEBUG))
        return;
    log_line(LOG_DEBUG, "attempt",
             (struct log_field[]){
                 LOG_STR("request_id", f->request_id), LOG_STR("upstream", f->upstream->name),
                 LOG_STR("result", metric_closed_word(METRIC_DOMAIN_ATTEMPT, result)),
                 LOG_STR("next", next[plan->next]), LOG_INT("wait_ms", plan->wait_ms),
                 LOG_STR("denied",
                         plan->denied == UPSTREAM_NOT_DENIED
                             ? STR_NONE
                             : metric_closed_word(METRIC_DOMAIN_DENIAL, (unsigned)plan->denied)),
                 LOG_END});
}

bool flight_may_retry(struct flight *f, const struct err *failure, bool is_shown)
{
    struct flight_admission *a = &f->admission;
    const struct upstream_end end = {.outcome = upstream_outcome_of(&f->answer, failure),
                                     .is_shown = is_shown,
                                     .retry_after_s = f->answer.retry_after_s};

    struct upstream_plan plan;

    if (!a->has_asked || f->worker->pool == NULL)
        return false;
    if (!f->is_on_pool)
        flight_cancel_call(f); /* else it was; an answer that has failed may still go on */
    a->has_asked = false;
    plan = upstream_pool_end(f->worker->pool, &a->ticket, &end, &f->arena);
    log_failed(f, end.outcome, &plan);
    return plan.next != UPSTREAM_NEXT_GIVE_UP;
}

void flight_tell_retry(const struct flight *f, struct err *e)
{
    if (f->admission.ticket.retry_after_s > 0 &&
        (err_http_status(e) == 429 || err_http_status(e) == 503))
        e->retry_after_s = f->admission.ticket.retry_after_s;
}

void flight_give_place_back(struct flight *f)
{
    struct flight_admission *a = &f->admission;
    const struct upstream_end end = {.outcome = a->outcome, .is_final = true};

    a->is_done = a->has_asked = false;
    (void)upstream_pool_end(f->worker->pool, &a->ticket, &end, &f->arena);
}

/* An answer may end a moment after all that it says. */
void flight_end_attempt(struct flight *f, const struct err *failure)
{
    struct flight_admission *a = &f->admission;

    if (!a->has_asked || f->worker->pool == NULL)
        return;
    a->outcome = upstream_outcome_of(&f->answer, failure);
    a->is_done = true;
    if (f->call == NULL)
        flight_give_place_back(f);
}

/* When the message is under way, on_told() comes and finds nobody. */
void flight_leave_upstream(struct flight *f)
{
    struct flight_admission *a = &f->admission;

    if (!a->has_asked || f->worker->pool == NULL || (a->is_done && f->call != NULL))
        return;
    a->has_asked = a->is_done = false;
    upstream_pool_leave(f->worker->pool, &a->ticket);
    if (a->is_waiting && !loop_message_is_under_way(&a->ticket.told))
        end_waiting(f);
}
