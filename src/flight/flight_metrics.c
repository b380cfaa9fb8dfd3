/* flight_metrics.c -- calls of the upstream as they begin, go on and end. */
#include "flight/flight_metrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/url.h"
#include "flight/flight.h"
#include "flight/reach.h"
#include "flight/worker.h"
#include "http/http_client.h"
#include "upstream/upstream_outcome.h"
#include "upstream/upstream_table.h"

static uint64_t now_ms(const struct flight *f)
{
    return loop_now_ms(f->worker->loop);
}

static uint32_t now_s(const struct flight *f)
{
    return (uint32_t)(now_ms(f) / 1000);
}

/* ---- labels */

static str provider_of(const struct upstream_entry *u)
{
    return upstream_table_provider(u, str_eq(str_from_c(u->config->upstream_kind), STR("openai")));
}

void flight_metrics_label(struct flight_labels *l, const struct upstream_entry *u)
{
    const struct url url = url_split(u->base);
    const uint16_t default_port = str_eq_nocase(url.scheme, STR("https")) ? 443 : 80;

    l->upstream = metric_word(METRIC_DOMAIN_UPSTREAM, u->name);
    l->provider = metric_word(METRIC_DOMAIN_PROVIDER, provider_of(u));
    l->address = metric_word(METRIC_DOMAIN_ADDRESS, str_is_none(url.host) ? u->base : url.host);
    if (str_is_none(url.host) || !url_port(&url, default_port, &l->port))
        l->port = 0;
}

/* ---- the series of a model */

static metric_cell *tokens_of(const struct flight_labels *l, uint16_t model, unsigned kind,
                              uint16_t owner)
{
    const struct metric_labels labels = {{model, l->upstream, (uint16_t)kind, owner}};

    return metrics_of(METRIC_TOKENS, &labels);
}

static void find_cells(const struct flight_labels *l, struct flight_series *s)
{
    const struct metric_labels turn = {{s->operation, l->provider, s->model}};
    const struct metric_labels call = {{s->operation, l->provider, s->model, l->address, l->port}};

    s->turn_duration = metrics_of(METRIC_TURN_DURATION, &turn);
    s->first_token = metrics_of(METRIC_FIRST_TOKEN, &turn);
    s->per_token = metrics_of(METRIC_PER_TOKEN, &turn);
    s->round_duration = metrics_of(METRIC_ROUND_DURATION, &call);
    s->first_chunk = metrics_of(METRIC_FIRST_CHUNK, &call);
    s->per_chunk = metrics_of(METRIC_PER_CHUNK, &call);
    for (unsigned type = 0; type < COUNT_OF(s->usage); type++) {
        struct metric_labels usage = call;

        usage.v[5] = (uint16_t)type;
        s->usage[type] = metrics_of(METRIC_TOKEN_USAGE, &usage);
    }
    for (unsigned kind = 0; kind < COUNT_OF(s->tokens); kind++)
        s->tokens[kind] = tokens_of(l, s->model, kind, 0);
    s->usage_unknown =
        metrics_of(METRIC_USAGE_UNKNOWN, &(struct metric_labels){{s->model, l->upstream}});
    s->rounds = metrics_of(METRIC_ROUNDS, &(struct metric_labels){{s->model}});
}

/* Puts the series where it is found first the next time. */
static struct flight_series *use_series(struct flight_labels *l, uint16_t model, uint16_t operation)
{
    struct flight_series **link = &l->first, *s;

    while (*link != NULL && ((*link)->model != model || (*link)->operation != operation))
        link = &(*link)->next;
    s = *link;
    if (s == l->first && s != NULL)
        return s;
    if (s != NULL) {
        *link = s->next;
    } else {
        s = calloc(1, sizeof(*s));
        if (s == NULL)
            return NULL;
        s->model = model;
        s->operation = operation;
        find_cells(l, s);
    }
    s->next = l->first;
    l->first = s;
    return s;
}

void flight_metrics_forget(struct flight_labels *l)
{
    struct flight_series *s = l->first;

    while (s != NULL) {
        struct flight_series *next = s->next;

        free(s);
        s = next;
    }
    l->first = NULL;
}

uint16_t flight_metrics_model(struct flight *f)
{
    if (f->counted.model_id <= METRIC_WORD_OTHER)
        f->counted.model_id = metric_model(f->counted.model, now_s(f));
    return f->counted.model_id;
}

struct flight_series *flight_metrics_series(struct flight *f)
{
    if (metrics_are_on && f->counted.series == NULL)
        f->counted.series =
            use_series(&f->reach->labels, flight_metrics_model(f), f->counted.operation);
    return f->counted.series;
}

uint16_t flight_metrics_owner(const struct flight *f)
{
    const str name = f->caller.name;

    if (!f->worker->config->metrics_owner)
        return METRIC_WORD_NONE;
    return metric_word(METRIC_DOMAIN_OWNER, name.len > 0 ? name : STR("_none"));
}

metric_cell *flight_metrics_failed(struct flight *f, enum metric m, str error)
{
    const struct flight_labels *l = &f->reach->labels;
    const uint16_t word = metric_word(METRIC_DOMAIN_CODE, error);
    struct metric_labels labels = {
        {f->counted.operation, l->provider, flight_metrics_model(f), word}};

    if (m == METRIC_ROUND_DURATION) {
        labels.v[3] = l->address;
        labels.v[4] = l->port;
        labels.v[5] = word;
    }
    return metrics_of(m, &labels);
}

/* ---- a call */

static void count_attempt(const struct flight *f, unsigned result)
{
    const struct metric_labels labels = {{f->reach->labels.upstream, (uint16_t)result}};

    metrics_add(metrics_of(METRIC_ATTEMPTS, &labels), 1);
}

static void count_phase(const struct flight *f, unsigned phase, uint64_t passed_ms)
{
    const struct metric_labels labels = {{f->reach->labels.upstream, (uint16_t)phase}};

    metrics_observe(METRIC_ATTEMPT_SECONDS, metrics_of(METRIC_ATTEMPT_SECONDS, &labels),
                    1000 * passed_ms);
}

static void count_passed(const struct flight *f, unsigned phase)
{
    count_phase(f, phase, now_ms(f) - f->counted.call_ms);
}

static void count_connecting(const struct flight *f)
{
    uint64_t passed_ms;

    if (f->call != NULL && http_call_connect_time(f->call, &passed_ms))
        count_phase(f, METRIC_ATTEMPT_PHASE_CONNECT, passed_ms);
}

static void move_running(const struct flight *f, int n)
{
    const struct metric_labels running = {{f->reach->labels.upstream}};

    metrics_add(metrics_of(METRIC_IN_FLIGHT, &running), (uint64_t)(int64_t)n);
}

void flight_metrics_connection(void *arg, bool is_idle, int n)
{
    const struct reach *r = arg;
    const struct metric_labels labels = {
        {r->labels.upstream, is_idle ? METRIC_ACTIVITY_IDLE : METRIC_ACTIVITY_ACTIVE}};

    metrics_add(metrics_of(METRIC_UPSTREAM_CONNECTIONS, &labels), (uint64_t)(int64_t)n);
}

static uint16_t operation_of(str path)
{
    if (str_eq(path, STR("/embeddings")))
        return METRIC_OPERATION_EMBEDDINGS;
    return str_eq(path, STR("/completions")) ? METRIC_OPERATION_TEXT_COMPLETION
                                             : METRIC_OPERATION_CHAT;
}

void flight_metrics_begin(struct flight *f, str path)
{
    struct flight_counted *c = &f->counted;

    if (!metrics_are_on)
        return;
    if (c->operation != operation_of(path))
        c->series = NULL;
    c->operation = operation_of(path);
    c->is_called = true;
    c->is_said = c->has_body = false;
    c->status = 0;
    c->call_ms = now_ms(f);
    move_running(f, 1);
}

void flight_metrics_head(struct flight *f, int status)
{
    struct flight_counted *c = &f->counted;

    if (!c->is_called)
        return;
    c->status = status;
    count_connecting(f);
    count_passed(f, METRIC_ATTEMPT_PHASE_FIRST_BYTE);
    if (status < 200 || status > 299 || c->model_id > METRIC_WORD_OTHER)
        return;
    c->model_id = metric_model_learn(c->model, false, now_s(f));
    c->series = NULL;
}

static unsigned result_of(const struct flight *f, const struct err *failure)
{
    struct upstream_answer answer = {.status = f->counted.status};

    if (failure != NULL)
        upstream_answer_failed(&answer, f->call);
    return upstream_outcome_row(upstream_outcome_of(&answer, failure))->result;
}

static void count_round(struct flight *f, const struct err *failure)
{
    const uint64_t passed = 1000 * (now_ms(f) - f->counted.call_ms);
    struct flight_series *s = flight_metrics_series(f);
    metric_cell *cells = s == NULL ? NULL : s->round_duration;
    char status[16];

    if (f->counted.status >= 400) {
        (void)snprintf(status, sizeof(status), "%d", f->counted.status);
        cells = flight_metrics_failed(f, METRIC_ROUND_DURATION, str_from_c(status));
    } else if (failure != NULL) {
        cells = flight_metrics_failed(f, METRIC_ROUND_DURATION, str_from_c(err_wire_code(failure)));
    }
    metrics_observe(METRIC_ROUND_DURATION, cells, passed);
}

/* Counts what the pace has summed up. */
static void flush_pace(struct flight *f)
{
    struct flight_pace *p = &f->counted.pace;
    struct flight_series *s = p->n + p->n_close == 0 ? NULL : flight_metrics_series(f);

    if (s != NULL) {
        metrics_observe_some(METRIC_PER_CHUNK, s->per_chunk, 1000 * p->least_ms, p->n,
                             1000 * p->sum_ms);
        metrics_observe_some(METRIC_PER_CHUNK, s->per_chunk, 0, p->n_close, 0);
    }
    *p = (struct flight_pace){.n = 0};
}

static void end_call(struct flight *f, const struct err *failure, unsigned result)
{
    f->counted.is_called = false;
    flush_pace(f);
    move_running(f, -1);
    flight_metrics_pause(f, false);
    count_attempt(f, result);
    count_passed(f, METRIC_ATTEMPT_PHASE_TOTAL);
    if (f->counted.model.len > 0)
        count_round(f, failure);
}

void flight_metrics_end(struct flight *f, const struct err *failure)
{
    if (!f->counted.is_called)
        return;
    if (f->counted.status == 0)
        count_connecting(f);
    if (f->counted.is_said)
        failure = NULL;
    end_call(f, failure, result_of(f, failure));
}

void flight_metrics_cancel(struct flight *f)
{
    static const struct err cancelled = {.code = ERR_RESPONSE_CANCELLED};

    if (!f->counted.is_called)
        return;
    if (f->counted.is_said)
        end_call(f, NULL, result_of(f, NULL));
    else
        end_call(f, &cancelled, METRIC_ATTEMPT_CANCELLED);
}

void flight_metrics_pace(struct flight *f, uint64_t passed_ms)
{
    struct flight_pace *p = &f->counted.pace;
    struct flight_series *s = flight_metrics_series(f);
    struct metric_range bucket;

    if (s == NULL)
        return;
    if (!f->counted.has_body) {
        metrics_observe(METRIC_FIRST_CHUNK, s->first_chunk,
                        1000 * (f->counted.chunk_ms - f->counted.call_ms));
        f->counted.has_body = true;
        return;
    }
    flush_pace(f);
    bucket = metric_bucket(METRIC_PER_CHUNK, 1000 * passed_ms);
    p->least_ms = (bucket.least + 999) / 1000;
    p->end_ms = (bucket.end + 999) / 1000;
    p->n = 1;
    p->sum_ms = passed_ms;
}

void flight_metrics_pause(struct flight *f, bool is_paused)
{
    if (f->counted.is_paused == is_paused)
        return;
    f->counted.is_paused = is_paused;
    metrics_move(METRIC_PAUSED, 0, is_paused ? 1 : -1);
}

/* ---- tokens */

static void count_tokens(struct flight *f, const struct flight_series *s, unsigned kind, int64_t n)
{
    const uint16_t owner = flight_metrics_owner(f);

    if (n <= 0)
        return;
    metrics_add(owner == METRIC_WORD_NONE ? s->tokens[kind]
                                          : tokens_of(&f->reach->labels, s->model, kind, owner),
                (uint64_t)n);
}

static void observe_tokens(metric_cell *cells, int64_t n)
{
    metrics_observe(METRIC_TOKEN_USAGE, cells, n < 0 ? 0 : (uint64_t)n);
}

void flight_metrics_usage(struct flight *f, const struct usage *u)
{
    struct flight_series *s = flight_metrics_series(f);

    if (s == NULL)
        return;
    if (!u->known) {
        metrics_add(s->usage_unknown, 1);
        return;
    }
    observe_tokens(s->usage[METRIC_TOKEN_TYPE_INPUT], u->input);
    observe_tokens(s->usage[METRIC_TOKEN_TYPE_OUTPUT], u->output);
    count_tokens(f, s, METRIC_TOKEN_KIND_INPUT, u->input);
    count_tokens(f, s, METRIC_TOKEN_KIND_OUTPUT, u->output);
    count_tokens(f, s, METRIC_TOKEN_KIND_CACHED, u->cached);
    count_tokens(f, s, METRIC_TOKEN_KIND_CACHE_WRITE, u->cache_write);
    count_tokens(f, s, METRIC_TOKEN_KIND_REASONING, u->reasoning);
}
