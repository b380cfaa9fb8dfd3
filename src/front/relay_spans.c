/* relay_spans.c -- attributes of relays. */
#include "front/relay_spans.h"

#include "front/front_spans.h"
#include "front/relay_internal.h"
#include "front/relay_model.h"

void relay_spans_ask(struct relay *relay, str body)
{
    struct flight *f = &relay->flight;
    const char *operation = relay_operation(f->http->path);
    str model;

    if (f->spans == NULL || operation == NULL)
        return;
    model = relay_model(body, &f->arena);
    (void)flight_spans_round(f, operation, model);
    span_text(flight_span(f), "gen_ai.operation.name", str_from_c(operation));
    span_text(flight_span(f), "gen_ai.request.model", model);
    if (str_eq(str_from_c(operation), STR("chat")))
        span_text(flight_span(f), "openai.api.type", STR("chat_completions"));
}

void relay_spans_end(struct relay *relay, const char *outcome, const struct err *e)
{
    if (relay->flight.spans != NULL)
        front_spans_end(&relay->flight, relay->status, outcome, e);
}
