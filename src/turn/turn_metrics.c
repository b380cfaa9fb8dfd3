/* turn_metrics.c -- a turn as one response: its times, its events, how it ended. */
#include "turn/turn_metrics.h"

#include "call/turn_call_metrics.h"
#include "flight/flight_metrics.h"
#include "json/json_text.h"

static uint64_t passed_us(const struct turn *t)
{
    return 1000 * (loop_now_ms(t->flight.worker->loop) - t->flight.start_ms);
}

/* ---- while it is made */

static void name_model(struct turn *t)
{
    if (t->flight.counted.model.len == 0)
        t->flight.counted.model = json_text_dup(&t->flight.arena, t->request.model);
}

void turn_metrics_ask(struct turn *t)
{
    t->counted.n_deltas = 0;
    if (metrics_are_on)
        name_model(t);
}

static void note_first(struct turn *t, uint64_t now_ms)
{
    t->counted.first_ms = now_ms;
    peer_count_model(t->flight.peer, flight_metrics_model(&t->flight)); /* it may leave */
}

void turn_note_heard(struct turn *t)
{
    struct turn_counted *c = &t->counted;
    const size_t n = t->round.n_deltas - c->n_deltas;
    uint64_t now_ms;

    if (n == 0 || !t->has_round)
        return;
    now_ms = loop_now_ms(t->flight.worker->loop);
    c->n_deltas = t->round.n_deltas;
    if (t->flight.first_token_ms == 0)
        t->flight.first_token_ms = now_ms;
    if (!metrics_are_on)
        return;
    flight_metrics_chunks(&t->flight, &t->flight.counted, n, now_ms);
    if (c->first_ms == 0)
        note_first(t, now_ms);
}

void turn_metrics_round(struct turn *t)
{
    if (metrics_are_on)
        flight_metrics_usage(&t->flight, &t->round.stream.reader.usage);
}

void turn_metrics_events(struct turn *t)
{
    if (!metrics_are_on || !t->has_response)
        return;
    for (unsigned type = EVENT_NONE + 1; type < EVENT_COUNT; type++) {
        uint32_t *n = &t->response.n_events[type];

        if (*n > 0)
            metrics_add(metrics_at(METRIC_EVENTS, type - 1), *n);
        *n = 0;
    }
}

/* ---- its end */

static unsigned outcome_of(const struct turn *t, const struct err *e)
{
    if (!t->has_response)
        return METRIC_OUTCOME_REJECTED;
    if (e != NULL)
        return METRIC_OUTCOME_FAILED;
    if (t->response.status == RESPONSE_INCOMPLETE)
        return METRIC_OUTCOME_INCOMPLETE;
    return t->response.status == RESPONSE_CANCELLED ? METRIC_OUTCOME_CANCELLED
                                                    : METRIC_OUTCOME_COMPLETED;
}

static str code_of(const struct turn *t, const struct err *e)
{
    if (e != NULL)
        return str_from_c(err_wire_code(e));
    if (t->has_response && t->response.status == RESPONSE_INCOMPLETE)
        return str_from_c(t->response.incomplete_reason);
    return STR("");
}

/* Codes that an upstream has made up are its status. */
static uint16_t code_word(const struct err *e, str code)
{
    return metric_word(METRIC_DOMAIN_CODE,
                       e != NULL && e->own_code[0] != '\0' ? STR("upstream") : code);
}

static void count_response(struct turn *t, unsigned outcome, uint16_t code)
{
    const uint16_t model = flight_metrics_model(&t->flight);
    const struct metric_labels labels = {
        {model, (uint16_t)outcome, code, flight_metrics_owner(&t->flight)}};

    metrics_add(metrics_of(METRIC_RESPONSES, &labels), 1);
}

/* What the limits refuse is counted by them. */
static void count_rejection(const struct turn *t, const struct err *e)
{
    if (e == NULL || err_http_status(e) >= 500 || t->flight.taken.is_refused)
        return;
    metrics_count(METRIC_REJECTED, e->code == ERR_MODEL_NOT_FOUND ? METRIC_REJECTION_MODEL
                                                                  : METRIC_REJECTION_BAD_REQUEST);
}

static void count_tokens_time(const struct turn *t, const struct flight_series *s)
{
    const int64_t n = t->response.usage.output;

    if (t->n_rounds != 1 || !t->response.usage.known || n < 2 || t->counted.first_ms == 0)
        return;
    metrics_observe(METRIC_PER_TOKEN, s->per_token,
                    1000 * (t->flight.counted.chunk_ms - t->counted.first_ms) / (uint64_t)(n - 1));
}

static struct metric_trace trace_of(const struct turn *t)
{
    struct metric_trace trace = {0, 0};

    if (!t->flight.context.is_sampled)
        return trace;
    for (size_t i = 0; i < 8; i++) {
        trace.high = trace.high << 8 | t->flight.context.trace_id[i];
        trace.low = trace.low << 8 | t->flight.context.trace_id[8 + i];
    }
    return trace;
}

static void count_times(struct turn *t, const struct err *e)
{
    struct flight_series *s = flight_metrics_series(&t->flight);

    if (s == NULL)
        return;
    if (e != NULL)
        metrics_observe_traced(
            METRIC_TURN_DURATION,
            flight_metrics_failed(&t->flight, METRIC_TURN_DURATION, str_from_c(err_wire_code(e))),
            passed_us(t), trace_of(t));
    else
        metrics_observe_traced(METRIC_TURN_DURATION, s->turn_duration, passed_us(t), trace_of(t));
    metrics_observe(METRIC_ROUNDS, s->rounds, t->n_rounds);
    if (t->counted.first_ms != 0)
        metrics_observe_traced(METRIC_FIRST_TOKEN, s->first_token,
                               1000 * (t->counted.first_ms - t->flight.start_ms), trace_of(t));
    if (e == NULL)
        count_tokens_time(t, s);
}

/* Calls that the client has declined in this request. */
static size_t n_declined(const struct turn *t)
{
    size_t n = 0;

    for (const struct item *it = t->request.items.first; it != NULL; it = it->next)
        n += it->is_declined;
    return n;
}

static void count_flaws(const struct turn *t)
{
    const struct turn_flaws flaws = turn_flaws(t);
    const unsigned n_results = METRIC_REPAIR_RESULT_FAILED + 1;

    turn_call_metrics_refused(n_declined(t));
    metrics_add(metrics_at(METRIC_UNKNOWN_FIELDS, 0), t->request.extra.n_ignored);
    metrics_add(metrics_at(METRIC_DROPPED_ITEMS, METRIC_DROPPED_OTHER), t->request.n_ignored_items);
    metrics_add(
        metrics_at(METRIC_REPAIRS, METRIC_REPAIR_HISTORY * n_results + METRIC_REPAIR_RESULT_OK),
        t->history_repairs.n);
    metrics_add(
        metrics_at(METRIC_REPAIRS, METRIC_REPAIR_HARMONY * n_results + METRIC_REPAIR_RESULT_OK),
        flaws.n_repairs);
}

/* What is put in the queue is counted when it has run. */
static bool is_counted(const struct turn *t, const struct err *e)
{
    return metrics_are_on && !t->is_count &&
           !(t->has_response && e == NULL && t->response.status == RESPONSE_QUEUED);
}

void turn_metrics_answer(struct turn *t, const struct err *e)
{
    if (!is_counted(t, e))
        return;
    name_model(t);
    peer_count_model(t->flight.peer, flight_metrics_model(&t->flight));
}

void turn_metrics_end(struct turn *t, const struct err *e)
{
    if (!is_counted(t, e))
        return;
    name_model(t);
    turn_metrics_events(t);
    count_flaws(t);
    count_response(t, outcome_of(t, e), code_word(e, code_of(t, e)));
    if (t->has_response)
        count_times(t, e);
    else
        count_rejection(t, e);
}

static unsigned phase_of(const struct turn *t)
{
    switch ((enum turn_state)t->flight.stage) {
    case TURN_ROUTE:
    case TURN_RECOGNISE:
    case TURN_ADMIT:
    case TURN_ADMIT_SUMMARY:
        return METRIC_PHASE_QUEUE;
    case TURN_LOAD:
    case TURN_RESOLVE:
    case TURN_ACCEPT:
    case TURN_RECORD:
    case TURN_SAVE:
        return METRIC_PHASE_STORE;
    case TURN_TOOLS:
    case TURN_LIST:
    case TURN_OFFER:
    case TURN_APPROVED:
    case TURN_CALLS:
        return METRIC_PHASE_TOOLS;
    default:
        return t->counted.first_ms == 0 ? METRIC_PHASE_PROMPT : METRIC_PHASE_STREAM;
    }
}

void turn_metrics_gone(struct turn *t)
{
    if (!metrics_are_on || t->is_count)
        return;
    name_model(t);
    turn_metrics_events(t);
    count_flaws(t);
    count_response(t, METRIC_OUTCOME_CLIENT_GONE, METRIC_WORD_NONE);
    metrics_count(METRIC_DISCONNECTS, phase_of(t));
}
