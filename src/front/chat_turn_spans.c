/* chat_turn_spans.c -- attributes of chat completions with tools. */
#include "front/chat_turn_spans.h"

#include "front/chat_turn_internal.h"
#include "front/front_spans.h"
#include "json/json_text.h"
#include "wire/chunk/chat_usage.h"

void chat_turn_spans_ask(struct chat_turn *t)
{
    struct flight *f = &t->flight;
    struct span *s;
    str model;

    if (f->spans == NULL)
        return;
    model = json_text_dup(&f->arena, t->request.model);
    s = flight_spans_round(f, "chat", model);
    span_bool(s, "gen_ai.request.stream", t->request.stream);
    span_int(s, "antiphon.round", t->n_rounds);
}

static void add_usage(struct span *s, str raw)
{
    struct usage u;

    if (s == NULL || !chat_usage(raw, &u))
        return;
    span_int(s, "gen_ai.usage.input_tokens", u.input);
    span_int(s, "gen_ai.usage.output_tokens", u.output);
    span_int(s, "gen_ai.usage.cache_read.input_tokens", u.cached);
    span_int(s, "gen_ai.usage.cache_creation.input_tokens", u.cache_write);
    span_int(s, "gen_ai.usage.reasoning.output_tokens", u.reasoning);
}

void chat_turn_spans_heard(struct chat_turn *t)
{
    if (flight_round_span(&t->flight) == NULL)
        return;
    add_usage(flight_round_span(&t->flight), buf_str(&t->merge.round_usage));
    front_spans_heard(&t->flight, t->failure);
}

void chat_turn_spans_end(struct chat_turn *t, const char *outcome, const struct err *e)
{
    struct span *s = flight_span(&t->flight);
    int status = 0;

    if (s == NULL)
        return;
    span_text(s, "openai.api.type", STR("chat_completions"));
    span_text(s, "gen_ai.operation.name", STR("chat"));
    span_escaped(s, "gen_ai.request.model", t->request.model);
    span_int(s, "antiphon.rounds", t->n_rounds);
    if (t->is_begun)
        status = t->flight.answer.status;
    else if (e != NULL)
        status = err_http_status(e);
    else if (flight_has_client(&t->flight))
        status = 200;
    front_spans_end(&t->flight, status, outcome, e);
}
