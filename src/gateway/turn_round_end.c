/* turn_round_end.c -- what the upstream says in a round, and what follows when it has said all.
 *
 * Events and texts above WORKER_LARGE_BYTES are read and written elsewhere (turn_work.c); the events
 * leave from a buffer of the turn's own then. */
#include "gateway/turn_internal.h"

/* ---- the end of a round */

static void end_response(struct turn *t, enum finish finish, struct buf *out)
{
    response_finish(&t->response, finish, clock_unix_s(), out);
    turn_keep_reasoning(t);
    turn_keep_rounds(t);
    turn_finish(t);
}

/* Of what the client allows; a round without a count is counted by what it said. */
static void count_tokens(struct turn *t)
{
    const struct usage *u = &t->round.stream.reader.usage;

    t->chat.spent_tokens += u->known ? u->output : (int64_t)t->round.n_deltas;
}

static bool has_tokens_left(const struct turn *t)
{
    return t->request.max_output_tokens == 0 || t->chat.spent_tokens < t->request.max_output_tokens;
}

static int replay_round(struct turn *t, struct err *reterr)
{
    const struct responses_request_options options = turn_request_options(t);

    if (response_lacks_answer(&t->response))
        return 0;
    return response_replay(&t->response, &options.input, &t->request.items, &t->flight.arena,
                           reterr);
}

void turn_go_on(struct turn *t, struct buf *out)
{
    struct err e;

    if (t->n_rounds > 0 && !response_goes_on(&t->response) &&
        !response_lacks_answer(&t->response)) {
        end_response(t, t->finish, out);
    } else if (!has_tokens_left(t)) {
        end_response(t, FINISH_LENGTH, out);
    } else {
        static const struct turn_step step = {"replayed", replay_round, turn_ask, false, false};

        if (t->is_begun)
            turn_send_events(t);
        if (t->flight.x != NULL && turn_step(t, turn_weight(t), &step, &e) == -1) {
            turn_explain_size(t, &e);
            turn_fail(t, &e);
        }
    }
}

/* Of the gateway's own tools. None may be left to run: a call that cannot be read has failed
 * already, and its model is told so. */
static bool has_calls(const struct turn *t)
{
    return response_goes_on(&t->response) || response_next_call(&t->response, NULL) != NULL;
}

static void end_round_response(struct turn *t, struct buf *out)
{
    count_tokens(t);
    t->finish = t->result.finish;
    t->has_ended = round_end_response(&t->round, &t->result, clock_unix_s(), out);
    if (!t->has_ended)
        return;
    turn_keep_reasoning(t);
    turn_keep_rounds(t);
}

/* What is to be said again, shorter, does not end the response. */
static void close_round(struct turn *t, struct buf *out)
{
    t->result = round_end(&t->round, t->failure, out);
    t->has_ended = false;
    if (!t->result.failed)
        turn_keep_cut(t);
    else
        worker_hide_keys(t->flight.worker, t->flight.http, &t->result.error);
    if (!t->result.failed || !turn_may_shorten(t, &t->result.error))
        end_round_response(t, out);
}

static void go_on_behind_round(struct turn *t, struct buf *out)
{
    if (t->result.failed) {
        upstream_answer_failed(&t->flight.answer, t->flight.call);
        if (!t->has_ended && turn_retry_shorter(t, &t->result.error))
            return;
        if (!t->has_ended)
            end_round_response(t, out);
    }
    if (t->has_ended)
        turn_finish(t);
    else if (has_calls(t))
        turn_run_calls(t, out);
    else
        turn_go_on(t, out);
}

/* ---- the same for much text, which the events of its end repeat three times */

static struct buf *large_out(struct turn *t)
{
    return t->request.stream ? &t->large : NULL;
}

static int close_large_round(struct turn *t, struct err *reterr)
{
    (void)reterr;
    close_round(t, large_out(t));
    return 0;
}

static int send_round(struct turn *t, struct err *reterr)
{
    (void)reterr;
    turn_send_large(t);
    if (t->flight.x != NULL)
        go_on_behind_round(t, turn_fresh_out(t));
    return 0;
}

static void end_large_round(struct turn *t, const struct err *failure)
{
    static const struct turn_step step = {"round_end", close_large_round, send_round, false, false};
    struct err e;

    turn_keep_failure(t, failure);
    if (t->is_begun)
        turn_send_events(t);
    if (t->flight.x != NULL && turn_step(t, SIZE_MAX, &step, &e) == -1)
        turn_fail(t, &e);
}

/* What is read only now, and what is written again. */
static size_t round_weight(const struct turn *t)
{
    return t->response.used_bytes + round_unread_bytes(&t->round);
}

void turn_end_round(struct turn *t, const struct err *failure, struct buf *out)
{
    if (round_weight(t) >= WORKER_LARGE_BYTES) {
        end_large_round(t, failure);
        return;
    }
    t->failure = failure;
    close_round(t, out);
    t->failure = NULL;
    go_on_behind_round(t, out);
}

/* ---- the upstream's answer */

static void go_on_behind_bytes(struct turn *t, struct buf *out)
{
    if (round_is_cut_off(&t->round))
        flight_cancel_call(&t->flight);
    if (round_is_over(&t->round))
        turn_end_round(t, NULL, out);
    else if (out != NULL)
        turn_send_events(t);
}

static int hear_unread(struct turn *t, struct err *reterr)
{
    (void)reterr;
    round_feed(&t->round, buf_str(&t->unread), large_out(t));
    buf_fini(&t->unread);
    return 0;
}

static int send_heard(struct turn *t, struct err *reterr)
{
    (void)reterr;
    turn_send_large(t);
    if (t->flight.x == NULL)
        return 0;
    if (t->has_call_ended && !round_is_over(&t->round))
        turn_end_round(t, t->failure, turn_fresh_out(t));
    else
        go_on_behind_bytes(t, turn_fresh_out(t));
    return 0;
}

/* The bytes end an event that has been gathering. */
static void hear_large(struct turn *t, str bytes)
{
    static const struct turn_step step = {"heard", hear_unread, send_heard, true, false};
    struct err e;

    t->has_call_ended = false;
    buf_append(&t->unread, bytes);
    if (buf_failed(&t->unread)) {
        err_set_no_memory(&e);
        turn_fail(t, &e);
    } else if (turn_step(t, SIZE_MAX, &step, &e) == -1) {
        turn_fail(t, &e);
    }
}

void turn_hear(struct turn *t, str bytes, struct buf *out)
{
    if (round_unread_bytes(&t->round) >= WORKER_LARGE_BYTES &&
        str_find_char(bytes, '\n') < bytes.len) {
        hear_large(t, bytes);
        return;
    }
    round_feed(&t->round, bytes, out);
    go_on_behind_bytes(t, out);
}
