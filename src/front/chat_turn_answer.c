/* chat_turn_answer.c -- what the client of a chat turn gets: a stream, a completion, an
 * error of the gateway's, or an answer of the upstream's as it is. */
#include "flight/flight_limits.h"
#include "front/chat_turn_internal.h"
#include "front/chat_turn_spans.h"
#include "front/relay_headers.h"
#include "turn/turn_log.h"
#include "wire/chunk/chat_usage.h"

/* ---- the end */

static void answered(struct chat_turn *t)
{
    worker_shrink_out(t->flight.worker);
    turn_answered(&t->flight, t->merge.body.is_done);
}

static str end_status(const struct chat_turn *t, const char *status)
{
    const bool is_refused = strcmp(status, "relayed") == 0 && t->flight.answer.status >= 400;

    return is_refused ? STR("failed") : str_from_c(status);
}

/* What its rounds have cost together; it is told at the end alone. */
static void count_usage(struct chat_turn *t, const struct usage *u)
{
    if (!metrics_are_on || t->n_rounds == 0)
        return;
    flight_metrics_usage(&t->flight, u);
    peer_count_model(t->flight.peer, flight_metrics_model(&t->flight));
}

/* The answer is about to be over: gives back what was taken of the caller's limits. */
static void give_back_limits(struct chat_turn *t)
{
    struct usage u = {.known = false};

    if (chat_usage(buf_str(&t->merge.usage), &u))
        flight_limits_note_usage(&t->flight, &u);
    flight_give_back(&t->flight);
}

void chat_turn_log(struct chat_turn *t, const char *status, const struct err *e)
{
    struct turn_summary s;
    struct usage u = {.known = false};

    give_back_limits(t);
    turn_summary_init(&s);
    turn_summary_flight(&s, &t->flight);
    turn_summary_model(&s, t->request.model);
    turn_summary_error(&s, e, &t->flight.answer);
    s.route = STR("/v1/chat/completions");
    s.status = end_status(t, status);
    s.rounds = t->n_rounds;
    s.tool_calls = t->n_made;
    s.tool_errors = t->n_failed;
    s.dropped_calls = t->n_not_forced;
    s.history_repairs = t->n_broken_calls;
    if (chat_usage(buf_str(&t->merge.usage), &u))
        turn_summary_usage(&s, &u);
    count_usage(t, &u);
    turn_log(&s);
    chat_turn_spans_end(t, status, e);
}

/* ---- heads */

/* What a stream of ours says itself (CONTRACT 4.1), and what is not true of it. */
static bool is_own(str name)
{
    static const str own[] = {STR_INIT("content-type"), STR_INIT("content-encoding"),
                              STR_INIT("cache-control"), STR_INIT("x-accel-buffering")};

    for (size_t i = 0; i < COUNT_OF(own); i++) {
        if (str_eq(name, own[i]))
            return true;
    }
    return false;
}

/* The fields that pass, with room for three more. *ret_n is 0 when out of memory. */
static struct http_header *passed(struct chat_turn *t, const struct http_header *headers, size_t n,
                                  size_t *ret_n)
{
    struct http_header *out = arena_array(&t->flight.arena, n + 3, sizeof(*out));

    *ret_n = out == NULL ? 0 : relay_headers_back(headers, n, relay_headers_own(&t->flight), out);
    return out;
}

void chat_turn_begin(struct chat_turn *t, const struct http_header *headers, size_t n_headers)
{
    static const struct http_header own[] = {
        {STR_INIT("content-type"), STR_INIT("text/event-stream; charset=utf-8")},
        {STR_INIT("cache-control"), STR_INIT("no-cache")},
        {STR_INIT("x-accel-buffering"), STR_INIT("no")},
    };
    size_t n_passed, n = 0;
    struct http_header *head;

    if (t->is_begun)
        return;
    t->is_begun = true;
    head = passed(t, headers, n_headers, &n_passed);
    for (size_t i = 0; i < n_passed; i++) {
        if (!is_own(head[i].name))
            head[n++] = head[i];
    }
    for (size_t i = 0; i < COUNT_OF(own) && head != NULL; i++)
        head[n++] = own[i];
    peer_start(t->flight.peer, t->flight.answer.status, head, n);
    peer_flush(t->flight.peer);
    t->flight.last_write_ms = loop_now_ms(t->flight.worker->loop);
    flight_keep_alive(&t->flight, 0); /* finds out when to look again */
}

void chat_turn_relay_head(struct chat_turn *t, const struct http_header *headers, size_t n_headers)
{
    size_t n;
    struct http_header *head = passed(t, headers, n_headers, &n);

    t->is_begun = t->is_relayed = true;
    peer_start(t->flight.peer, t->flight.answer.status, head, n);
    peer_flush(t->flight.peer);
}

void chat_turn_relay_end(struct chat_turn *t, const struct err *failure)
{
    give_back_limits(t);
    if (failure == NULL)
        peer_end(t->flight.peer, STR(""));
    else
        peer_abort(t->flight.peer);
    chat_turn_log(t, failure == NULL ? "relayed" : "failed", failure);
    answered(t);
}

bool chat_turn_keep_head(struct chat_turn *t, const struct http_header *headers, size_t n_headers)
{
    t->headers = passed(t, headers, n_headers, &t->n_headers);
    for (size_t i = 0; i < t->n_headers; i++) {
        struct http_header *h = &t->headers[i];

        *h = (struct http_header){arena_dup(&t->flight.arena, h->name),
                                  arena_dup(&t->flight.arena, h->value)};
        if (str_is_none(h->name) || str_is_none(h->value))
            return false;
    }
    return t->headers != NULL;
}

/* ---- bodies */

struct buf *chat_turn_out(struct chat_turn *t)
{
    return &t->flight.worker->out;
}

/* Frames are missing: better no end of the stream than a wrong one. */
static bool is_broken(struct chat_turn *t)
{
    if (!buf_failed(&t->flight.worker->out))
        return false;
    peer_abort(t->flight.peer);
    answered(t);
    return true;
}

void chat_turn_send(void *arg)
{
    struct chat_turn *t = arg;
    struct buf *out = chat_turn_out(t);

    if (!flight_has_client(&t->flight) || is_broken(t) || out->len == 0)
        return;
    t->flight.last_write_ms = loop_now_ms(t->flight.worker->loop);
    peer_write(t->flight.peer, buf_str(out));
    buf_reset(out);
}

/* ---- ends of answers */

static void end_stream(struct chat_turn *t, const char *status, const struct err *e)
{
    if (is_broken(t))
        return;
    give_back_limits(t);
    peer_end(t->flight.peer, buf_str(&t->flight.worker->out));
    chat_turn_log(t, status, e);
    buf_reset(&t->flight.worker->out);
    answered(t);
}

void chat_turn_finish(struct chat_turn *t)
{
    struct buf *out = chat_turn_out(t);
    struct err e;

    chat_merge_finish(&t->merge, out);
    if (t->is_begun) {
        end_stream(t, "completed", NULL);
    } else if (buf_failed(out)) {
        err_set_no_memory(&e);
        chat_turn_fail(t, &e);
    } else {
        give_back_limits(t);
        peer_respond(t->flight.peer, t->flight.answer.status, t->headers, t->n_headers,
                     buf_str(out));
        chat_turn_log(t, "completed", NULL);
        answered(t);
    }
}

void chat_turn_fail(void *arg, const struct err *e)
{
    struct chat_turn *t = arg;

    if (t->is_relayed) {
        chat_turn_relay_end(t, e);
    } else if (t->is_begun) {
        chat_merge_fail(&t->merge, e, chat_turn_out(t));
        end_stream(t, "failed", e);
    } else {
        give_back_limits(t);
        peer_respond_error(t->flight.peer, e);
        chat_turn_log(t, t->flight.taken.is_refused ? "rejected" : "failed", e);
        answered(t);
    }
}
