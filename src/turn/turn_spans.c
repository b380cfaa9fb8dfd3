/* turn_spans.c -- attributes, by the names of the conventions for generative AI. */
#include "turn/turn_spans.h"

#include <stdio.h>

#include "flight/flight_spans.h"
#include "json/json_read.h"
#include "json/json_write.h"
#include "trace/span_content.h"
#include "turn/turn_internal.h"
#include "upstream/upstream_options.h"

/* ---- a question */

static void add_number(struct span *s, const char *key, str raw)
{
    if (!str_is_none(raw) && jr_type_of(raw) == JR_NUMBER)
        span_double(s, key, jr_number_value(raw));
}

static void add_question(struct span *s, const struct turn_question *q)
{
    const struct responses_request *r = q->request;
    const bool is_json = !str_is_none(r->format.type) && !str_eq(r->format.type, STR("text"));

    if (s == NULL)
        return;
    span_bool(s, "gen_ai.request.stream", true); /* rounds are streams, whatever the client wants */
    if (r->max_output_tokens > 0)
        span_int(s, "gen_ai.request.max_tokens", r->max_output_tokens);
    add_number(s, "gen_ai.request.temperature", r->temperature);
    add_number(s, "gen_ai.request.top_p", r->top_p);
    add_number(s, "gen_ai.request.frequency_penalty", r->frequency_penalty);
    add_number(s, "gen_ai.request.presence_penalty", r->presence_penalty);
    span_text(s, "gen_ai.output.type", is_json ? STR("json") : STR("text"));
}

static bool captures(const struct turn *t)
{
    return tracer_conf(t->flight.worker->tracer)->captures;
}

static void keep_content(const struct turn *t, struct span *s)
{
    if (captures(t))
        span_content_keep(s, buf_str(&t->chat_body));
}

void turn_spans_ask(struct turn *t)
{
    const struct turn_question q = {.request = &t->request,
                                    .profile = &t->profile,
                                    .chat = &t->chat,
                                    .conversation = &t->conversation};
    struct flight *f = &t->flight;
    struct span *s;

    if (f->spans == NULL)
        return;
    s = flight_spans_round(f, "chat", turn_upstream_model(t));
    add_question(s, &q);
    keep_content(t, s);
    span_int(s, "antiphon.round", (int64_t)t->n_rounds + 1);
}

void turn_spans_ask_summary(struct turn *t, const struct turn_question *q)
{
    struct flight *f = &t->flight;
    struct span *s;

    if (f->spans == NULL)
        return;
    s = flight_spans_round(f, "chat",
                           str_is_none(q->chat->model)
                               ? upstream_model_name(f->upstream->config, q->request, &f->arena)
                               : q->chat->model);
    add_question(s, q);
    keep_content(t, s);
}

/* ---- its answer */

static const char *finish_word(enum finish finish)
{
    static const char *const words[] = {
        [FINISH_STOP] = "stop",
        [FINISH_TOOL_CALLS] = "tool_calls",
        [FINISH_LENGTH] = "length",
        [FINISH_CONTENT_FILTER] = "content_filter",
    };

    return words[finish];
}

static void add_usage(struct span *s, const struct usage *u)
{
    if (s == NULL || !u->known)
        return;
    span_int(s, "gen_ai.usage.input_tokens", u->input);
    span_int(s, "gen_ai.usage.output_tokens", u->output);
    span_int(s, "gen_ai.usage.cache_read.input_tokens", u->cached);
    span_int(s, "gen_ai.usage.cache_creation.input_tokens", u->cache_write);
    span_int(s, "gen_ai.usage.reasoning.output_tokens", u->reasoning);
}

/* A refusal is called by its status, all else by its code. */
static str failure_word(const struct flight *f, const struct err *e, char out[16])
{
    if (f->answer.status < 400)
        return str_from_c(err_wire_code(e));
    (void)snprintf(out, 16, "%d", f->answer.status);
    return str_from_c(out);
}

static void end_round(struct turn *t, const struct chat_stream *stream, const struct err *failure,
                      enum finish finish)
{
    struct flight *f = &t->flight;
    struct span *s = flight_round_span(f);
    char text[16];

    if (s == NULL)
        return;
    add_usage(s, &stream->reader.usage);
    if (failure == NULL && finish != FINISH_NONE)
        span_texts(s, "gen_ai.response.finish_reasons", str_from_c(finish_word(finish)));
    flight_spans_round_end(f, failure == NULL ? STR_NONE : failure_word(f, failure, text));
}

/* The model's texts of the round, as the response has them: escaped, so only copied. */
static void write_said(const struct turn *t, struct jw *w)
{
    const size_t most = tracer_conf(t->flight.worker->tracer)->limits.value_bytes;

    for (const struct output_item *i = *t->round_start; i != NULL && w->out->len <= most;
         i = i->next) {
        for (const struct output_part *p = i->first; p != NULL && w->out->len <= most;
             p = p->next) {
            jw_object(w);
            jw_key_string(w, "type", i->kind == OUTPUT_REASONING ? STR("reasoning") : STR("text"));
            jw_key_escaped(w, "content", buf_str(&p->text));
            jw_object_end(w);
        }
        if (str_is_none(i->call_id) && str_is_none(i->upstream_id))
            continue;
        jw_object(w);
        jw_key_string(w, "type", STR("tool_call"));
        jw_key_escaped(w, "id", i->call_id.len > 0 ? i->call_id : i->upstream_id);
        jw_key_escaped(w, "name", i->name);
        jw_key_escaped(w, "arguments", buf_str(&i->text));
        jw_object_end(w);
    }
}

static void add_said(const struct turn *t, struct span *s)
{
    struct buf text = {.limit = 0};
    struct jw writer = jw_to(&text), *w = &writer;

    jw_array(w);
    jw_object(w);
    jw_key_string(w, "role", STR("assistant"));
    jw_key(w, "parts");
    jw_array(w);
    write_said(t, w);
    jw_array_end(w);
    if (!t->result.failed && t->result.finish != FINISH_NONE)
        jw_key_string(w, "finish_reason", str_from_c(finish_word(t->result.finish)));
    jw_object_end(w);
    jw_array_end(w);
    if (!buf_failed(&text))
        span_text(s, "gen_ai.output.messages", buf_str(&text));
    buf_fini(&text);
}

void turn_spans_heard(struct turn *t)
{
    const bool is_refused = !upstream_answer_is_good(&t->flight.answer);

    if (flight_round_span(&t->flight) == NULL)
        return;
    if (!is_refused && captures(t))
        add_said(t, flight_round_span(&t->flight));
    end_round(t, &t->round.stream, is_refused || t->result.failed ? &t->result.error : NULL,
              t->result.finish);
}

void turn_spans_heard_summary(struct turn *t, const struct chat_stream *said,
                              const struct err *failure)
{
    if (flight_round_span(&t->flight) != NULL)
        end_round(t, said, failure, FINISH_STOP);
}

/* ---- the whole */

static const char *outcome_word(const struct turn *t, const struct err *e, bool is_gone)
{
    static const char *const words[] = {
        [RESPONSE_IN_PROGRESS] = "completed", [RESPONSE_COMPLETED] = "completed",
        [RESPONSE_FAILED] = "failed",         [RESPONSE_INCOMPLETE] = "incomplete",
        [RESPONSE_QUEUED] = "queued",         [RESPONSE_CANCELLED] = "cancelled",
    };

    if (is_gone)
        return t->run != NULL ? "cancelled" : "client_gone";
    if (!t->has_response)
        return e == NULL ? "completed" : "rejected";
    return e != NULL ? "failed" : words[t->response.status];
}

/* A chain is named by its first response alone: the others know only the one before. */
static str conversation_id(const struct turn *t)
{
    if (!str_is_none(t->conversation_id))
        return t->conversation_id;
    return str_is_none(t->previous_id) ? id_str(&t->response.id) : STR_NONE;
}

static void add_turn(const struct turn *t, struct span *span)
{
    span_text(span, "openai.api.type", STR("responses"));
    if (!str_is_none(t->request.model)) {
        span_text(span, "gen_ai.operation.name", STR("chat"));
        span_escaped(span, "gen_ai.request.model", t->request.model);
    }
    if (!t->has_response || t->is_count)
        return;
    span_text(span, "gen_ai.response.id", id_str(&t->response.id));
    span_text(span, "gen_ai.conversation.id", conversation_id(t));
    add_usage(span, &t->response.usage);
    span_int(span, "antiphon.rounds", t->response.n_rounds);
    span_bool(span, "antiphon.store", t->request.store);
    span_bool(span, "antiphon.background", t->run != NULL || t->request.background);
}

static int status_of(const struct turn *t, const struct err *e, bool is_gone)
{
    if (t->run != NULL)
        return 0;
    if (t->is_begun)
        return 200;
    if (is_gone)
        return 0;
    return e != NULL ? err_http_status(e) : 200;
}

void turn_spans_end(struct turn *t, const struct err *e, bool is_gone)
{
    struct span *span = flight_span(&t->flight);
    const char *outcome = outcome_word(t, e, is_gone);
    str why = STR_NONE;

    if (span == NULL)
        return;
    add_turn(t, span);
    span_text(span, "antiphon.outcome", str_from_c(outcome));
    if (is_gone || (t->has_response && t->response.status == RESPONSE_CANCELLED))
        why = str_from_c(outcome);
    else if (e != NULL)
        why = str_from_c(err_wire_code(e));
    flight_spans_outcome(&t->flight, status_of(t, e, is_gone), why);
}
