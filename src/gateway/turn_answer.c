/* turn_answer.c -- what the client gets: an error, an object, or a stream.
 *
 * Events are gathered in the worker's buffer and leave in one system call for
 * each read of the upstream. A stream that says nothing is kept alive by
 * comments, and by an event now and then for clients that count only those. */
#include <stdlib.h>

#include "gateway/turn_internal.h"
#include "gateway/turn_log.h"

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
        .n_shortened = t->n_shortened,
        .n_left_out = t->n_left_out,
        .skipped_chunks = flaws.skipped_chunks,
        .n_put_back = t->request.n_put_back,
        .n_repairs = flaws.n_repairs,
        .repair = flaws.repair,
        .history_repairs = t->history_repairs,
        .not_stored = t->not_stored,
    };
}

static void log_end(const struct turn *t, const struct err *e)
{
    struct turn_summary s = turn_summarize(t);

    s.error = e;
    turn_log(&s);
}

static void answered(struct turn *t)
{
    turn_move(t, TURN_DONE);
    flight_answered(&t->flight, t->has_round && t->round.stream.body.is_done);
}

/* ---- answers without a stream */

void turn_answer_error(struct turn *t, const struct err *e)
{
    turn_unlock(t);
    log_end(t, e);
    http_exchange_respond_error(t->flight.x, e, NULL, 0);
    answered(t);
}

void turn_refuse(struct turn *t, const struct err *e)
{
    if (t->is_begun)
        turn_fail(t, e);
    else
        turn_answer_error(t, e);
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

static void respond_object(struct turn *t, struct buf *body)
{
    const struct http_header head[] = {{STR("content-type"), STR("application/json")},
                                       left_out_header(t)};
    const size_t n_head = str_is_none(head[1].value) ? 1 : 2;

    if (buf_failed(body)) {
        struct err e;

        err_set_no_memory(&e);
        turn_answer_error(t, &e);
    } else {
        log_end(t, NULL);
        if (body->len < WORKER_LARGE_BYTES)
            http_exchange_respond(t->flight.x, 200, head, n_head, buf_str(body));
        else
            http_exchange_respond_taken(t->flight.x, 200, head, n_head, body);
        buf_fini(body);
        answered(t);
    }
}

/* ---- streams */

/* Events are missing: better no end of the stream than a wrong one. */
static bool is_broken(struct turn *t)
{
    if (!buf_failed(&t->flight.worker->out))
        return false;
    http_exchange_abort(t->flight.x);
    answered(t);
    return true;
}

void turn_send_events(struct turn *t)
{
    struct buf *out = &t->flight.worker->out;

    if (is_broken(t) || out->len == 0)
        return;
    t->flight.last_write_ms = t->last_event_ms = now_ms(t);
    http_exchange_write(t->flight.x, buf_str(out));
}

void turn_send_large(struct turn *t)
{
    if (t->large.len == 0 && !buf_failed(&t->large))
        return;
    turn_begin_stream(t);
    if (buf_failed(&t->large)) {
        http_exchange_abort(t->flight.x);
        answered(t);
        return;
    }
    t->flight.last_write_ms = t->last_event_ms = now_ms(t);
    http_exchange_write_taken(t->flight.x, &t->large);
}

struct buf *turn_fresh_out(struct turn *t)
{
    if (!t->request.stream)
        return NULL;
    buf_reset(&t->flight.worker->out);
    return &t->flight.worker->out;
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
    if (t->flight.x != NULL)
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
    const size_t n_head = sizeof(head) / sizeof(*head);
    struct buf *out;

    if (t->is_begun)
        return;
    t->is_begun = true;
    out = turn_fresh_out(t); /* another turn's last events may be in it */
    http_exchange_start(t->flight.x, 200, head,
                        str_is_none(head[n_head - 1].value) ? n_head - 1 : n_head);
    if (t->opening.len > 0)
        http_exchange_write_taken(t->flight.x, &t->opening);
    else
        response_start(&t->response, out);
    t->flight.last_write_ms = t->last_event_ms = now_ms(t);
    turn_keep_alive(t); /* finds out when to look again */
    if (!is_broken(t))
        http_exchange_write_soon(t->flight.x, buf_str(out));
}

/* The stream's last events are in the buffer. */
static void finish_stream(struct turn *t, const struct err *e)
{
    struct buf *out = &t->flight.worker->out;

    log_end(t, e);
    if (t->large.len > 0)
        http_exchange_write_taken(t->flight.x, &t->large);
    if (buf_failed(out))
        http_exchange_abort(t->flight.x);
    else
        http_exchange_end(t->flight.x, buf_str(out));
    worker_shrink_out(t->flight.worker);
    answered(t);
}

/* ---- whichever it is */

static const struct err *response_error(const struct turn *t)
{
    return t->response.status == RESPONSE_FAILED ? t->response.error : NULL;
}

/* The last event, or the object, is written and sent. */
static int write_end(struct turn *t, struct err *reterr)
{
    (void)reterr;
    if (t->is_begun)
        response_end(&t->response, &t->large);
    else
        response_object(&t->response, &t->large);
    return 0;
}

static int send_end(struct turn *t, struct err *reterr)
{
    (void)reterr;
    if (t->flight.x == NULL)
        return 0;
    if (!t->is_begun) {
        respond_object(t, &t->large);
        return 0;
    }
    (void)turn_fresh_out(t);
    t->flight.worker->out.failed = buf_failed(&t->large);
    finish_stream(t, response_error(t));
    return 0;
}

/* Much is not written in the loop, and leaves behind what is in the buffer. */
static void conclude_large(struct turn *t)
{
    static const struct turn_step step = {"concluded", write_end, send_end, false, true};
    struct err e;

    if (t->is_begun)
        turn_send_events(t);
    if (t->flight.x == NULL || turn_step(t, SIZE_MAX, &step, &e) == 0)
        return;
    if (t->is_begun) {
        http_exchange_abort(t->flight.x);
        answered(t);
    } else {
        turn_answer_error(t, &e);
    }
}

/* The response is stored, or is not to be. Its conversation is free before the client
 * has the answer, which may come back to it at once, by way of another worker. */
static void conclude(struct turn *t)
{
    const struct err *e = response_error(t);

    turn_unlock(t);
    if (!t->is_begun && e != NULL) {
        turn_answer_error(t, e); /* nothing has been seen of the response: it is an HTTP error */
    } else if (t->echo.len + t->response.used_bytes >= WORKER_LARGE_BYTES) {
        conclude_large(t);
    } else if (t->is_begun) {
        response_end(&t->response, &t->flight.worker->out);
        finish_stream(t, e);
    } else {
        (void)write_end(t, NULL);
        (void)send_end(t, NULL);
    }
}

void turn_on_saved(struct turn *t, const struct err *failure)
{
    struct buf *out = turn_fresh_out(t);

    t->not_stored = NULL;
    if (failure != NULL) {
        turn_keep_failure(t, failure);
        t->not_stored = t->failure;
    }
    if (failure != NULL && t->flight.worker->config->store_failure == CONFIG_STORE_FAILURE_FAIL)
        response_fail(&t->response, failure, out);
    conclude(t);
}

void turn_finish(struct turn *t)
{
    /* Of what fails without a stream the client never learns an id. */
    bool is_seen = t->is_begun || t->response.status != RESPONSE_FAILED;
    bool is_kept = t->request.store && is_seen;

    if (!is_kept && str_is_none(t->lock)) {
        conclude(t);
        return;
    }
    turn_move(t, TURN_SAVE);
    if (t->is_begun)
        turn_send_events(t);
    if (t->flight.x == NULL)
        return;
    if (is_kept)
        turn_save(t);
    else
        turn_release(t);
}

/* Before the client has seen anything it is an HTTP error, which SDKs retry. */
void turn_fail(struct turn *t, const struct err *e)
{
    if (t->flight.x == NULL || t->state == TURN_SAVE)
        return;
    turn_cancel_calls(t);
    turn_cancel_tools(t);
    if (!t->has_response || t->state == TURN_LOAD || (!t->is_begun && str_is_none(t->lock))) {
        turn_answer_error(t, e); /* unlocks */
        return;
    }
    response_fail(&t->response, e, turn_fresh_out(t));
    turn_finish(t);
}
