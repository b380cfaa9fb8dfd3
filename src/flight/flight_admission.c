/* flight_admission.c -- a place at an upstream: asked for, waited for, given back. */
#include "flight/flight_admission.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "access/allowance.h"
#include "ev/log.h"
#include "flight/flight_limits.h"
#include "flight/worker.h"
#include "upstream/upstream_pool.h"

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

struct prefix_marks flight_read_prompt(struct flight *f, str body)
{
    const struct prefix_marks none = {.n = 0};

    return f->worker->pool == NULL ? none
                                   : upstream_pool_read_prompt(f->worker->pool, body, &f->arena);
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
        .is_last = round->is_last,
        .body = round->body,
        .marks = round->marks,
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
    if (flight_take_candidate(f, a->ticket.granted)) {
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
    flight_end_lingering(f);
    if (!a->has_route)
        flight_take_only_route(f);
    if (a->has_asked)
        return heed(f, upstream_pool_look(p, &a->ticket, reterr), reterr);
    if (!a->asks_again)
        flight_renew_route(f);
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

bool flight_wants_answer(const struct flight *f)
{
    return f->worker->pool != NULL && f->admission.ticket.marks.n > 0;
}

void flight_note_answer(struct flight *f, str message)
{
    upstream_pool_note_answer(f->worker->pool, &f->admission.ticket, message);
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
