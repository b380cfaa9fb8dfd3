/* turn_answer.c -- what the client gets: an error, an object, or a stream.
 *
 * Events are gathered in the worker's buffer and leave in one system call for
 * each read of the upstream. A stream that says nothing is kept alive by
 * comments, and by an event now and then for clients that count only those. */
#include <stdlib.h>

#include "turn/turn_internal.h"
#include "turn/turn_log.h"

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

struct turn_summary turn_summarize(const struct turn *t)
{
    const struct turn_flaws flaws = turn_flaws(t);

    return (struct turn_summary){
        .request_id = t->flight.request_id,
        .client = t->flight.client,
        .owner = t->flight.caller.name,
        .model = t->request.model,
        .upstream_status = t->flight.answer.status,
        .phase = t->flight.answer.phase,
        .upstream_bytes = t->flight.answer.n_bytes,
        .first_byte_ms =
            t->flight.first_byte_ms == 0 ? 0 : t->flight.first_byte_ms - t->flight.start_ms,
        .total_ms = now_ms(t) - t->flight.start_ms,
        .response = t->has_response ? &t->response : NULL,
        .ignored_fields = t->request.extra.n_ignored,
        .ignored_items = t->request.n_ignored_items,
        .n_shortened = t->n_shortened,
        .n_left_out = t->n_left_out,
        .skipped_chunks = flaws.skipped_chunks,
        .n_put_back = t->request.n_put_back,
        .n_repairs = flaws.n_repairs,
        .repair = flaws.repair,
        .history_repairs = t->history_repairs,
        .not_stored = t->not_stored,
        .is_count = t->is_count,
        .input_tokens = t->context.tokens,
    };
}

static void log_end(const struct turn *t, const struct err *e)
{
    struct turn_summary s = turn_summarize(t);

    s.error = e;
    turn_log(&s);
}

static void end_answer(struct turn *t)
{
    turn_answered(&t->flight,
                  t->has_round ? t->round.stream.body.is_done : turn_has_heard_summary(t));
}

/* ---- answers without a stream */

void turn_answer_error(struct turn *t, const struct err *e)
{
    turn_unlock(t);
    log_end(t, e);
    peer_respond_error(t->flight.peer, e);
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
    const struct http_header head[] = {{STR("content-type"), STR("application/json")},
                                       left_out_header(t)};
    const size_t n_head = str_is_none(head[1].value) ? 1 : 2;
    struct err e;

    if (buf_failed(object)) {
        err_set_no_memory(&e);
        turn_answer_error(t, &e);
        return;
    }
    log_end(t, NULL);
    if (object->len < WORKER_LARGE_BYTES)
        peer_respond(t->flight.peer, 200, head, n_head, buf_str(object));
    else
        peer_respond_taken(t->flight.peer, 200, head, n_head, object);
    buf_fini(object);
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

    if (!t->is_begun || !flight_has_client(&t->flight) || (out->len == 0 && !buf_failed(out)))
        return;
    if (buf_failed(out)) {
        break_off_answer(t); /* events are missing: better no end of the stream than a wrong one */
        return;
    }
    t->flight.last_write_ms = t->last_event_ms = now_ms(t);
    peer_write(t->flight.peer, buf_str(out));
    buf_reset(out);
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
}

/* ---- signs of life */

void turn_keep_alive(struct turn *t)
{
    const uint64_t interval_ms = t->flight.worker->config->keepalive_interval_ms;
    uint64_t next_ms = 0;

    if (flight_is_due(&t->flight, &t->last_event_ms, interval_ms, &next_ms)) {
        response_keepalive(&t->response, turn_fresh_out(t));
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
}

void turn_answer_stream(struct turn *t, const struct err *e)
{
    struct buf *out = &t->flight.worker->out;

    log_end(t, e);
    if (t->large.len > 0)
        peer_write_taken(t->flight.peer, &t->large);
    if (buf_failed(out) || buf_failed(&t->large))
        peer_abort(t->flight.peer);
    else
        peer_end(t->flight.peer, buf_str(out));
    buf_reset(out);
    worker_shrink_out(t->flight.worker);
    end_answer(t);
}
