/* turn_round_end.c -- what the upstream says in a round, and what follows when it has said all.
 *
 * Events and texts above WORKER_LARGE_BYTES are read and written on the pool; the events leave from a
 * buffer of the turn's own then. */
#include "conv/trim.h"
#include "flight/flight_admission.h"
#include "flight/reach.h"
#include "turn/turn_metrics.h"
#include "turn/turn_spans.h"
#include "turn/turn_stages.h"

static struct buf *large_out(struct turn *t)
{
    return t->request.stream ? &t->large : NULL;
}

/* ---- the model speaks */

bool turn_hear(struct turn *t, str bytes, struct buf *out)
{
    /* The bytes end an event that has been gathering, which is much to read at once. */
    if (round_unread_bytes(&t->round) >= WORKER_LARGE_BYTES &&
        str_find_char(bytes, '\n') < bytes.len) {
        buf_append(&t->unread, bytes);
        return true;
    }
    round_feed(&t->round, bytes, out);
    if (!round_is_over(&t->round))
        return false;
    if (round_is_cut_off(&t->round))
        flight_cancel_call(&t->flight);
    return true;
}

enum turn_next turn_await_round(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    if (buf_failed(&t->unread)) {
        err_set_no_memory(reterr);
        return TURN_FAIL;
    }
    if (t->unread.len > 0)
        return TURN_ELSE;
    return t->flight.has_call_ended || round_is_over(&t->round) ? TURN_GO : TURN_WAIT;
}

size_t turn_unread_weight(const void *arg)
{
    const struct turn *t = arg;

    return t->unread.len + round_unread_bytes(&t->round);
}

int turn_hear_unread(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    (void)reterr;
    round_feed(&t->round, buf_str(&t->unread), large_out(t));
    buf_fini(&t->unread);
    return 0;
}

enum turn_next turn_send_heard(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    (void)reterr;
    turn_note_heard(t);
    turn_send_large(t);
    if (round_is_cut_off(&t->round))
        flight_cancel_call(&t->flight);
    return TURN_GO;
}

/* ---- it has said all of this round */

/* Of what the client allows; a round without a count is counted by what it said. */
static void count_tokens(struct turn *t)
{
    const struct usage *u = &t->round.stream.reader.usage;

    t->chat.spent_tokens += u->known ? u->output : (int64_t)t->round.n_deltas;
    t->last_round = (struct turn_last_round){
        .tokens = u->known ? u->input + u->output : 0,
        .outputs_weight = conversation_outputs_weight(&t->conversation),
    };
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
    if (!t->result.failed)
        turn_mark_answer(t);
}

/* Bytes that are read only now, and that are written again: the events of an end repeat a text three
 * times. */
size_t turn_round_weight(const void *arg)
{
    const struct turn *t = arg;

    return t->response.used_bytes + round_unread_bytes(&t->round);
}

/* A question to be asked again, shorter, does not end the response; nor does what is no answer. */
int turn_close_round(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    struct buf *out = turn_round_weight(t) < WORKER_LARGE_BYTES ? turn_out(t) : large_out(t);

    (void)reterr;
    t->has_ended = false;
    if (!upstream_answer_is_good(&t->flight.answer))
        return 0;
    t->result = round_end(&t->round, t->failure, out);
    if (!t->result.failed) {
        turn_keep_cut(t);
        flight_end_attempt(&t->flight, NULL);
    } else {
        turn_learn_window(t, &t->result.error);
        reach_hide_keys(&t->flight, &t->result.error);
        upstream_answer_failed(&t->flight.answer, t->flight.call);
    }
    if (!t->result.failed ||
        (!turn_may_shorten(t, &t->result.error) && !turn_plans_retry(t, &t->result.error)))
        end_round_response(t, out);
    return 0;
}

/* A round that is to be asked again, shorter, is the same question. */
static enum turn_next end_judged(struct turn *t, enum turn_next next)
{
    if (next != TURN_ELSE)
        turn_spans_heard(t);
    return next;
}

enum turn_next turn_judge_round(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    if (!upstream_answer_is_good(&t->flight.answer)) {
        turn_read_refusal(&t->flight, t->failure, &t->result.error);
        turn_learn_window(t, &t->result.error);
        *reterr = t->result.error;
        return end_judged(
            t, turn_may_shorten(t, reterr) || turn_plans_retry(t, reterr) ? TURN_ELSE : TURN_FAIL);
    }
    turn_send_large(t);
    if (t->is_retried && !t->round.stream.reader.usage.known)
        return TURN_ELSE;
    turn_metrics_round(t);
    if (t->is_retried)
        return TURN_ELSE;
    if (!t->result.failed)
        turn_keep_usage(t);
    if (t->has_ended)
        return end_judged(t, TURN_END);
    return end_judged(t, t->result.failed ? TURN_ELSE : TURN_GO);
}

/* ---- another one */

static enum turn_next end_response(struct turn *t, enum finish finish)
{
    response_finish(&t->response, finish, clock_unix_s(), turn_out(t));
    turn_keep_reasoning(t);
    turn_keep_rounds(t);
    return TURN_END;
}

static bool has_tokens_left(const struct turn *t)
{
    return t->request.max_output_tokens == 0 || t->chat.spent_tokens < t->request.max_output_tokens;
}

enum turn_next turn_decide(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    (void)reterr;
    if (t->request.has_trigger)
        return TURN_ELSE;
    if (t->n_rounds > 0 && !response_goes_on(&t->response) && !response_lacks_answer(&t->response))
        return end_response(t, t->finish);
    return has_tokens_left(t) ? TURN_GO : end_response(t, FINISH_LENGTH);
}
