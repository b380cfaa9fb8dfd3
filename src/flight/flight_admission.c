/* flight_admission.c -- from the name of a model to a place at an upstream. */
#include "flight/flight_admission.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

/* The newest table that the worker has. */
static struct upstream_table *newest_table(const struct flight *f)
{
    return f->worker->upstreams;
}

static const struct upstream_entry *candidate_of(const struct flight_admission *a, size_t i)
{
    return &a->table->entries[a->route.candidates[i].entry];
}

/* The next attempt goes to this candidate of its route. */
static bool take_candidate(struct flight *f, size_t i)
{
    struct flight_admission *a = &f->admission;

    if (!flight_take_upstream(f, candidate_of(a, i)))
        return false;
    a->sent = a->route.candidates[i].model;
    return true;
}

/* The one upstream serves every name. */
static void take_only_route(struct flight *f)
{
    struct flight_admission *a = &f->admission;

    a->table = newest_table(f);
    a->only = (struct upstream_candidate){.model = STR_NONE, .weight = 1};
    a->route = (struct upstream_route){.name = STR(""),
                                       .match = UPSTREAM_MATCH_DEFAULT,
                                       .candidates = &a->only,
                                       .n = 1,
                                       .group = STR("default"),
                                       .policy = &a->table->other_policy};
    a->has_route = true;
}

static bool has_listed(void *arg, size_t entry, str name)
{
    const struct upstream_table *t = arg;
    struct upstream_facts *facts = upstream_watch_facts(t->entries[entry].live->watch);
    const bool has = facts != NULL && upstream_list_has(facts->list, name);

    upstream_facts_unref(facts);
    return has;
}

static bool has_list(const struct upstream_entry *u)
{
    struct upstream_facts *facts = upstream_watch_facts(u->live->watch);
    const bool has = facts != NULL && facts->list != NULL;

    upstream_facts_unref(facts);
    return has;
}

/* ---- lists of models */

/* Lists that were waited for with another table are not those of this one. */
static void take_newest_table(struct flight *f)
{
    struct flight_admission *a = &f->admission;

    if (a->table != newest_table(f))
        a->n_heard = 0;
    a->table = newest_table(f);
}

static bool is_wanted(const struct flight *f, const struct upstream_entry *u,
                      enum flight_lists which)
{
    return (which == FLIGHT_LISTS_ALL || u->serves_listed) &&
           (f->admission.wants_new_lists || !has_list(u));
}

/* All lists are asked for at once, so that they answer at the same time: then they are waited for one after the
 * other. */
static void ask_for_lists(const struct flight *f, enum flight_lists which)
{
    const struct upstream_table *t = f->admission.table;

    for (size_t i = 0; i < t->n; i++) {
        if (is_wanted(f, &t->entries[i], which))
            (void)upstream_watch_await_list(t->entries[i].live->watch, f->admission.wants_new_lists,
                                            NULL);
    }
}

enum turn_next flight_await_lists(struct flight *f, enum flight_lists which, struct err *reterr)
{
    struct flight_admission *a = &f->admission;

    take_newest_table(f);
    if (a->n_heard == 0)
        ask_for_lists(f, which);
    while (a->n_heard < a->table->n) {
        const struct upstream_entry *u = &a->table->entries[a->n_heard++];

        if (!is_wanted(f, u, which))
            continue;
        a->awaits_list = flight_take_upstream(f, u);
        if (!a->awaits_list) {
            (void)err_set_no_memory(reterr);
            return TURN_FAIL;
        }
        if (reach_must_be_known(f))
            return TURN_WAIT;
    }
    a->awaits_list = false;
    return TURN_GO;
}

void flight_want_new_lists(struct flight *f)
{
    f->admission.wants_new_lists = true;
    f->admission.n_heard = 0;
}

/* True when the name, or a glob for it, is in the file, or the name in a list that is known: a list that is missing is
 * waited for by names that nobody is known to have. */
static bool find_known(struct flight *f, str model)
{
    const struct upstream_lists lists = {has_listed, f->admission.table};
    struct upstream_route *route = &f->admission.route;
    struct err e;

    return upstream_table_route(f->admission.table, model, &lists, &f->arena, route, &e) == 0 &&
           route->match != UPSTREAM_MATCH_DEFAULT;
}

/* Looks the name up in the lists; and when nobody has it, once more in new ones. Names in the file are there at
 * once, lists may have to be waited for. */
static enum turn_next look_in_lists(struct flight *f, str model, struct err *reterr)
{
    const struct upstream_lists lists = {has_listed, newest_table(f)};
    struct flight_admission *a = &f->admission;

    for (;;) {
        const enum turn_next next = flight_await_lists(f, FLIGHT_LISTS_SERVED, reterr);

        if (next != TURN_GO)
            return next;
        if (upstream_table_route(a->table, model, &lists, &f->arena, &a->route, reterr) == 0)
            return TURN_GO;
        if (a->wants_new_lists)
            return TURN_FAIL;
        flight_want_new_lists(f);
    }
}

/* Who is down is asked nothing while a request is read and written. */
static size_t find_likely(const struct flight *f)
{
    const struct flight_admission *a = &f->admission;

    return f->worker->pool == NULL ? 0 : upstream_pool_likely(f->worker->pool, a->table, &a->route);
}

/* What has a place goes by its route: none is left behind when that becomes another. */
static void end_lingering(struct flight *f)
{
    if (f->admission.is_done)
        flight_cancel_call(f);
}

enum turn_next flight_find_route(struct flight *f, str model, struct err *reterr)
{
    struct flight_admission *a = &f->admission;
    enum turn_next next = TURN_GO;

    end_lingering(f);
    if (!newest_table(f)->is_from_file || str_is_none(model)) {
        take_only_route(f);
        return TURN_GO;
    }
    take_newest_table(f);
    a->model = model;
    if (!find_known(f, model))
        next = look_in_lists(f, model, reterr);
    if (next != TURN_GO)
        return next;
    a->has_route = true;
    if (take_candidate(f, find_likely(f)))
        return TURN_GO;
    (void)err_set_no_memory(reterr);
    return TURN_FAIL;
}

struct flight_route flight_keep_route(const struct flight *f)
{
    const struct flight_admission *a = &f->admission;

    return (struct flight_route){a->table, a->route, a->model, a->sent, f->upstream};
}

void flight_return_to_route(struct flight *f, const struct flight_route *kept)
{
    struct flight_admission *a = &f->admission;

    end_lingering(f);
    a->table = kept->table;
    a->route = kept->route;
    a->model = kept->model;
    a->sent = kept->sent;
    (void)flight_take_upstream(f, kept->upstream);
}

size_t flight_n_candidates(const struct flight *f)
{
    return f->admission.has_route ? f->admission.route.n : 1;
}

const struct upstream_entry *flight_candidate(const struct flight *f, size_t i)
{
    const struct flight_admission *a = &f->admission;

    return a->has_route ? candidate_of(a, i) : f->upstream;
}

/* A table has taken the place of the one that the route is of: a round that begins now goes by it (OPERATIONS 4.2).
 * What the new one does not know, or would have to wait for, goes on as it began. */
static void renew_route(struct flight *f)
{
    struct flight_admission *a = &f->admission;
    struct upstream_table *t = newest_table(f);
    const struct upstream_lists lists = {has_listed, t};
    struct upstream_route route;
    struct err e;

    if (!t->is_from_file || !a->table->is_from_file || str_is_none(a->model)) {
        take_only_route(f);
        return;
    }
    for (size_t i = 0; i < t->n; i++) {
        if (t->entries[i].serves_listed && !has_list(&t->entries[i]))
            return;
    }
    if (upstream_table_route(t, a->model, &lists, &f->arena, &route, &e) == -1)
        return;
    a->route = route;
    a->table = t;
}

str flight_sent_model(const struct flight *f)
{
    return f->admission.sent;
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
        .table = f->admission.table,
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

    a->has_choice = true;
    a->cache_lost_bytes += a->ticket.lost_bytes;
    a->ticket.lost_bytes = 0;
    if (take_candidate(f, a->ticket.granted)) {
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
    a->asks_again = false;
    return TURN_FAIL;
}

enum turn_next flight_admit(struct flight *f, const struct flight_round *round, struct err *reterr)
{
    struct upstream_pool *p = f->worker->pool;
    struct flight_admission *a = &f->admission;

    if (p == NULL)
        return TURN_GO;
    end_lingering(f);
    if (!a->has_route)
        take_only_route(f);
    if (a->has_asked)
        return heed(f, upstream_pool_look(p, &a->ticket, reterr), reterr);
    if (a->table != newest_table(f) && !a->asks_again)
        renew_route(f);
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

bool flight_could_retry(const struct flight *f, int status)
{
    const bool may_load = status == 503 && f->upstream->config->loading_wait_ms > 0;

    return f->admission.has_asked &&
           (f->admission.route.n > 1 || f->upstream->retry_attempts > 1 || may_load);
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
                                     .has_client_left = flight_is_gone(f),
                                     .retry_after_s = f->answer.retry_after_s};
    struct upstream_plan plan;

    if (!a->has_asked || f->worker->pool == NULL)
        return false;
    if (!f->is_on_pool)
        flight_cancel_call(f); /* else it was; an answer that has failed may still go on */
    a->has_asked = false;
    plan = upstream_pool_end(f->worker->pool, &a->ticket, &end, &f->arena);
    log_failed(f, end.outcome, &plan);
    a->asks_again = plan.next != UPSTREAM_NEXT_GIVE_UP;
    return a->asks_again;
}

/* What the client is told when this status ends the round; 0: nothing else than the upstream says. */
static int told_retry_after_s(const struct flight *f, int status)
{
    return status == 429 || status == 503 ? f->admission.ticket.retry_after_s : 0;
}

/* Clients heed the words that a message ends with as well (CONTRACT 7). */
static void renew_words(struct err *e, int retry_after_s)
{
    char former[48];
    const str msg = str_from_c(e->msg);
    size_t n;

    (void)snprintf(former, sizeof(former), " try again in %ds.", e->retry_after_s);
    n = strlen(former);
    if (str_ends_with(msg, str_from_c(former)))
        (void)snprintf(e->msg + msg.len - n, n + 1, " try again in %ds.", retry_after_s);
}

void flight_tell_retry(const struct flight *f, struct err *e)
{
    const int s = told_retry_after_s(f, err_http_status(e));

    if (s <= 0 || s == e->retry_after_s)
        return;
    renew_words(e, s);
    e->retry_after_s = s;
}

void flight_tell_retry_in_head(struct flight *f, int status, struct http_header *headers, size_t n)
{
    const int s = told_retry_after_s(f, status);
    char digits[16];

    (void)snprintf(digits, sizeof(digits), "%d", s);
    for (size_t i = 0; s > 0 && i < n; i++) {
        if (str_eq_nocase(headers[i].name, STR("retry-after")))
            headers[i].value = arena_dup(&f->arena, str_from_c(digits));
    }
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
    a->asks_again = false;
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
