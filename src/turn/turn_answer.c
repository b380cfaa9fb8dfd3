/* turn_answer.c -- what the client gets: an error, an object, or a stream.
 *
 * Events are gathered in the worker's buffer and leave in one system call for
 * each read of the upstream. A stream that says nothing is kept alive by
 * comments, and by an event now and then for clients that count only those. */
#include <stdlib.h>

#include "ev/log.h"
#include "response/poll_after.h"
#include "resume/reader.h"
#include "turn/turn_internal.h"
#include "turn/turn_log.h"
#include "turn/turn_metrics.h"
#include "turn/turn_run.h"
#include "turn/turn_spans.h"
#include "upstream/upstream_options.h"

static uint64_t now_ms(const struct turn *t)
{
    return loop_now_ms(t->flight.worker->loop);
}

/* ---- the end */

struct turn_flaws turn_flaws(const struct turn *t)
{
    const struct model_text *text = &t->round.stream.reader.text;
    struct turn_flaws flaws = t->flaws;

    if (!t->has_round)
        return flaws;
    flaws.skipped_chunks += t->round.stream.body.n_skipped;
    flaws.n_repairs += text->n_repairs;
    if (text->last_repair != NULL)
        flaws.repair = text->last_repair;
    return flaws;
}

static const char *status_word(const struct turn *t, const struct err *e)
{
    if (!t->has_response)
        return t->is_count && e == NULL ? "counted" : "rejected";
    if (e != NULL)
        return "failed";
    switch (t->response.status) {
    case RESPONSE_INCOMPLETE:
        return "incomplete";
    case RESPONSE_QUEUED:
        return "queued";
    case RESPONSE_CANCELLED:
        return "cancelled";
    case RESPONSE_IN_PROGRESS:
    case RESPONSE_COMPLETED:
    case RESPONSE_FAILED:
        break;
    }
    return t->is_count ? "counted" : "completed";
}

static str route_of(const struct turn *t)
{
    if (t->is_count)
        return STR("/v1/responses/input_tokens");
    return t->is_compact ? STR("/v1/responses/compact") : STR("/v1/responses");
}

/* The name of the model at the upstream, if that is another one. */
static str other_model(const struct turn *t, str shown_model)
{
    const struct config *c = t->flight.worker->config;
    const str name = c->model_alias.n == 0 ? STR_NONE : upstream_name_of(c, shown_model);

    return str_is_none(name) || str_eq(name, shown_model) ? STR_NONE : name;
}

static void summarize_response(const struct turn *t, struct turn_summary *s)
{
    const struct response *r = &t->response;

    s->id = id_str(&r->id);
    s->rounds = r->n_rounds;
    s->answer_rounds = r->n_answer_rounds;
    s->summaries = r->n_summaries;
    s->dropped_calls = r->n_dropped_calls;
    turn_summary_usage(s, &r->usage);
}

/* Of work in the background: its response has an id from the start, and nobody is sent anything. */
static void summarize_run(const struct turn *t, struct turn_summary *s)
{
    s->background = true;
    s->id = t->run->work.id;
    s->queue_ms += t->run->queue_ms;
    s->bytes_in = s->bytes_out = -1;
}

static void summarize_flaws(const struct turn *t, struct turn_summary *s)
{
    const struct turn_flaws flaws = turn_flaws(t);

    s->repairs = flaws.n_repairs;
    s->repair = flaws.repair == NULL ? STR_NONE : str_from_c(flaws.repair);
    s->skipped_chunks = flaws.skipped_chunks;
    s->history_repairs = t->history_repairs.n;
    if (t->history_repairs.n != 0)
        s->history_repair = str_from_c(t->history_repairs.last);
    s->put_back = t->request.n_put_back;
    s->shortened = t->n_shortened;
    s->truncated = t->n_left_out;
    s->ignored_fields = t->request.extra.n_ignored;
    s->ignored_items = t->request.n_ignored_items;
}

/* e: why it ends badly, or NULL. */
static void summarize_turn(const struct turn *t, const struct err *e, struct turn_summary *s)
{
    turn_summary_init(s);
    turn_summary_flight(s, &t->flight);
    turn_summary_model(s, t->request.model);
    turn_summary_error(s, e, &t->flight.answer);
    summarize_flaws(t, s);
    s->route = route_of(t);
    s->upstream_model = str_is_none(s->model) ? STR_NONE : other_model(t, s->model);
    s->status = str_from_c(status_word(t, e));
    s->tool_calls = t->n_calls;
    s->tool_errors = t->n_call_errors;
    if (t->is_count && e == NULL)
        s->input_tokens = t->context.tokens;
    if (t->has_response && !t->is_count)
        summarize_response(t, s);
    if (t->not_stored != NULL)
        s->not_stored = str_from_c(t->not_stored->msg);
    s->is_trouble = s->is_trouble || t->not_stored != NULL;
    if (t->run != NULL)
        summarize_run(t, s);
}

/* What is told once a turn, at debug. */
static void log_changes(const struct turn *t)
{
    if (!log_is_on(LOG_DEBUG))
        return;
    turn_log_repairs(t->flight.request_id, &t->history_repairs);
    turn_log_unserved(t->flight.request_id, &t->request.tools);
}

static void log_end(struct turn *t, const struct err *e)
{
    struct turn_summary s;

    turn_metrics_end(t, e);
    summarize_turn(t, e, &s);
    turn_log(&s);
    turn_spans_end(t, e, false);
    log_changes(t);
}

/* Where a client has left. */
static const char *gone_phase(const struct turn *t)
{
    if (t->flight.stage >= TURN_RECORD)
        return "store";
    if (t->calls.n_running > 0)
        return "tools";
    return t->flight.first_token_ms != 0 ? "stream" : "prompt";
}

static const char *gone_word(const struct turn *t)
{
    if (t->run == NULL)
        return "client_gone";
    return t->run->wish == STORE_TAKEN ? "taken" : "deleted";
}

static void log_gone(const struct turn *t)
{
    struct turn_summary s;

    summarize_turn(t, NULL, &s);
    s.status = str_from_c(gone_word(t));
    if (t->run == NULL)
        s.phase = str_from_c(gone_phase(t));
    turn_log(&s);
    log_changes(t);
}

void turn_tell_gone(struct turn *t)
{
    if (t->flight.stage < TURN_RECORD)
        turn_leave_table(t); /* nothing more comes of it for those who read it */
    turn_give_back(t);
    turn_metrics_gone(t);
    log_gone(t);
    turn_spans_end(t, NULL, true);
}

static void end_answer(struct turn *t)
{
    turn_give_back(t);
    turn_leave_table(t);
    turn_answered(&t->flight,
                  t->has_round ? t->round.stream.body.is_done : turn_has_heard_summary(t));
}

/* ---- answers without a stream */

/* While the store works for the turn, what it has locked may be on its way to somebody else. */
void turn_answer_error(struct turn *t, const struct err *e)
{
    if (t->flight.n_tasks == 0)
        turn_unlock(t);
    turn_give_back(t);
    turn_metrics_answer(t, e);
    peer_respond_error(t->flight.peer, e);
    log_end(t, e);
    end_answer(t);
}

/* Of names that came from a client what can stand in a header, and no more than fits a line. */
static void write_left_out(const struct extra_fields *extra, struct buf *out)
{
    enum { MAX_NAME_BYTES = 64 };

    for (const struct extra_field *f = extra->left_out; f != NULL; f = f->next) {
        str name = str_from(f->name.p, f->name.len < MAX_NAME_BYTES ? f->name.len : MAX_NAME_BYTES);

        if (f != extra->left_out)
            buf_char(out, ',');
        for (size_t i = 0; i < name.len; i++)
            buf_char(out, header_is_name_char(name.p[i]) ? name.p[i] : '?');
    }
    if (extra->n_ignored > EXTRA_NAMES_LEFT_OUT)
        buf_c(out, ",...");
}

/* Which fields did not reach the upstream: the header is kept while names are (log_level debug). */
static struct http_header left_out_header(struct turn *t)
{
    struct http_header h = {STR("x-antiphon-left-out"), STR_NONE};
    struct buf names = {.limit = 0};

    if (t->request.extra.left_out == NULL)
        return h;
    write_left_out(&t->request.extra, &names);
    if (!buf_failed(&names))
        h.value = arena_dup(&t->flight.arena, buf_str(&names));
    buf_fini(&names);
    return h;
}

void turn_answer_object(struct turn *t, struct buf *object)
{
    struct http_header head[3] = {{STR("content-type"), STR("application/json")}};
    const struct http_header left_out = left_out_header(t);
    size_t n_head = 1;
    struct err e;

    if (buf_failed(object)) {
        err_set_no_memory(&e);
        turn_answer_error(t, &e);
        return;
    }
    if (!str_is_none(left_out.value))
        head[n_head++] = left_out;
    if (t->response.status == RESPONSE_QUEUED)
        head[n_head++] = (struct http_header){STR("openai-poll-after-ms"), poll_after_ms(0)};
    turn_give_back(t);
    turn_metrics_answer(t, NULL);
    if (object->len < WORKER_LARGE_BYTES)
        peer_respond(t->flight.peer, 200, head, n_head, buf_str(object));
    else
        peer_respond_taken(t->flight.peer, 200, head, n_head, object);
    buf_fini(object);
    log_end(t, NULL);
    end_answer(t);
}

/* ---- streams */

struct buf *turn_out(struct turn *t)
{
    return t->request.stream ? &t->flight.worker->out : NULL;
}

struct buf *turn_fresh_out(struct turn *t)
{
    buf_reset(&t->flight.worker->out);
    return turn_out(t);
}

/* Ends an answer that cannot be completed. */
static void break_off_answer(struct turn *t)
{
    peer_abort(t->flight.peer);
    end_answer(t);
}

void turn_send_events(void *arg)
{
    struct turn *t = arg;
    struct buf *out = &t->flight.worker->out;

    turn_serve_readers(t);
    if (t->run != NULL)
        turn_journal_note(t);
    if (!t->is_begun || !flight_has_client(&t->flight) || (out->len == 0 && !buf_failed(out)))
        return;
    if (buf_failed(out)) {
        break_off_answer(t); /* events are missing: better no end of the stream than a wrong one */
        return;
    }
    t->flight.last_write_ms = t->last_event_ms = now_ms(t);
    peer_write(t->flight.peer, buf_str(out));
    buf_reset(out);
    turn_show_sent(t);
}

void turn_send_large(struct turn *t)
{
    if (t->large.len == 0 && !buf_failed(&t->large))
        return;
    turn_begin_stream(t);
    if (!flight_has_client(&t->flight))
        return;
    if (buf_failed(&t->large)) {
        break_off_answer(t);
        return;
    }
    t->flight.last_write_ms = t->last_event_ms = now_ms(t);
    peer_write_taken(t->flight.peer, &t->large);
    turn_show_sent(t);
}

/* ---- signs of life */

/* Once it is written down which events there were, none comes to them but the last. */
static bool has_kept_events(const struct turn *t)
{
    return t->flight.stage >= TURN_RECORD && t->response.conf.keeps_cuts;
}

void turn_keep_alive(struct turn *t)
{
    const uint64_t interval_ms = t->flight.worker->config->keepalive_interval_ms;
    uint64_t next_ms = 0;

    turn_metrics_events(t);
    if (!has_kept_events(t) &&
        flight_is_due(&t->flight, &t->last_event_ms, interval_ms, &next_ms)) {
        response_keepalive(&t->response, turn_fresh_out(t));
        metrics_count(METRIC_HEARTBEATS, METRIC_HEARTBEAT_EVENT);
        turn_send_events(t);
    }
    if (flight_has_client(&t->flight))
        flight_keep_alive(&t->flight, next_ms);
}

/* ---- begin and end of a stream */

void turn_begin_stream(struct turn *t)
{
    const struct http_header head[] = {
        {STR("content-type"), STR("text/event-stream; charset=utf-8")},
        {STR("cache-control"), STR("no-cache")},
        {STR("x-accel-buffering"), STR("no")},
        left_out_header(t),
    };
    const size_t n_head = COUNT_OF(head);
    struct buf *out;

    if (t->is_begun)
        return;
    t->is_begun = true;
    out = turn_fresh_out(t); /* another turn's last events may be in it */
    peer_start(t->flight.peer, 200, head,
               str_is_none(head[n_head - 1].value) ? n_head - 1 : n_head);
    if (t->opening.len > 0)
        peer_write_taken(t->flight.peer, &t->opening);
    else
        response_start(&t->response, out);
    t->flight.last_write_ms = t->last_event_ms = now_ms(t);
    turn_keep_alive(t); /* finds out when to look again */
    if (!flight_has_client(&t->flight))
        return;
    if (buf_failed(out)) {
        break_off_answer(t);
        return;
    }
    peer_write_soon(t->flight.peer, buf_str(out));
    buf_reset(out);
    turn_enter_table(t);
    turn_show_sent(t);
}

void turn_answer_stream(struct turn *t, const struct err *e)
{
    struct buf *out = &t->flight.worker->out;

    turn_give_back(t);
    turn_metrics_answer(t, e);
    if (t->large.len > 0)
        peer_write_taken(t->flight.peer, &t->large);
    if (buf_failed(out) || buf_failed(&t->large))
        peer_abort(t->flight.peer);
    else
        peer_end(t->flight.peer, buf_str(out));
    log_end(t, e);
    buf_reset(out);
    worker_shrink_out(t->flight.worker);
    end_answer(t);
}

void turn_answer_nobody(struct turn *t, const struct err *e)
{
    if (t->run->failure == NULL && turn_run_is_unwanted(t->run))
        log_gone(t);
    else
        log_end(t, e);
    end_answer(t);
    turn_run_report(t);
}

/* ---- others than the client */

void turn_give_to_reader(struct turn *t, const struct reader_want *want)
{
    const struct peer client = t->flight.peer;
    const struct http_request *http = t->flight.http;

    log_end(t, NULL);
    end_answer(t);
    reader_start(t->flight.worker, client, http, &t->flight.caller, want);
}
